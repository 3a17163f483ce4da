"""What both ledgers share: group commit, and readings of many rows in another thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar, Self, TypeVar

from peerexam.calls import Request, request_from_json
from peerexam.ledger.base import Totals, sum_totals
from peerexam.ledger.entries import StoredCall
from peerexam.ledger.writer import GroupWriter

T = TypeVar("T")

PAGE = 200
"""Stored calls read at once by an audit."""


class DatabaseLedger(ABC):
    """The part of a `Ledger` in which the databases do not differ.

    Use `open`, and `close` or `async with`.
    """

    claims = True
    _totals: ClassVar[str]  # agent's name and the fields of `Totals`, several rows a name

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer

    @property
    def is_ready(self) -> bool:
        """Whether what is answered now can be stored, as far as one knows."""
        return self._writer.is_ready

    @property
    def lost(self) -> int:
        """Answers that could not be stored, so far; some of them may be yet, by `close`."""
        return self._writer.lost

    async def ready(self) -> None:
        """Wait until what is answered then can be stored, as while a server is away.

        Raises:
            LedgerFileError: Something could not be.
        """
        await self._writer.ready()

    async def totals(self) -> Totals:
        """Sums over the whole ledger, for every run that shares it."""
        return sum_totals(*(await self.totals_by_agent()).values())

    async def totals_by_agent(self) -> dict[str, Totals]:
        """Sums for each agent's name, sorted; a call counts for the agent that asked it first."""

        def read(connection: Any) -> dict[str, Totals]:
            sums: dict[str, Totals] = {}
            for raw, *numbers in connection.execute(self._totals):
                name = raw.decode("utf-8", "surrogatepass")
                sums[name] = sum_totals(sums.get(name, Totals()), Totals(*numbers))
            return dict(sorted(sums.items()))

        return await self._scan(read)

    @abstractmethod
    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

    async def request(self, key: str) -> Request | None:
        """What was asked under a key; None where there is nothing."""
        stored = await self.stored(key)
        return None if stored is None else request_from_json(stored.request)

    async def calls(self) -> AsyncIterator[StoredCall]:
        """Stream every stored call, failures too, in the order of their keys."""
        last = ""
        while True:
            page = await self._scan(self._page_after(last))
            for call in page:
                yield call
            if len(page) < PAGE:
                return
            last = page[-1].key

    @abstractmethod
    async def close(self) -> None:
        """Commit what has gathered and disconnect. More than once does no harm."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    @abstractmethod
    async def _scan(self, read: Callable[[Any], T]) -> T:
        """Read many rows in another thread, on a connection that nobody else waits for."""

    @abstractmethod
    def _page_after(self, last: str) -> Callable[[Any], list[StoredCall]]:
        """Reads the `PAGE` stored calls whose keys come after one."""
