"""How long ranking the answers to many questions takes, against a greedy schedule of the same.

    python benchmarks/ranking_makespan.py [--latency 50] [--real] [--questions 1,100]

The exam's own code ranks: the window over questions, the sort, both orders at once, the limit on
calls at once; only the judge is simulated, and answers every call after the same time. The clock is
virtual, so that the schedule alone is measured; `--real` sleeps instead, which adds what the
program itself costs. Beside it stands a simulation that starts every call the moment that it may
start and a place is free, all questions from the beginning. Target: 1.10 times that at most.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import random
import selectors
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, TypeVar

from peerexam.agents.base import Provider
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.layers.rate_limited import RateLimited
from peerexam.calls import Completion, Message, Request
from peerexam.protocols.exam.examination import (
    QuestionRecords,
    Roles,
    Rules,
    judge_answers,
    rng_for,
)
from peerexam.protocols.run.setup import window_of
from peerexam.protocols.session.concurrency import in_order
from peerexam.records import Answer, Mark, Question, Verdict, Winner

T = TypeVar("T")


class _Leap(selectors.DefaultSelector):
    """Waits for nothing: time passes by the amount that was to be waited for."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now."""
        self.now += max(0.0, timeout or 0.0)
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer as soon as there is nothing else to do."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._leap.now


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


class Steady(Provider):
    """An agent that takes the same time for every call, and counts them."""

    def __init__(self, latency: float) -> None:
        super().__init__("judge", {"provider": "bench"}, ("chat",))
        self._latency = latency
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        """Take the time."""
        self.calls += 1
        await asyncio.sleep(self._latency)
        return Completion("")

    async def close(self) -> None:
        """There is nothing to close."""


class SteadyJudge:
    """Prefers the answer with the lower number; asks its agent for the time that this takes."""

    name = "judge"

    def __init__(self, agent: RateLimited) -> None:
        self._agent = agent

    async def mark(self, question: Question, answer: Answer) -> Mark:
        """Not asked."""
        raise NotImplementedError

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        """Compare."""
        await self._agent.complete(Request((Message("user", "?"),)))
        winner: Winner = "first" if int(first.text) < int(second.text) else "second"
        return Verdict(question.id, self.name, first.examinee, second.examinee, winner)


def answers_to(question: Question, n: int) -> list[Answer]:
    """Answers whose quality is in random order."""
    ranks = random.Random(question.id).sample(range(n), n)
    return [Answer(question.id, f"a{at:03d}", str(rank)) for at, rank in enumerate(ranks)]


async def ours(
    method: str, questions: int, n: int, calls: int, latency: float
) -> tuple[float, int]:
    """Seconds and calls of the exam's own code."""
    agent = Steady(latency)
    judge = SteadyJudge(RateLimited(agent, calls, run_slots=ConcurrencyLimit(calls)))
    roles = Roles({}, {}, {"judge": judge})
    rules = Rules(marks=False, ranking=method, self_preference=False)

    async def examine(question: Question) -> QuestionRecords:
        return await judge_answers(question, answers_to(question, n), roles, rules)

    clock = asyncio.get_running_loop().time
    start = clock()
    paper = (Question(f"q{at}", "?", "d") for at in range(questions))
    async for _ in in_order(paper, examine, window_of(None, calls)):
        pass
    return clock() - start, agent.calls


# The yardstick: the same sorts, written again as generators that yield the pairs (or generators)
# that may go on at the same time, and a queue served first come, first served.

Sort = Generator[list[Any], list[Any], list[int]]
Then = Callable[[Any], None]


def merging(xs: list[int]) -> Sort:
    """Merge sort with both halves at once."""
    if len(xs) < 2:
        return xs
    half = (len(xs) + 1) // 2
    a: list[int]
    b: list[int]
    a, b = yield [merging(xs[:half]), merging(xs[half:])]
    out: list[int] = []
    while a and b:
        (first,) = yield [(a[0], b[0])]
        out.append((a if first else b).pop(0))
    return out + a + b


def searching(x: int, xs: list[int]) -> Generator[list[Any], list[Any], int]:
    """The place of one among many, by binary search."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        (before,) = yield [(x, xs[middle])]
        low, high = (low, middle) if before else (middle + 1, high)
    return low


def rank_merging(xs: list[int]) -> Sort:
    """One half placed in the other, all at once."""
    if len(xs) < 2:
        return xs
    half = (len(xs) + 1) // 2
    a: list[int]
    b: list[int]
    a, b = yield [rank_merging(xs[:half]), rank_merging(xs[half:])]
    places = yield [searching(x, a) for x in b]
    for offset, (x, place) in enumerate(zip(b, places, strict=True)):
        a.insert(place + offset, x)
    return a


def paired(xs: list[int]) -> Sort:
    """Every pair at once."""
    yield list(itertools.combinations(xs, 2))
    return sorted(xs)


SORTS: dict[str, Callable[[list[int]], Sort]] = {
    "merge_sort": merging,
    "rank_merge": rank_merging,
    "round_robin": paired,
}


class Greedy:
    """Every call starts as soon as it may and a place is free."""

    def __init__(self, places: int, latency: float) -> None:
        self.places, self.latency = places, latency
        self.now, self.calls = 0.0, 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._running: list[tuple[float, int, Callable[[], None]]] = []

    def start(self, sort: Any, then: Then, sent: Any = None) -> None:
        """Go on with a generator, and tell its result."""
        try:
            wanted = sort.send(sent)
        except StopIteration as end:
            then(end.value)
            return
        results: list[Any] = [None] * len(wanted)
        missing = itertools.count(len(wanted) - 1, -1)

        def to(at: int) -> Then:
            def got(value: Any) -> None:
                results[at] = value
                if next(missing) == 0:
                    self.start(sort, then, results)

            return got

        for at, part in enumerate(wanted):
            if isinstance(part, tuple):
                self._compare(part, to(at))
            else:
                self.start(part, to(at))

    def _compare(self, pair: tuple[int, int], then: Callable[[bool], None]) -> None:
        orders = itertools.count(1)

        def answered() -> None:
            if next(orders) == 2:
                then(pair[0] < pair[1])

        self._waiting.extend((answered, answered))

    def run(self) -> None:
        """To the end."""
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self.places:
                self.calls += 1
                call = (self.now + self.latency, self.calls, self._waiting.popleft())
                heapq.heappush(self._running, call)
            self.now, _, then = heapq.heappop(self._running)
            then()


def greedy(method: str, questions: int, n: int, calls: int, latency: float) -> tuple[float, int]:
    """Seconds and calls of the greedy schedule, over the same answers in the same order."""
    world = Greedy(calls, latency)
    for at in range(questions):
        ranks = [int(answer.text) for answer in answers_to(Question(f"q{at}", "?", "d"), n)]
        order = list(range(n))  # as the exam shuffles the answers
        rng_for(0, "sort", f"q{at}", "judge").shuffle(order)
        world.start(SORTS[method]([ranks[i] for i in order]), lambda result: None)
    world.run()
    return world.now, world.calls


def numbers(text: str) -> list[int]:
    """`1,2,3` as numbers."""
    return [int(part) for part in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=50, help="of a call, in milliseconds")
    parser.add_argument("--questions", type=numbers, default=[1, 100])
    parser.add_argument("--answers", type=numbers, default=[8, 16, 64])
    parser.add_argument("--calls", type=numbers, default=[128, 512], help="at once")
    parser.add_argument("--methods", default="merge_sort,rank_merge,round_robin")
    parser.add_argument(
        "--real", action="store_true", help="sleep, where the clock is virtual else"
    )
    given = parser.parse_args(arguments)
    head = "real s" if given.real else "ours s"
    print(f"| method | Q | n | C | greedy s | {head} | ratio | calls | equal | cpu us/call |")
    print("|" + "---|" * 10)
    cells = itertools.product(given.methods.split(","), given.questions, given.answers, given.calls)
    for method, questions, n, calls in cells:
        cell = (method, questions, n, calls, given.latency / 1000)
        least, asked = greedy(*cell)
        spent = time.process_time()
        run = asyncio.run if given.real else run_virtually
        took, made = run(ours(*cell))
        spent = (time.process_time() - spent) / made * 1e6
        print(
            f"| {method} | {questions} | {n} | {calls} | {least:.2f} | {took:.2f} "
            f"| {took / least:.3f} | {made} | {made == asked} | {spent:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
