"""Fixtures for the tests of ledgers: each database by its URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from peerexam.ledger.audit import AuditableLedger
from peerexam.ledger.opening import open_ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where no ledger is yet: in a file, and in a database where PostgreSQL is installed."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def ledger(ledger_url: str) -> AsyncIterator[AuditableLedger]:
    """An empty ledger of each kind."""
    opened = open_ledger(ledger_url)
    yield opened
    await opened.close()
