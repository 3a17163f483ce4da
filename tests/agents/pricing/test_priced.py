"""What a call costs: by hand calculation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.pricing.priced import FREE, FlatPrice, Priced
from peerexam.calls import Completion, Message, Request, Usage

ASK = Request((Message("user", "Why?"),))
TOKENS = st.integers(0, 10**7)


def test_cached_prompt_tokens_cost_their_own_price() -> None:
    price = FlatPrice(3.0, 15.0, cached_input=0.3)
    # 600 × 3 + 400 × 0.3 + 100 × 15 = 1800 + 120 + 1500 millionths of a dollar
    assert price.of(Usage(1000, 100, cached_tokens=400)) == pytest.approx(0.00342)


def test_cached_prompt_tokens_cost_the_full_price_where_nothing_else_is_said() -> None:
    usage = Usage(1000, 100, cached_tokens=400)
    assert FlatPrice(3.0, 15.0).of(usage) == FlatPrice(3.0, 15.0).of(Usage(1000, 100))


def test_tokens_from_the_cache_are_never_more_than_the_prompt_has() -> None:
    price = FlatPrice(1.0, 0.0, cached_input=0.5)
    assert price.of(Usage(100, 0, cached_tokens=900)) == pytest.approx(0.00005)


def test_a_price_for_each_request_comes_on_top() -> None:
    assert FlatPrice(1.0, 1.0, request=0.005).of(Usage(0, 0)) == 0.005


@pytest.mark.parametrize("usage", [Usage(), Usage(10), Usage(None, 10)])
def test_tokens_that_nobody_counted_make_the_cost_unknown(usage: Usage) -> None:
    assert FlatPrice(1.0, 2.0).of(usage) is None
    assert FlatPrice(0.0, 0.0, request=0.01).of(usage) is None
    assert FREE.of(usage) == 0.0  # what runs here costs nothing, however many tokens it was


@given(TOKENS, TOKENS, TOKENS)
def test_a_cache_never_makes_a_call_dearer(prompt: int, reply: int, cached: int) -> None:
    price = FlatPrice(2.0, 8.0, cached_input=0.5)
    with_cache = price.of(Usage(prompt, reply, cached_tokens=cached))
    without = price.of(Usage(prompt, reply))
    assert with_cache is not None
    assert without is not None
    assert 0 <= with_cache <= without


@pytest.mark.parametrize(("told", "expected"), [(0.25, 0.25), (0.0, 0.0), (None, 0.000011)])
async def test_what_a_router_says_it_cost_wins_over_a_price(
    told: float | None, expected: float
) -> None:
    agent = Priced(
        ScriptedAgent(lambda _: Completion("So.", usage=Usage(7, 2), cost=told)),
        FlatPrice(1.0, 2.0),
    )
    assert (await agent.complete(ASK)).cost == pytest.approx(expected)


def test_a_negative_count_of_cached_tokens_makes_nothing_dearer() -> None:
    price = FlatPrice(2.0, 8.0, cached_input=0.5)
    assert price.of(Usage(100, 5, cached_tokens=-50)) == price.of(Usage(100, 5))
