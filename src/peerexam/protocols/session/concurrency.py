"""Work at the same time, results in order.

Every task lives in a task group. Results come by index, so nothing downstream depends on timing;
and where one task fails, the caller gets that error itself, not a group around it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, TypeVar

from peerexam.errors import BudgetReachedError, LedgerFileError

S = TypeVar("S")
T = TypeVar("T")

_IN_TURN: ContextVar[bool] = ContextVar("in_turn", default=False)


@contextmanager
def in_turn() -> Iterator[None]:
    """Within it `together` and `both` run one coroutine after the other, without a task each.

    For work that waits for nothing, as that of simulated participants: there a task costs more than
    what is done in it. Results are the same, since they come by index either way.
    """
    before = _IN_TURN.set(True)
    try:
        yield
    finally:
        _IN_TURN.reset(before)


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at once and return their results in the order given.

    Raises:
        BudgetReachedError: Where any of them did; otherwise the first error of any.
    """
    coroutines = list(work)
    if len(coroutines) < 2 or _IN_TURN.get():
        return await _one_by_one(coroutines)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines[1:]]
            first = await _inline(coroutines[0])
    except BaseExceptionGroup as failures:
        raise principal_error(failures) from None
    return [first, *(task.result() for task in tasks)]


async def both(first: Coroutine[Any, Any, S], second: Coroutine[Any, Any, T]) -> tuple[S, T]:
    """Run two coroutines of different types at once; see `together`."""
    if _IN_TURN.get():
        one, two = await _one_by_one((first, second))
        return one, two
    try:
        async with asyncio.TaskGroup() as group:
            other = group.create_task(second)
            one = await _inline(first)
    except BaseExceptionGroup as failures:
        raise principal_error(failures) from None
    return one, other.result()


async def _one_by_one(coroutines: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    try:
        return [await coroutine for coroutine in coroutines]
    finally:
        for coroutine in coroutines:
            coroutine.close()  # those behind one that failed; it does nothing to the others


async def _inline(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run one of several in the task that would only wait for them: a task less each time."""
    try:
        return await coroutine
    except Exception:
        await asyncio.sleep(0)  # the others start, and may have the more telling error
        raise


def principal_error(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group that the caller acts on: a reached budget first."""
    leaves = list(_leaves(failures))
    for leaf in leaves:
        if isinstance(leaf, BudgetReachedError):
            return leaf
    return leaves[0]


def _leaves(failure: BaseException) -> Iterable[BaseException]:
    if isinstance(failure, BaseExceptionGroup):
        for inner in failure.exceptions:
            yield from _leaves(inner)
    else:
        yield failure


async def in_order(
    items: Iterable[S], work: Callable[[S], Awaitable[T]], window: int
) -> AsyncGenerator[T, None]:
    """Work on `window` items at a time and yield the results in the order of the items.

    Items are drawn as places come free, so a long or endless stream stays in constant memory; a
    slow item does not stop those behind it until four windows of finished ones wait. Who may leave
    early closes it (`contextlib.aclosing`): what was sent is waited for, and has to be stored.

    Raises:
        LedgerFileError: As soon as `work` raises it for any item: what the others ask meanwhile
            could not be kept.
        Exception: What else `work` raised for an item, when its turn comes; the rest is cancelled.
    """
    places = asyncio.Semaphore(window)
    waiting: deque[asyncio.Task[T]] = deque()
    source = iter(items)
    failed: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    async def run(item: S) -> T:
        async with places:
            return await _telling(failed, work(item))

    try:
        while True:
            for item in islice(source, 4 * window - len(waiting)):
                waiting.append(asyncio.create_task(run(item)))
            if not waiting:
                return
            # Not awaited itself: a cancellation is for all that wait, at once, and not for the
            # first alone and for the others when that has ended.
            await asyncio.wait((waiting[0], failed), return_when=asyncio.FIRST_COMPLETED)
            yield (failed if failed.done() else waiting[0]).result()
            waiting.popleft()
    finally:
        if not failed.cancel():
            failed.exception()  # heard, also where an error of another kind has come first
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _telling(failed: asyncio.Future[T], work: Awaitable[T]) -> T:
    """Do some work, and tell at once where the ledger failed it."""
    try:
        return await work
    except LedgerFileError as error:
        if not failed.done():
            failed.set_exception(error)
        raise
