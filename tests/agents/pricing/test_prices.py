"""Which price holds for an agent. The list's own calculation is the reference for its figures."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.budgets.meter import BudgetLimits, BudgetMeter
from peerexam.agents.layers.stack import LayerSettings, RunContext, assemble, wrap
from peerexam.agents.pricing.priced import FlatPrice
from peerexam.agents.pricing.prices import Quote, price_of
from peerexam.agents.registry import register, unregister
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Completion, Message, Request, Usage
from peerexam.errors import SetupError

genai_prices = pytest.importorskip("genai_prices")

from genai_prices import types  # noqa: E402
from genai_prices.data_snapshot import get_snapshot  # noqa: E402

from peerexam.agents.pricing.price_list import NAME, ListPrice, look_up  # noqa: E402

ASK = Request((Message("user", "Why?"),))
WEB = "https://api.openai.com/v1"


@pytest.fixture(autouse=True)
def no_endpoints_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        for kind in ("BASE_URL", "API_BASE", "API_URL"):
            monkeypatch.delenv(f"{name}_{kind}", raising=False)


def spec_of(model: str, **options: Any) -> AgentSpec:
    provider, name, url, more = parse_model(model)
    return AgentSpec("pupil", provider, name, url, None, {**more, **options})


def listed_as(quote: Quote | None) -> str | None:
    return None if quote is None else quote.listed_as


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("anthropic/claude-3-5-haiku-latest", "anthropic/claude-3-5-haiku-latest"),
        ("langchain/openai:gpt-4o", "openai/gpt-4o"),
        ("langchain/gpt-4o?model_provider=openai", "openai/gpt-4o"),
        ("langchain/google_genai:gemini-2.5-pro", "google/gemini-2.5-pro"),
        (f"openai/gpt-4o@{WEB}", "openai/gpt-4o"),
        ("openai/openai/gpt-4o@https://openrouter.ai/api/v1", "openrouter/openai/gpt-4o"),
        ("openai/deepseek-chat@https://api.deepseek.com", "deepseek/deepseek-chat"),
    ],
)
def test_a_model_is_found_at_the_one_who_is_paid(model: str, name: str) -> None:
    quote = price_of(spec_of(model))
    assert listed_as(quote) == name
    assert quote is not None
    assert (quote.source, quote.price_list) == ("list", NAME)


@pytest.mark.parametrize(
    "model",
    [
        "openai/no-such-model",
        "openai/gpt-4o@http://127.0.0.1:8000/v1",
        "openai/gpt-4o@http://localhost/v1",
        "openai/gpt-4o@http://10.1.2.3/v1",
        "openai/gpt-4o@https://llm.example.org/v1",
        "openai/gpt-4o@https://api.openai.com.example.org/v1",
        "openai/gpt-4o@https://example.org/https://api.openai.com/v1",
        "nobodys-openai-proxy/gpt-4o",
        "langchain/ollama:llama3",
        "langchain/openai:gpt-4o?base_url=https://llm.example.org/v1",
        "hf-openai/gpt-4o",
    ],
)
def test_whom_the_list_does_not_know_has_no_known_price(model: str) -> None:
    assert price_of(spec_of(model)) is None


def test_an_endpoint_from_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example.org/v1")
    assert price_of(spec_of("openai/gpt-4o")) is None
    assert listed_as(price_of(spec_of(f"openai/gpt-4o@{WEB}"))) == "openai/gpt-4o"


def test_the_exams_own_price_wins_over_the_list() -> None:
    quote = price_of(spec_of("openai/gpt-4o"), FlatPrice(1.0, 2.0))
    assert quote == Quote(FlatPrice(1.0, 2.0), "config")
    assert quote.to_json() == {"input": 1.0, "output": 2.0, "source": "config"}


def test_what_runs_here_costs_nothing() -> None:
    quote = price_of(spec_of("local/smollm2"))
    assert quote is not None
    assert quote.to_json() == {"input": 0.0, "output": 0.0, "source": "runs here"}


def test_a_program_s_own_provider_is_not_taken_for_the_hosted_one() -> None:
    register("groq", lambda spec: ScriptedAgent(lambda _: "So.", spec.name))
    try:
        assert price_of(spec_of("groq/llama-3.1-8b-instant")) is None
    finally:
        unregister("groq")
    assert listed_as(price_of(spec_of("groq/llama-3.1-8b-instant"))) is not None


def test_a_model_that_stands_in_the_list_without_a_price_is_unknown() -> None:
    # The list's own calculation says $0 for it, since it adds up no prices at all.
    found = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=10**6), "gpt-4o", provider_id="github-copilot"
    )
    assert found.total_price == 0
    assert look_up("github-copilot", "gpt-4o") is None


def test_a_model_with_a_price_for_its_prompt_alone_is_unknown() -> None:
    assert look_up("openai", "text-embedding-3-small") is None


def priced_models() -> Iterator[tuple[types.Provider, types.ModelInfo]]:
    now = datetime.now(UTC)
    for provider in get_snapshot().providers:
        for model in provider.models:
            prices = model.get_prices(now)
            # What we have no counts for, the list cannot charge for here either.
            if prices.input_mtok is not None and prices.output_mtok is not None:
                yield provider, model


MODELS = list(priced_models())
TOKENS = st.integers(0, 2_000_000)
AT = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(st.sampled_from(MODELS), TOKENS, TOKENS, st.floats(0, 1), AT)
def test_every_model_costs_what_the_list_itself_works_out(
    pair: tuple[types.Provider, types.ModelInfo],
    prompt: int,
    reply: int,
    share: float,
    at: datetime,
) -> None:
    provider, model = pair
    cached = int(prompt * share)
    usage = genai_prices.Usage(input_tokens=prompt, output_tokens=reply, cache_read_tokens=cached)
    expected = model.calc_price(usage, provider, genai_request_timestamp=at).total_price
    ours = ListPrice(model, model.id, clock=lambda: at).of(Usage(prompt, reply, cached))
    assert ours == pytest.approx(float(expected), rel=1e-9)


def made_up(*prices: types.ConditionalPrice) -> types.ModelInfo:
    return types.ModelInfo("m", types.ClauseEquals("m"), prices=list(prices))


def flat(dollars: int) -> types.ModelPrice:
    return types.ModelPrice(input_mtok=Decimal(dollars), output_mtok=Decimal(dollars))


def test_a_price_by_the_hour_changes_with_the_clock() -> None:
    night = types.TimeOfDateConstraint(time(22, tzinfo=UTC), time(6, tzinfo=UTC))
    model = made_up(
        types.ConditionalPrice(prices=flat(2)), types.ConditionalPrice(night, prices=flat(1))
    )
    now = datetime(2026, 3, 1, 21, 59, tzinfo=UTC)
    price = ListPrice(model, "x/m", clock=lambda: now)
    assert price.of(Usage(10**6, 0)) == 2.0
    now += timedelta(minutes=2)
    assert price.of(Usage(10**6, 0)) == 1.0


def test_a_price_from_a_day_on_holds_from_that_day_on() -> None:
    risen = types.StartDateConstraint(date(2026, 5, 1))
    model = made_up(
        types.ConditionalPrice(prices=flat(1)), types.ConditionalPrice(risen, prices=flat(3))
    )
    day = datetime(2026, 4, 30, 23, 59, tzinfo=UTC)
    price = ListPrice(model, "x/m", clock=lambda: day)
    assert price.rate().input == 1.0
    day = datetime(2026, 5, 1, tzinfo=UTC)
    assert price.rate().input == 3.0


def test_a_long_prompt_costs_its_tier_for_all_of_its_tokens() -> None:
    tiers = types.TieredPrices(Decimal(1), [types.Tier(200_000, Decimal(2))])
    model = types.ModelInfo(
        "m",
        types.ClauseEquals("m"),
        prices=types.ModelPrice(input_mtok=tiers, output_mtok=Decimal(10)),
    )
    price = ListPrice(model, "x/m")
    assert price.of(Usage(200_000, 0)) == pytest.approx(0.2)  # the last of the first tier
    assert price.of(Usage(200_001, 0)) == pytest.approx(0.400002)


async def test_a_list_price_is_charged_where_the_exam_sets_none() -> None:
    quote = price_of(spec_of("openai/gpt-4o-mini"))
    assert quote is not None
    agent = wrap(scripted(), listed=quote.tariff)
    # 0.15 and 0.60 dollars a million, gpt-4o-mini's price since July 2024
    assert (await agent.complete(ASK)).cost == pytest.approx(0.00045)
    agent = wrap(scripted(), LayerSettings(price=FlatPrice(1.0, 1.0)), listed=quote.tariff)
    assert (await agent.complete(ASK)).cost == pytest.approx(0.0015)
    assert (await wrap(scripted()).complete(ASK)).cost is None


def scripted() -> ScriptedAgent:
    return ScriptedAgent(lambda _: Completion("So.", usage=Usage(1000, 500)))


async def test_a_dollar_budget_takes_a_model_that_is_in_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-0123456789")
    meter = BudgetMeter(BudgetLimits(usd=1.0))
    await assemble(spec_of("openai/gpt-4o-mini"), run=RunContext(meters=[meter])).close()
    with pytest.raises(SetupError, match="price of agent 'pupil' is unknown"):
        assemble(
            spec_of("openai/gpt-4o-mini@https://llm.example.org/v1"), run=RunContext(meters=[meter])
        )


WITHOUT_THE_LIST = """
import sys
sys.modules["genai_prices"] = None
from peerexam.agents.pricing.prices import price_of
from peerexam.agents.spec import AgentSpec
print(price_of(AgentSpec("a", "openai", "gpt-4o")))
"""

FOR_A_SERVER_OF_ONES_OWN = """
import sys
from peerexam.agents.pricing.prices import price_of
from peerexam.agents.spec import AgentSpec
price_of(AgentSpec("a", "openai", "gpt-4o", "http://127.0.0.1:1/v1"))
price_of(AgentSpec("a", "local", "smollm2"))
print("genai_prices" in sys.modules)
"""


@pytest.mark.parametrize(
    ("program", "said"), [(WITHOUT_THE_LIST, "None"), (FOR_A_SERVER_OF_ONES_OWN, "False")]
)
async def test_the_list_may_be_absent_and_is_loaded_only_where_it_is_needed(
    program: str, said: str
) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == said
