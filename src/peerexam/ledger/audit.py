"""What a ledger lets be read beyond one call at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from peerexam.calls import Request
from peerexam.ledger.base import Ledger, Totals
from peerexam.ledger.entries import StoredCall


class AuditableLedger(Ledger, Protocol):
    """A ledger whose every number leads back to the calls behind it."""

    async def known_keys(self) -> set[str]:
        """The keys of every call that was answered."""

    async def totals(self) -> Totals:
        """Sums over the whole ledger, for every run that shares it."""

    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

    async def request(self, key: str) -> Request | None:
        """What was asked under a key; None where there is nothing."""

    def calls(self) -> AsyncIterator[StoredCall]:
        """Stream every stored call, failures too, in the order of their keys."""
