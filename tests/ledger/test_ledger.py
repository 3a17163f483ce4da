"""What a ledger promises, in SQLite and in PostgreSQL: what is recorded stands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.calls import (
    Call,
    Completion,
    Message,
    Request,
    Sampling,
    TokenLogprob,
    Usage,
    call_of,
    encoded,
    request_key,
    request_to_json,
)
from peerexam.errors import LedgerFileError
from peerexam.ledger.audit import AuditableLedger
from peerexam.ledger.base import Failure, Totals
from peerexam.ledger.entries import completion_of, entry_of
from peerexam.ledger.opening import open_ledger

ALPHA = {"provider": "openai", "model": "alpha"}


def ask(text: str, **options: Any) -> Request:
    return Request((Message("user", text),), **options)


def call(key: str, agent: str, fingerprint: dict[str, Any], request: Request) -> Call:
    return Call(key, agent, encoded(fingerprint), encoded(request_to_json(request)))


async def put(
    ledger: AuditableLedger, key: str, outcome: Completion | Failure, agent: str = "one"
) -> Completion | Failure:
    return await ledger.record(call(key, agent, {**ALPHA, "agent": agent}, ask(key)), outcome)


async def test_what_was_recorded_is_found_again_after_reopening(
    ledger_url: str,
) -> None:
    completion = Completion(
        "4",
        "truncated",
        "length",
        Usage(9, 1, None),
        0.25,
        "two and two",
        (TokenLogprob("4", -0.125),),
        "alpha-2",
        ("temperature",),
        0.5,
    )
    request_ = ask("2+2?", sampling=Sampling(0.7, stop=("\n",)), draw=2)
    key = request_key(ALPHA, request_)
    ledger = open_ledger(ledger_url)
    assert await ledger.find(key) is None
    recorded = await ledger.record(call(key, "one", ALPHA, request_), completion)
    assert isinstance(recorded, Completion)
    assert recorded.call == key
    await ledger.close()
    ledger = open_ledger(ledger_url)
    assert await ledger.find(key) == recorded
    stored = await ledger.stored(key)
    assert stored is not None
    assert (stored.agent, stored.fingerprint, stored.outcome) == ("one", ALPHA, recorded)
    assert await ledger.request(key) == request_
    assert await ledger.request("other") is None
    await ledger.close()


async def test_a_success_is_never_overwritten(ledger: AuditableLedger) -> None:
    first = await put(ledger, "k", Completion("first"))
    assert await put(ledger, "k", Completion("second")) == first
    assert await put(ledger, "k", Failure("RateLimitedError", "slow down")) == first
    assert await ledger.find("k") == first
    assert (await ledger.totals()).failures == 0


async def test_within_one_group_the_first_success_of_a_key_stands(ledger: AuditableLedger) -> None:
    outcomes: list[Completion | Failure] = [
        Failure("E", "no"),
        *(Completion(f"answer {n}") for n in range(60)),
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(put(ledger, "k", outcome)) for outcome in outcomes]
    standing = await ledger.find("k")
    assert standing == Completion("answer 0", call="k")
    assert {task.result() for task in tasks[1:]} == {standing}


async def test_a_failure_is_kept_replaced_and_at_last_gives_way_to_a_success(
    ledger: AuditableLedger,
) -> None:
    assert await put(ledger, "k", Failure("E", "first")) == Failure("E", "first")
    await put(ledger, "k", Failure("E", "second \udcff"))
    assert await ledger.find("k") == Failure("E", "second \udcff")
    assert (await ledger.totals()).failures == 1
    await put(ledger, "k", Completion("at last"))
    assert await ledger.find("k") == Completion("at last", call="k")
    assert (await ledger.totals()).failures == 0


async def test_text_that_utf_8_cannot_hold_comes_back_exactly(ledger: AuditableLedger) -> None:
    text = "lone \ud83d, apart \ud83d\ude00, nul \0, \u2028"
    await ledger.record(call("k", "ag\ud800ent", {"model": text}, ask(text)), Completion(text))
    assert await ledger.find("k") == Completion(text, call="k")
    stored = await ledger.stored("k")
    assert stored is not None
    assert (stored.agent, stored.fingerprint) == ("ag\ud800ent", {"model": text})
    assert await ledger.request("k") == ask(text)


async def test_nan_is_refused_and_leaves_the_ledger_usable(ledger: AuditableLedger) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        await put(ledger, "k", Completion("x", cost=float("nan")))
    await put(ledger, "k", Completion("x", usage=Usage(2**70, 1)))
    assert await ledger.find("k") == Completion("x", usage=Usage(2**70, 1), call="k")


async def test_totals_add_up_by_agent(ledger: AuditableLedger) -> None:
    assert await ledger.totals() == Totals()
    await put(ledger, "a", Completion("x", usage=Usage(10, 2), cost=0.25), "one")
    await put(ledger, "b", Completion("x", usage=Usage(5, None)), "one")
    await put(ledger, "c", Completion("x", usage=Usage(1, 1), cost=0.5), "two")
    await put(ledger, "d", Failure("E", "no"), "two")
    assert await ledger.totals_by_agent() == {
        "one": Totals(2, 0, 15, 2, 0.25, 1),
        "two": Totals(1, 1, 1, 1, 0.5, 0),
    }
    assert await ledger.totals() == Totals(3, 1, 16, 3, 0.75, 1)


async def test_an_audit_reads_every_call_in_the_order_of_keys(ledger: AuditableLedger) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(450):  # more than two pages
            outcome = Failure("E", "no") if number % 3 == 0 else Completion(str(number))
            group.create_task(put(ledger, f"{number:03}", outcome))
    found = [call async for call in ledger.calls()]
    assert [call.key for call in found] == [f"{number:03}" for number in range(450)]
    assert found[3].outcome == Failure("E", "no")
    assert found[4].outcome == Completion("4", call="004")
    assert await ledger.known_keys() == {f"{n:03}" for n in range(450) if n % 3}


async def test_a_cancelled_waiter_does_not_take_its_record_back(ledger: AuditableLedger) -> None:
    waiting = asyncio.ensure_future(put(ledger, "k", Completion("paid")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await put(ledger, "later", Completion("x"))
    assert await ledger.find("k") == Completion("paid", call="k")


async def test_a_closed_ledger_takes_nothing_more(ledger: AuditableLedger) -> None:
    await ledger.close()
    await ledger.close()
    with pytest.raises(LedgerFileError, match="closed"):
        await put(ledger, "k", Completion("x"))
    await ledger.release("k")


# --- the right to ask --------------------------------------------------------------------------


async def test_reserve_says_what_stands_and_a_released_key_can_be_reserved_again(
    ledger: AuditableLedger,
) -> None:
    assert await ledger.reserve("k") is None
    await ledger.release("k")
    assert await ledger.reserve("k") is None
    await put(ledger, "k", Failure("E", "no"))
    assert await ledger.reserve("k") == Failure("E", "no")
    await put(ledger, "k", Completion("yes"))
    assert await ledger.reserve("k") == Completion("yes", call="k")
    await ledger.release("never reserved")


# --- what is stored of a completion ------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(["NaN", "-Infinity", "\0"])
FLOATS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.none() | st.integers(0, 2**70)
COMPLETIONS = st.builds(
    Completion,
    text=TEXTS,
    state=st.sampled_from(["ok", "refused", "truncated"]),
    finish_reason=st.none() | TEXTS,
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS),
    latency=FLOATS,
    thinking=st.none() | TEXTS,
    logprobs=st.none()
    | st.lists(
        st.builds(TokenLogprob, TEXTS, st.floats(allow_nan=False, allow_infinity=False))
    ).map(tuple),
    model=st.none() | TEXTS,
    dropped=st.lists(TEXTS).map(tuple),
    cost=FLOATS,
)


@given(COMPLETIONS)
def test_every_completion_comes_back_from_its_bytes(completion: Completion) -> None:
    entry = entry_of(call_of("one", b"{}", ask("q")), completion)
    assert completion_of("", entry.body) == completion


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_number_that_json_lacks_gets_into_a_record(number: float) -> None:
    of = call_of("one", b"{}", ask("q"))
    broken = [
        Completion("NaN", cost=number),
        Completion("Infinity", latency=number),
        Completion("x", logprobs=(TokenLogprob("a", number),)),
    ]
    for completion in broken:
        with pytest.raises(ValueError, match="JSON compliant"):
            entry_of(of, completion)


# --- several processes -------------------------------------------------------------------------

OTHER_PROCESS = """
import asyncio, json, sys
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.ledger.opening import open_ledger

async def main(path, me):
    ledger = open_ledger(path)
    async def put(n):
        request = Request((Message("user", str(n)),))
        call = replace(call_of(me, b"{}", request), key=f"k{n:03}")
        got = await ledger.record(call, Completion(f"{me} {n}"))
        return got.text
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(put(n)) for n in range(300)]
    await ledger.close()
    print(json.dumps([task.result() for task in tasks]))

asyncio.run(main(*sys.argv[1:]))
"""


def run_at_once(url: str, names: tuple[str, ...]) -> list[bytes]:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, url, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [(run.returncode, error) for run, (_, error) in zip(runs, outputs, strict=True)] == [
        (0, b"")
    ] * len(names)
    return [out for out, _ in outputs]


async def test_processes_that_share_a_file_get_the_same_answers(ledger_url: str) -> None:
    outputs = await asyncio.to_thread(run_at_once, ledger_url, ("one", "two", "three"))
    answers = [json.loads(out) for out in outputs]
    assert answers[0] == answers[1] == answers[2]
    ledger = open_ledger(ledger_url)
    assert (await ledger.totals()).calls == 300
    stored = [call.outcome async for call in ledger.calls()]
    await ledger.close()
    assert [call.text for call in stored if isinstance(call, Completion)] == answers[0]


KILLED_PROCESS = """
import asyncio, sys
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.ledger.opening import open_ledger

async def main(path):
    ledger = open_ledger(path)
    async def produce(me):
        for n in range(100_000):
            key = f"{me}-{n}"
            request = Request((Message("user", key),))
            call = replace(call_of("one", b"{}", request), key=key)
            await ledger.record(call, Completion("x" * 500))
            print(key, flush=True)
    async with asyncio.TaskGroup() as group:
        for me in range(16):
            group.create_task(produce(me))

asyncio.run(main(sys.argv[1]))
"""


def acknowledged_until_killed(url: str, after: int) -> set[str]:
    """The keys that a process said were recorded until `kill -9`; a cut last line is left out."""
    command = [sys.executable, "-c", KILLED_PROCESS, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        heard = [run.stdout.readline() for _ in range(after)]
        run.kill()
        heard += run.stdout.readlines()
    return {line.decode().strip() for line in heard if line.endswith(b"\n")}


@pytest.mark.parametrize("after", [1, 40, 333])
async def test_nothing_that_was_acknowledged_is_lost_to_kill_9(ledger_url: str, after: int) -> None:
    heard = await asyncio.to_thread(acknowledged_until_killed, ledger_url, after)
    assert len(heard) >= after
    ledger = open_ledger(ledger_url)
    assert heard <= await ledger.known_keys()
    await ledger.close()
