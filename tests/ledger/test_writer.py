"""The thread that writes: groups grow where records come thick, and nobody is held or lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from peerexam.calls import Call, Completion, Message, Request, encoded, request_to_json
from peerexam.errors import LedgerFileError
from peerexam.ledger.base import Outcome
from peerexam.ledger.entries import Entry, entry_of
from peerexam.ledger.writer import LARGEST_GROUP, GroupWriter

REQUEST = encoded(request_to_json(Request((Message("user", "2+2?"),))))


def entry(number: int) -> Entry:
    return entry_of(Call(f"key-{number}", "one", b"{}", REQUEST), Completion(str(number)))


class Recording:
    """A store that notes each group; its first commits may be held up."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.closed = False
        self.go_on = threading.Event()
        self.go_on.set()

    def commit(self, entries: Sequence[Entry]) -> Sequence[Outcome]:
        self.go_on.wait(20)
        self.groups.append([entry.call.key for entry in entries])
        return [entry.outcome for entry in entries]

    def close(self) -> None:
        self.closed = True

    @property
    def keys(self) -> list[str]:
        return [key for group in self.groups for key in group]


@pytest.fixture
def store() -> Recording:
    return Recording()


@pytest.fixture
def writer(store: Recording) -> GroupWriter:
    return GroupWriter(store, "the ledger")


async def crowd(writer: GroupWriter, store: Recording, size: int) -> None:
    """Have one group of that size committed, so that the next one is left to grow."""
    store.go_on.clear()
    first = writer.submit(entry(-1))
    rest = [writer.submit(entry(number)) for number in range(size)]
    store.go_on.set()
    await asyncio.wait_for(asyncio.gather(first, *rest), 20)


async def test_a_lone_record_after_a_crowd_is_committed_though_none_follows(
    writer: GroupWriter, store: Recording
) -> None:
    await crowd(writer, store, 50)
    standing = await asyncio.wait_for(writer.submit(entry(99)), 20)
    assert isinstance(standing, Completion)
    assert standing.text == "99"
    assert store.groups[-1] == ["key-99"]
    writer.close()


async def test_closing_while_a_group_is_left_to_grow_loses_nothing(
    writer: GroupWriter, store: Recording
) -> None:
    for size in (5, 50, LARGEST_GROUP - 1, LARGEST_GROUP, LARGEST_GROUP + 1, 3 * LARGEST_GROUP):
        own = Recording()
        closing = GroupWriter(own, "the ledger")
        await crowd(closing, own, 50)
        waiting = [closing.submit(entry(100 + number)) for number in range(size)]
        await asyncio.to_thread(closing.close)
        done = await asyncio.wait_for(asyncio.gather(*waiting), 20)
        assert [outcome.text for outcome in done if isinstance(outcome, Completion)] == [
            str(100 + number) for number in range(size)
        ]
        assert own.keys[51:] == [f"key-{100 + number}" for number in range(size)]
        assert own.closed
        with pytest.raises(LedgerFileError, match="closed"):
            closing.submit(entry(0))
    writer.close()


async def test_records_that_keep_coming_are_committed_all_the_while(
    writer: GroupWriter, store: Recording
) -> None:
    await crowd(writer, store, 50)
    stop = False

    async def pour() -> list[asyncio.Future[Outcome]]:
        submitted: list[asyncio.Future[Outcome]] = []
        while not stop:
            submitted.append(writer.submit(entry(1000 + len(submitted))))
            await asyncio.sleep(0)
        return submitted

    pouring = asyncio.ensure_future(pour())
    # A stream without an end must not keep its first record from being committed.
    await asyncio.wait_for(writer.submit(entry(99)), 20)
    stop = True
    submitted = await pouring
    await asyncio.wait_for(asyncio.gather(*submitted), 20)
    assert len(store.keys) == 51 + 1 + len(submitted) == len(set(store.keys))
    assert max(map(len, store.groups)) <= LARGEST_GROUP
    writer.close()


async def test_one_at_a_time_is_one_commit_each(writer: GroupWriter, store: Recording) -> None:
    await crowd(writer, store, 50)
    for number in range(100, 110):
        await asyncio.wait_for(writer.submit(entry(number)), 20)
    assert store.groups[-10:] == [[f"key-{number}"] for number in range(100, 110)]
    writer.close()


async def test_callers_that_are_cancelled_while_a_group_grows_take_no_record_back(
    writer: GroupWriter, store: Recording
) -> None:
    await crowd(writer, store, 50)
    waiting = [writer.submit(entry(100 + number)) for number in range(20)]
    for future in waiting:
        future.cancel()
    await asyncio.to_thread(writer.close)
    assert store.keys[51:] == [f"key-{100 + number}" for number in range(20)]


async def test_an_error_of_the_store_reaches_all_of_its_group_and_the_next_is_tried(
    writer: GroupWriter, store: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(writer, store, 50)
    commit = store.commit

    def refuse(entries: Sequence[Entry]) -> Sequence[Outcome]:
        raise LedgerFileError("the disk is full")

    monkeypatch.setattr(store, "commit", refuse)
    waiting = [writer.submit(entry(100 + number)) for number in range(20)]
    ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 20)
    assert {str(error) for error in ended} == {"the disk is full"}
    monkeypatch.setattr(store, "commit", commit)
    assert isinstance(await asyncio.wait_for(writer.submit(entry(200)), 20), Completion)
    writer.close()


async def test_a_loop_that_has_ended_does_not_keep_others_from_their_records(
    writer: GroupWriter, store: Recording
) -> None:
    await crowd(writer, store, 50)
    store.go_on.clear()

    def ask_and_end() -> None:
        async def ask() -> None:
            for number in range(10):
                writer.submit(entry(100 + number))

        asyncio.run(ask())

    await asyncio.to_thread(ask_and_end)
    ours = writer.submit(entry(200))
    store.go_on.set()
    assert isinstance(await asyncio.wait_for(ours, 20), Completion)
    assert {f"key-{100 + number}" for number in range(10)} <= set(store.keys)
    writer.close()
