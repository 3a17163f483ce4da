"""Two processes on one PostgreSQL ledger: nothing is asked twice while both live."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from peerexam.calls import Call, Completion, Message, Request, call_of
from peerexam.ledger.base import Failure
from peerexam.ledger.postgres.other_processes import MEMORY, OtherProcesses

pytest.importorskip("psycopg")
from peerexam.ledger.postgres.ledger import PostgresLedger

Pair = tuple[PostgresLedger, PostgresLedger]


@pytest.fixture
async def both(postgres_url: str) -> AsyncIterator[Pair]:
    """Two ledgers that know of each other by the database alone, as two machines would."""
    async with PostgresLedger.open(postgres_url) as one, PostgresLedger.open(postgres_url) as two:
        yield one, two


def a_call(text: str = "q") -> Call:
    return call_of("one", b"{}", Request((Message("user", text),)))


async def still_waits(waiting: asyncio.Future[Completion | Failure | None]) -> bool:
    done, _ = await asyncio.wait({waiting}, timeout=0.3)
    return not done


async def test_who_comes_second_waits_and_gets_the_firsts_answer(both: Pair) -> None:
    one, two = both
    call = a_call()
    assert await one.reserve(call.key) is None
    waiting = asyncio.ensure_future(two.reserve(call.key))
    assert await still_waits(waiting)
    assert await two.find(call.key) is None, "looking does not wait"
    stored = await one.record(call, Completion("4"))
    assert await waiting == stored


async def test_who_comes_second_may_ask_once_the_first_gave_up_or_failed(both: Pair) -> None:
    one, two = both
    call = a_call()
    await one.reserve(call.key)
    waiting = asyncio.ensure_future(two.reserve(call.key))
    assert await still_waits(waiting)
    await one.release(call.key)
    assert await waiting is None
    again = asyncio.ensure_future(one.reserve(call.key))
    assert await still_waits(again)
    await two.record(call, Failure("E", "no"))
    assert await again == Failure("E", "no")


async def test_within_one_process_the_right_goes_from_task_to_task(both: Pair) -> None:
    one, _ = both
    call = a_call()
    tasks = [asyncio.ensure_future(one.reserve(call.key)) for _ in range(3)]
    done, left = await asyncio.wait(tasks, timeout=0.3)
    assert len(done) == 1, "one of them has the right"
    await one.release(call.key)
    done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == 1
    stored = await one.record(call, Completion("4"))
    assert [await task for task in left] == [stored]


async def test_a_waiter_that_is_cancelled_keeps_nothing(both: Pair) -> None:
    one, two = both
    call = a_call()
    await one.reserve(call.key)
    waiting = asyncio.ensure_future(two.reserve(call.key))
    assert await still_waits(waiting)
    waiting.cancel()
    await asyncio.wait({waiting})
    await one.release(call.key)
    assert await one.reserve(call.key) is None, "the one who left got the right all the same"


async def test_a_right_that_comes_to_someone_already_cancelled_is_given_back(both: Pair) -> None:
    one, two = both
    calls = [a_call(str(number)) for number in range(50)]
    # Cancelled at once, each at another point of its way to the server and back.
    for number, call in enumerate(calls):
        reserving = asyncio.ensure_future(one.reserve(call.key))
        await asyncio.sleep(number * 0.0002)
        reserving.cancel()
        await asyncio.wait({reserving})
        if not reserving.cancelled():
            await one.release(call.key)
    async with asyncio.timeout(20):
        assert [await two.reserve(call.key) for call in calls] == [None] * 50


async def test_a_process_that_closes_gives_up_its_rights(both: Pair) -> None:
    one, two = both
    call = a_call()
    await one.reserve(call.key)
    waiting = asyncio.ensure_future(two.reserve(call.key))
    assert await still_waits(waiting)
    await one.close()
    assert await waiting is None


async def test_a_record_that_cannot_be_stored_frees_the_request(both: Pair) -> None:
    one, two = both
    call = a_call()
    await one.reserve(call.key)
    waiting = asyncio.ensure_future(two.reserve(call.key))
    assert await still_waits(waiting)
    with pytest.raises(ValueError, match="JSON compliant"):
        await one.record(call, Completion("x", cost=float("nan")))
    assert await waiting is None


def test_processes_that_met_agree_whose_a_key_is_and_each_gets_its_share() -> None:
    owners = (3, 7, 20)
    keys = [a_call(str(number)).key for number in range(3000)]
    views = []
    for me in owners:
        others = OtherProcesses()
        others.met(set(owners) - {me}, now=0.0)
        views.append([others.whose(key, me) for key in keys])
    assert views[0] == views[1] == views[2]
    # A third of 3,000, within five standard deviations of a fair draw (26 each).
    assert all(abs(count - 1000) < 130 for count in Counter(views[0]).values())


def test_a_rival_that_does_not_come_or_is_not_met_again_gets_no_keys() -> None:
    others = OtherProcesses()
    others.met([3, 4], now=0.0)
    others.missed(3)
    assert others.owners == {4}
    others.forget(now=MEMORY + 0.1)
    assert {others.whose(str(number), 7) for number in range(100)} == {7}


# --- real processes ----------------------------------------------------------------------------

WORKER = """
import asyncio, os, sys
from peerexam.agents.base import Provider
from peerexam.agents.layers.ledgered import Ledgered
from peerexam.calls import Completion, Message, Request
from peerexam.ledger.opening import open_ledger

class Scribe(Provider):
    # Writes down what it is asked before it answers.
    async def complete(self, request):
        text = request.messages[0].content
        with open(log, "a") as file:
            file.write(f"{me} {text}\\n")
        await asyncio.sleep(float(seconds))
        return Completion(f"{me} answers {text}")
    async def close(self):
        pass

async def main():
    ledger = open_ledger(url)
    agent = Ledgered(Scribe("scribe", {"model": "scribe"}, ()), ledger)
    places = asyncio.Semaphore(8)
    async def ask(number):
        async with places:
            return (await agent.complete(Request((Message("user", str(number)),)))).text
    print("ready", flush=True)
    sys.stdin.readline()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(number)) for number in range(int(count))]
    await ledger.close()
    print("|".join(task.result() for task in tasks))

url, log, me, seconds, count = sys.argv[1:]
asyncio.run(main())
"""


def worker(url: str, log: Path, me: str, seconds: float, count: int) -> subprocess.Popen[str]:
    """A process that is ready, and begins when its standard input gets a line."""
    command = [sys.executable, "-c", WORKER, url, str(log), me, str(seconds), str(count)]
    run = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    return run


def go(run: subprocess.Popen[str]) -> None:
    assert run.stdin is not None
    run.stdin.write("go\n")
    run.stdin.flush()


def answers(run: subprocess.Popen[str]) -> list[str]:
    out, complaints = run.communicate(timeout=60)
    assert (run.returncode, complaints) == (0, "")
    return out.strip().split("|")


def asked(log: Path) -> list[tuple[str, str]]:
    """Who was asked what, in order; a line that a kill cut short is left out."""
    lines = log.read_text().splitlines(keepends=True)
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return [(who, number) for who, number in pairs]


async def test_two_processes_share_the_work_and_ask_nothing_twice(
    postgres_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "asked"

    def share() -> list[list[str]]:
        runs = [worker(postgres_url, log, me, 0.05, 240) for me in ("one", "two")]
        for run in runs:
            go(run)
        return [answers(run) for run in runs]

    first, second = await asyncio.to_thread(share)
    assert first == second
    assert len(first) == 240
    counts = Counter(number for _, number in asked(log))
    assert counts == {str(number): 1 for number in range(240)}
    shares = Counter(who for who, _ in asked(log))
    assert min(shares["one"], shares["two"]) >= 24, "one of them did nearly all"


async def test_when_one_is_killed_the_other_asks_only_what_it_had_under_way(
    postgres_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "asked"

    def kill_one() -> list[str]:
        doomed = worker(postgres_url, log, "doomed", 0.2, 60)
        heir = worker(postgres_url, log, "heir", 0.2, 60)
        go(doomed)
        while not log.exists() or len(asked(log)) < 12:
            assert doomed.poll() is None
        go(heir)
        while len(asked(log)) < 30:
            assert doomed.poll() is None
        doomed.kill()
        doomed.communicate()
        return answers(heir)

    texts = await asyncio.to_thread(kill_one)
    by_doomed = [number for who, number in asked(log) if who == "doomed"]
    by_heir = [number for who, number in asked(log) if who == "heir"]
    assert len(set(by_doomed)) == len(by_doomed)
    assert len(set(by_heir)) == len(by_heir)
    both_asked = set(by_doomed) & set(by_heir)
    assert len(both_asked) <= 8, "more than the dead one had under way"
    assert {number for number in by_doomed if f"doomed answers {number}" not in texts} == both_asked
    assert [text.split()[-1] for text in texts] == [str(number) for number in range(60)]


EXAM = """
name: shared
seed: 7
agents:
  - {{name: one, model: "openai/one@{url}"}}
  - {{name: two, model: "openai/two@{url}"}}
questions: {{domains: [rivers, numbers], per_domain: 3}}
limits: {{concurrency: 8}}
pilot: false
"""


def reply_to(served: Any) -> Any:
    """A model whose reply depends on what it is asked and on nothing else, after 10 ms."""
    text = json.dumps(served.body["messages"])
    code = int(hashlib.sha256((served.body["model"] + text).encode()).hexdigest(), 16)
    low = text.lower()
    if "verdict" in low and "response 1" in low:
        said = f"Verdict: Response {1 + code % 2}"
    elif "coherence" in low and "overall" in low:
        names = ("accuracy", "coherence", "factuality", "comprehensiveness")
        marks = [f"{name}: {1 + (code >> 8 * at) % 3}" for at, name in enumerate(names)]
        said = "\n".join([*marks, f"overall: {4 + code % 2}"])
    elif "domain" in low:
        words = ("springs", "deltas", "primes")
        said = "\n".join(
            f"{at}. What does {served.body['model']} know of {word} and {code % 9973 + at}?"
            for at, word in enumerate(words, 1)
        )
    else:
        said = f"It is {code % 1000003}."

    async def later() -> str:
        await asyncio.sleep(0.01)
        return said

    return later()


def test_two_runs_of_one_exam_over_one_database_ask_each_request_once(
    postgres_url: str, tmp_path: Path, chat_server: Any
) -> None:
    server = chat_server(reply_to)
    exam = tmp_path / "EXAM.yaml"
    exam.write_text(EXAM.format(url=server.url))

    command = [sys.executable, "-m", "peerexam", "run", str(exam), "--quiet"]
    runs = [
        subprocess.Popen(
            [*command, "--db", postgres_url, "--out", str(tmp_path / out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for out in ("first", "second")
    ]
    for run in runs:
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 4, said  # two agents: nobody may judge, so no standings
        assert "planted-secret" not in said

    counts = Counter(json.dumps(served.body, sort_keys=True) for served in server.requests)
    assert len(counts) > 30
    assert set(counts.values()) == {1}
    first, second = (tmp_path / out / "standings.json" for out in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"planted-secret" in path.read_bytes()]
