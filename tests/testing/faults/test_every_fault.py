"""Every fault of the server, through the assembled stack, with both clients of both APIs.

`FAULTS` says what happens after each; `docs/faults.md` has the same table for people, and the last
tests hold the two together.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.layers.circuit_breaker import CircuitBreaker
from peerexam.agents.layers.rate_limited import RateLimited
from peerexam.agents.layers.retrying import Retrying
from peerexam.agents.layers.stack import ADAPT_FROM, LayerSettings, RunContext, assemble
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Message, Request, Sampling, request_key
from peerexam.errors import AgentLostError, CallError, DeadlineExceededError
from peerexam.ledger.base import Failure, Ledger
from peerexam.ledger.opening import open_ledger
from peerexam.testing.faults.server import Conditions, Fault, FaultServer, Reply
from peerexam.testing.faults.wording import HALF

ASK = Request((Message("user", "What is the capital of France?"),), Sampling(max_tokens=50))
PARIS = "The capital is Paris."

F = Fault


@dataclass(frozen=True)
class Passes:
    """Asked again after a wait; `kind` is recorded when the last attempt fails too.

    Without a word from the server the first wait is half of the first 0.5 s (no jitter); with one,
    it is what was asked and a tenth of that: see `Retrying`.
    """

    kind: str
    waits: tuple[float, float] = (0.25, 0.25)
    pushes_back: bool = True


@dataclass(frozen=True)
class Unusable:
    """An answer that is kept with a state, and not asked for again."""

    state: str


@dataclass(frozen=True)
class Stops:
    """A failure that is recorded, and not asked again in this run."""

    kind: str


@dataclass(frozen=True)
class Fine:
    """An answer like any other; the number of tokens that is known of it."""

    tokens: int = 10


@dataclass(frozen=True)
class Adapted:
    """Asked once more in another way, which the completion says."""

    dropped: tuple[str, ...]


NUMBERS = Conditions(retry_after=0.05)
RATE_LIMITED = Passes("RateLimitedError", (0.075, 0.075))
OVERLOADED = Passes("OverloadedError")
BROKEN_OFF = Passes("ConnectionFailedError", pushes_back=False)
TIMED_OUT = Passes("CallTimeoutError")

FAULTS: dict[Fault, Any] = {
    F.RATE_LIMIT_SECONDS: RATE_LIMITED,
    # A date has whole seconds, so it is up to one second later; and reading takes a moment.
    F.RATE_LIMIT_DATE: Passes("RateLimitedError", (0.025, 1.075)),
    F.RATE_LIMIT_MS: RATE_LIMITED,
    F.RATE_LIMIT_FAR: Stops("DeadlineExceededError"),
    F.QUOTA_EXHAUSTED: Stops("QuotaExhaustedError"),
    F.SERVER_ERROR: OVERLOADED,
    F.BAD_GATEWAY: OVERLOADED,
    F.UNAVAILABLE: OVERLOADED,
    F.OVERLOADED: OVERLOADED,
    F.CONNECTION_REFUSED: Passes("NoServerError", pushes_back=False),
    F.RESET_BEFORE_ANSWER: BROKEN_OFF,
    F.RESET_MID_BODY: BROKEN_OFF,
    F.CLOSED_MID_BODY: BROKEN_OFF,
    F.HANG: TIMED_OUT,
    F.DRIP_TOO_SLOW: TIMED_OUT,
    F.DRIP_IN_TIME: Fine(),
    F.TRUNCATED_JSON: OVERLOADED,
    F.MALFORMED_JSON: OVERLOADED,
    F.HTML_PAGE: OVERLOADED,
    F.EMPTY_CHOICES: OVERLOADED,
    F.OVERLOAD_IN_200: OVERLOADED,
    F.HALF_ANSWER_IN_200: OVERLOADED,
    F.UNASKED_STREAM: OVERLOADED,
    F.USAGE_MISSING: Fine(tokens=0),
    F.NULL_CONTENT: Unusable("empty"),
    F.CUT_OFF: Unusable("truncated"),
    F.CONTENT_FILTER: Unusable("filtered"),
    F.CONTENT_FILTER_400: Unusable("filtered"),
    F.REFUSAL: Unusable("refused"),
    F.CONTEXT_TOO_LONG: Stops("ContextTooLongError"),
    F.BAD_KEY: Stops("BadKeyError"),
    F.FORBIDDEN: Stops("BadKeyError"),
    F.UNKNOWN_MODEL: Stops("UnknownModelError"),
    F.REFUSED_TEMPERATURE: Adapted(("temperature",)),
    F.REFUSED_MAX_TOKENS: Adapted(()),
}


def faults(kind: type, *, but: Fault | None = None) -> list[Fault]:
    return [
        fault for fault, outcome in FAULTS.items() if isinstance(outcome, kind) and fault is not but
    ]


class Client(NamedTuple):
    provider: str
    name: str


CLIENTS = [Client(p, c) for p in ("openai", "anthropic") for c in ("lean", "sdk")]


class Waits(list[float]):
    """A sleep that takes no time and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        self.meanwhile()


Connect = Callable[..., Agent]


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = open_ledger(tmp_path / "ledger.sqlite")
    yield opened
    await opened.close()


@pytest.fixture(params=CLIENTS, ids="-".join)
async def connect(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
    waits: Waits,
) -> AsyncIterator[Connect]:
    """Builds agents with all their layers; only waiting to be tried again takes no time."""
    provider, client = request.param
    if client == "sdk":
        pytest.importorskip(provider)
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-very-secret-0123456789")
    async with AsyncExitStack() as stack:

        def connect(
            server: FaultServer,
            timeout: float = 30.0,
            attempts: int = 2,
            breaker: CircuitBreaker | None = None,
        ) -> Agent:
            url = server.openai_url if provider == "openai" else server.anthropic_url
            spec = AgentSpec(
                "pupil", provider, "m-1", url, f"{provider.upper()}_API_KEY", {"client": client}
            )
            settings = LayerSettings(timeout=timeout, attempts=attempts)
            agent = assemble(spec, settings, RunContext(ledger=ledger, breaker=breaker))
            _wait_in_no_time(agent, attempts, waits)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


def _wait_in_no_time(agent: Any, attempts: int, waits: Waits) -> None:
    while not isinstance(agent.inner, Retrying):
        agent = agent.inner
    agent.inner = Retrying(agent.inner.inner, attempts, sleep=waits, jitter=lambda: 0.0)


def patience(fault: Fault, *, short: float) -> float:
    """Seconds for one attempt: little only where the fault is that nothing comes."""
    return short if FAULTS[fault] is TIMED_OUT else 30.0


def limit_of(agent: Any) -> int:
    """How many calls may be made at once now."""
    while not isinstance(agent, RateLimited):
        agent = agent.inner
    return agent.slots.limit


async def stored(agent: Agent, ledger: Ledger) -> Completion | Failure | None:
    return await ledger.find(request_key(agent.fingerprint, ASK))


@pytest.mark.parametrize("fault", faults(Passes, but=F.CONNECTION_REFUSED))
async def test_what_passes_is_waited_out_and_only_the_answer_is_kept(
    fault: Fault, connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    with FaultServer([fault, PARIS], NUMBERS) as server:
        agent = connect(server, timeout=patience(fault, short=1.0))
        got = await agent.complete(ASK)
    assert (got.text, got.state, len(server.requests)) == (PARIS, "ok", 2)
    least, most = FAULTS[fault].waits
    assert len(waits) == 1
    assert least - 1e-9 <= waits[0] <= most + 1e-9
    assert await stored(agent, ledger) == got


@pytest.mark.parametrize("fault", faults(Passes, but=F.CONNECTION_REFUSED))
async def test_what_does_not_pass_is_a_failure_by_name_and_is_asked_again_later(
    fault: Fault, connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    kind = FAULTS[fault].kind
    with FaultServer([fault], NUMBERS) as server:
        agent = connect(server, timeout=patience(fault, short=0.2))
        with pytest.raises(CallError) as caught:
            await agent.complete(ASK)
        assert type(caught.value).__name__ == kind
        assert len(waits) == 1, "as often as attempts are allowed"
        if FAULTS[fault] is not TIMED_OUT:  # a busy machine may not have sent it within the time
            assert len(server.requests) == 2
        found = await stored(agent, ledger)
        assert isinstance(found, Failure)
        assert found.kind == kind
        if fault in (F.HALF_ANSWER_IN_200, F.UNASKED_STREAM):
            assert HALF not in found.message, "a piece of an answer is thrown away"
        assert (limit_of(agent) < ADAPT_FROM) == FAULTS[fault].pushes_back
        server.script = [PARIS]
        later = await connect(server).complete(ASK)
    assert await stored(agent, ledger) == later
    assert later.text == PARIS


async def test_a_refused_connection_is_tried_again_until_someone_listens(
    connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    with FaultServer([PARIS]) as server:
        server.stop_listening()
        with pytest.raises(CallError) as caught:
            await connect(server).complete(ASK)
        assert type(caught.value).__name__ == FAULTS[F.CONNECTION_REFUSED].kind
        waits.meanwhile = server.listen_again
        agent = connect(server)
        got = await agent.complete(ASK)
    assert got.text == PARIS
    assert waits == [0.25, 0.25]
    assert await stored(agent, ledger) == got


@pytest.mark.parametrize("fault", faults(Unusable))
async def test_an_unusable_answer_is_kept_with_its_state_and_not_asked_for_again(
    fault: Fault, connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    with FaultServer([fault, PARIS], NUMBERS) as server:
        agent = connect(server)
        got = await agent.complete(ASK)
        assert got.state == FAULTS[fault].state
        assert await stored(agent, ledger) == got
        assert (await connect(server).complete(ASK)).state == got.state
    assert (len(server.requests), waits) == (1, [])


@pytest.mark.parametrize("fault", faults(Stops))
async def test_what_would_fail_again_is_a_failure_at_once(
    fault: Fault, connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    with FaultServer([fault, PARIS], NUMBERS) as server:
        agent = connect(server, attempts=6)
        for _ in range(2):  # the second time it is not even sent
            with pytest.raises(CallError) as caught:
                await agent.complete(ASK)
            assert type(caught.value).__name__ == FAULTS[fault].kind
    assert (len(server.requests), waits) == (1, [])
    found = await stored(agent, ledger)
    assert isinstance(found, Failure)
    assert found.kind == FAULTS[fault].kind


REJECTED: list[Fault | Reply] = [
    F.BAD_KEY,
    F.FORBIDDEN,
    F.UNKNOWN_MODEL,
    F.QUOTA_EXHAUSTED,
    Reply({"error": {"message": "Insufficient Balance"}}, 402),
]


@pytest.mark.parametrize("fault", REJECTED, ids=lambda fault: getattr(fault, "value", "402"))
async def test_a_bad_key_model_or_quota_disables_the_agent_at_once(
    fault: Fault | Reply, connect: Connect, waits: Waits
) -> None:
    breaker = CircuitBreaker("pupil")
    with FaultServer([fault, PARIS], NUMBERS) as server:
        agent = connect(server, breaker=breaker)
        with pytest.raises(CallError):
            await agent.complete(ASK)
        with pytest.raises(AgentLostError, match="agent 'pupil' was disabled"):
            await agent.complete(Request((Message("user", "And of Italy?"),)))
    assert breaker.lost is not None
    assert (len(server.requests), waits) == (1, [])


@pytest.mark.parametrize(
    "fault", [fault for fault in [*FAULTS] if fault not in (*REJECTED, F.CONNECTION_REFUSED)]
)
async def test_no_other_fault_of_one_call_disables_an_agent(fault: Fault, connect: Connect) -> None:
    breaker = CircuitBreaker("pupil")
    with FaultServer([fault], NUMBERS) as server, suppress(CallError):
        await connect(server, patience(fault, short=0.2), breaker=breaker).complete(ASK)
    assert breaker.lost is None


async def test_a_wait_beyond_the_deadline_says_so_and_is_not_begun(
    connect: Connect, waits: Waits
) -> None:
    with (
        FaultServer([F.RATE_LIMIT_FAR]) as server,
        pytest.raises(DeadlineExceededError, match=r"within its deadline .* in 86400\.\d seconds"),
    ):
        await connect(server).complete(ASK)
    assert waits == []


@pytest.mark.parametrize("fault", faults(Fine))
async def test_an_answer_that_is_late_or_uncounted_is_an_answer(
    fault: Fault, connect: Connect, ledger: Ledger
) -> None:
    with FaultServer([fault], NUMBERS) as server:
        agent = connect(server)
        got = await agent.complete(ASK)
    assert (got.text, got.state, len(server.requests)) == (PARIS, "ok", 1)
    assert got.usage.total == FAULTS[fault].tokens
    assert await stored(agent, ledger) == got


async def test_a_refused_parameter_costs_one_adapted_resend_in_the_whole_run(
    connect: Connect, ledger: Ledger, waits: Waits
) -> None:
    with FaultServer([F.REFUSED_TEMPERATURE, PARIS]) as server:
        agent = connect(server)
        got = await agent.complete(ASK)
        again = await agent.complete(Request(ASK.messages, Sampling(max_tokens=9)))
    sent = [served.body for served in server.requests]
    assert ["temperature" in body for body in sent] == [True, False, False]
    assert got.dropped == again.dropped == FAULTS[F.REFUSED_TEMPERATURE].dropped
    assert await stored(agent, ledger) == got, "what was dropped is on record"
    assert waits == []


async def test_a_refused_limit_is_renamed_where_that_helps_and_named_where_not(
    connect: Connect, ledger: Ledger
) -> None:
    with FaultServer([F.REFUSED_MAX_TOKENS, PARIS]) as server:
        agent = connect(server)
        if agent.fingerprint["provider"] == "openai":
            assert (await agent.complete(ASK)).text == PARIS
            assert server.requests[1].body["max_completion_tokens"] == 50
        else:
            with pytest.raises(CallError, match="parameter max_tokens refused"):
                await agent.complete(ASK)
            found = await stored(agent, ledger)
            assert isinstance(found, Failure)
            assert found.kind == "RefusedParameterError"
            assert len(server.requests) == 1


# The tables in the docs.

PROJECT = Path(__file__).resolve().parents[3]
DOCS = PROJECT / "docs" / "faults.md"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| (.+?) \| (.+?) \| (.+?) \| `(test_\w+)` \|$", re.MULTILINE)
ROWS = {match[1]: match for match in ROW.finditer(DOCS.read_text(encoding="utf-8"))}


def test_the_docs_table_has_a_row_for_every_fault_and_none_besides() -> None:
    assert list(ROWS) == [str(fault) for fault in Fault]
    assert set(FAULTS) == set(Fault)


@pytest.mark.parametrize("fault", Fault)
def test_a_row_names_a_test_that_meets_its_fault_and_records_what_the_row_says(
    fault: Fault,
) -> None:
    row = ROWS[fault]
    test = globals()[row[5]]
    shown = [mark.args[1] for mark in getattr(test, "pytestmark", []) if mark.args[0] == "fault"]
    assert fault in (shown[0] if shown else []) or f"F.{fault.name}" in inspect.getsource(test)
    outcome = FAULTS[fault]
    recorded = getattr(outcome, "kind", None) or getattr(outcome, "state", None) or "ok"
    assert f"`{recorded}`" in row[4]


EVENT = re.compile(
    r"^\| `([a-z-]+)` \| (?:[^|]+ \| ){3}`(tests/[\w/]+\.py)` `(test_\w+)` \|$", re.MULTILINE
)
EVENTS = {match[1]: match for match in EVENT.finditer(DOCS.read_text(encoding="utf-8"))}


def test_the_docs_have_a_row_for_every_fault_of_an_agent_or_a_run() -> None:
    assert set(EVENTS) == {
        *("agent-rejected", "agent-failing", "agent-disabled", "agent-restored", "judge-overflow"),
        *("stall", "blocked", "backpressure", "ramp-up", "cool-down", "replayed"),
        *("budget-of-money", "budget-in-flight", "budget-of-agent", "budget-of-time"),
        *("bug", "ctrl-c", "killed", "other-process-dies", "database-restarts"),
        *("redirected", "oversized-reply", "time-up-while-waiting"),
        *("cancelled-call", "forked", "untrusted-certificate"),
    }
    rows = DOCS.read_text(encoding="utf-8").count("\n| `")
    assert rows == len(ROWS) + len(EVENTS), "a row that cannot be read is not compared"


@pytest.mark.parametrize("event", EVENTS)
def test_an_events_row_names_a_test_that_is_there(event: str) -> None:
    source = (PROJECT / EVENTS[event][2]).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {EVENTS[event][3]}\(", source, re.MULTILINE)
