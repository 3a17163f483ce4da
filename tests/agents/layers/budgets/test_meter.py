from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.budgets.budgeted import Budgeted
from peerexam.agents.layers.budgets.meter import Admission, BudgetLimits, BudgetMeter, Spend
from peerexam.agents.pricing.priced import FlatPrice, Priced
from peerexam.agents.pricing.token_estimate import estimate
from peerexam.calls import Completion, Message, Request, Sampling, Usage
from peerexam.errors import BudgetReachedError, OverloadedError, SetupError

PRICE = FlatPrice(3.0, 15.0)


def _ask(number: int = 0, max_tokens: int = 10) -> Request:
    return Request((Message("user", f"question {number}"),), Sampling(max_tokens=max_tokens))


def _took(request: Request, share: float) -> Completion:
    """A completion that took a share of the estimate, as one that keeps to its limits does."""
    most = estimate(request)
    prompt, reply = most.prompt_tokens or 0, most.completion_tokens or 0
    return Completion("ok", usage=Usage(int(prompt * share), int(reply * share)))


limits = st.builds(
    BudgetLimits,
    usd=st.none() | st.floats(0, 0.01),
    calls=st.none() | st.integers(0, 20),
    tokens=st.none() | st.integers(0, 800),
)


@given(limits, limits, st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 60))
def test_no_budget_is_ever_exceeded_whatever_runs_at_once(
    run: BudgetLimits, own: BudgetLimits, shares: list[float], max_tokens: int
) -> None:
    meters = BudgetMeter(run), BudgetMeter(own, "agent a")
    left = iter(shares)

    async def reply(request: Request) -> Completion:
        await asyncio.sleep(0)
        return _took(request, next(left))

    agent = Budgeted(ScriptedAgent(reply), meters, PRICE)

    async def one(number: int) -> bool:
        try:
            await agent.complete(_ask(number, max_tokens))
        except BudgetReachedError:
            return False
        return True

    async def all_at_once() -> list[bool]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(len(shares))]
        return [task.result() for task in tasks]

    made = asyncio.run(all_at_once())
    for meter in meters:
        spent = meter.spent
        assert spent.calls == sum(made)
        assert spent.usd <= (meter.limits.usd if meter.limits.usd is not None else 1e9) + 1e-9
        assert spent.calls <= (meter.limits.calls if meter.limits.calls is not None else 1e9)
        assert spent.tokens <= (meter.limits.tokens if meter.limits.tokens is not None else 1e9)
        assert (meter.held.calls, meter.held.tokens) == (0, 0), "nothing stays spoken for"
        assert meter.held.usd == pytest.approx(0)


async def test_the_call_that_would_break_the_budget_is_not_made() -> None:
    inner = ScriptedAgent(lambda request: "ok")
    agent = Budgeted(inner, [BudgetMeter(BudgetLimits(calls=2))])
    await agent.complete(_ask())
    await agent.complete(_ask())
    with pytest.raises(BudgetReachedError, match=r"the run.*2 calls"):
        await agent.complete(_ask())
    assert inner.calls == 2


async def test_calls_in_flight_count_by_their_estimate() -> None:
    go = asyncio.Event()

    async def reply(request: Request) -> Completion:
        await go.wait()
        return Completion("ok", usage=Usage(1, 1))

    meter = BudgetMeter(BudgetLimits(tokens=150))
    agent = Budgeted(ScriptedAgent(reply), [meter])
    async with asyncio.TaskGroup() as group:
        first = group.create_task(agent.complete(_ask(max_tokens=100)))
        await asyncio.sleep(0)
        with pytest.raises(BudgetReachedError):
            await agent.complete(_ask(max_tokens=100))
        go.set()
        await first
        await agent.complete(_ask(max_tokens=100))
    assert meter.spent == Spend(0.0, 2, 4)


async def test_an_agents_own_budget_stops_it_and_leaves_the_runs_untouched() -> None:
    run, own = BudgetMeter(BudgetLimits(calls=10)), BudgetMeter(BudgetLimits(calls=0), "agent a")
    with pytest.raises(BudgetReachedError, match="agent a"):
        await Budgeted(ScriptedAgent(lambda request: "ok"), [run, own]).complete(_ask())
    assert (run.spent, run.held) == (Spend(), Spend())


async def test_a_failed_call_counts_as_a_call_and_frees_its_estimate() -> None:
    meter = BudgetMeter(BudgetLimits(tokens=100))
    agent = Budgeted(ScriptedAgent(lambda request: OverloadedError("no")), [meter])
    with pytest.raises(OverloadedError):
        await agent.complete(_ask())
    assert (meter.spent, meter.held) == (Spend(0.0, 1, 0), Spend())


async def test_what_an_earlier_session_spent_counts() -> None:
    meter = BudgetMeter(BudgetLimits(usd=1.0))
    meter.charge(Spend(usd=0.9999, calls=50, tokens=9000))
    agent = Budgeted(ScriptedAgent(lambda request: "ok"), [meter], PRICE)
    with pytest.raises(BudgetReachedError, match="1 US dollars"):
        await agent.complete(_ask())


def _always(completion: Completion) -> Callable[[Request], Completion]:
    return lambda request: completion


async def test_the_cost_is_the_providers_own_or_by_the_price() -> None:
    usage = Usage(1000, 100)  # 1000 · 3 + 100 · 15 = 4500 millionths
    for told, cost in ((None, 0.0045), (0.5, 0.5)):
        meter = BudgetMeter()
        completion = Completion("ok", usage=usage, cost=told)
        inner = ScriptedAgent(_always(completion))
        got = await Budgeted(Priced(inner, PRICE), [meter], PRICE).complete(_ask())
        assert got.cost == pytest.approx(cost)
        assert meter.spent.usd == pytest.approx(cost)


async def test_an_unknown_price_is_counted_as_unknown_and_never_as_nothing() -> None:
    meter = BudgetMeter(BudgetLimits(calls=5))
    got = await Budgeted(ScriptedAgent(lambda request: "ok"), [meter]).complete(_ask())
    assert (got.cost, meter.unpriced_calls) == (None, 1)


async def test_a_cost_cannot_be_told_without_token_counts_unless_it_is_free() -> None:
    inner = ScriptedAgent(lambda request: "ok")
    assert (await Priced(inner, PRICE).complete(_ask())).cost is None
    assert (await Priced(inner, FlatPrice(0, 0)).complete(_ask())).cost == 0.0


def test_a_budget_in_dollars_needs_every_price() -> None:
    meter = BudgetMeter(BudgetLimits(usd=1.0))
    with pytest.raises(SetupError, match=r"price of agent 'scripted' is unknown"):
        Budgeted(ScriptedAgent(lambda request: "ok"), [meter])


# Whole questions.


async def _question(
    admission: Admission, agent: Budgeted, calls: int, done: list[int], number: int
) -> None:
    await admission.admit()
    try:
        async with asyncio.TaskGroup() as group:
            for call in range(calls):
                group.create_task(agent.complete(_ask(100 * number + call)))
        done.append(number)
    except* BudgetReachedError:
        pass
    finally:
        admission.release()


@given(
    budget=st.integers(0, 60), most=st.integers(1, 8), used=st.integers(1, 8), n=st.integers(1, 12)
)
def test_a_budget_ends_between_questions_and_never_within_one(
    budget: int, most: int, used: int, n: int
) -> None:
    used = min(used, most)
    meter = BudgetMeter(BudgetLimits(calls=budget))

    async def reply(request: Request) -> str:
        await asyncio.sleep(0)
        return "ok"

    agent = Budgeted(ScriptedAgent(reply), [meter])
    done: list[int] = []

    async def run() -> None:
        admission = Admission({meter: Spend(calls=most)})
        async with asyncio.TaskGroup() as group:
            for number in range(n):
                group.create_task(_question(admission, agent, used, done, number))

    asyncio.run(run())
    # Question k may start when k · used are spent and the most still fits.
    expected = sum(1 for k in range(n) if k * used + most <= budget)
    assert sorted(done) == list(range(expected)), "in order, all that fit and no more"
    assert meter.spent.calls == expected * used, "no call was made for a question that was not done"
    assert meter.held == Spend()


async def test_without_room_a_question_may_be_replayed_but_pays_for_nothing() -> None:
    meter = BudgetMeter(BudgetLimits(calls=3))
    inner = ScriptedAgent(lambda request: "ok")
    agent = Budgeted(inner, [meter])
    admission = Admission({meter: Spend(calls=4)})
    assert await admission.admit() is False
    with pytest.raises(BudgetReachedError, match="whole question"):
        await agent.complete(_ask())
    admission.release()
    assert inner.calls == 0
    await agent.complete(_ask())
    assert inner.calls == 1, "outside of a question the rest may be spent"


async def test_a_question_that_needs_more_than_its_estimate_draws_on_the_rest() -> None:
    meter = BudgetMeter(BudgetLimits(calls=3))
    agent = Budgeted(ScriptedAgent(lambda request: "ok"), [meter])
    admission = Admission({meter: Spend(calls=2)})
    assert await admission.admit() is True
    for _ in range(3):
        await agent.complete(_ask())
    with pytest.raises(BudgetReachedError):
        await agent.complete(_ask())
    admission.release()
    admission.release()
    assert meter.held == Spend()


async def test_a_call_waits_for_room_that_those_under_way_may_leave() -> None:
    # Each call may take 1,000 tokens and takes about 20; a budget of 2,500 has room for two
    # estimates at once, and for all 30 calls by what they take.
    meter = BudgetMeter(BudgetLimits(tokens=2500))
    at_once: list[int] = []
    under_way = 0

    async def reply(request: Request) -> Completion:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return Completion("ok", usage=Usage(10, 10))

    agent = Budgeted(ScriptedAgent(reply), (meter,), waits=True)
    await asyncio.gather(*(agent.complete(_ask(n, 1000)) for n in range(30)))
    assert meter.spent == Spend(calls=30, tokens=600)
    assert max(at_once) == 2


async def test_a_call_that_never_fits_does_not_wait() -> None:
    meter = BudgetMeter(BudgetLimits(tokens=500))
    agent = Budgeted(ScriptedAgent(lambda request: "ok"), (meter,), waits=True)
    with pytest.raises(BudgetReachedError):
        await agent.complete(_ask(0, 1000))
