"""A ledger by its URL or path."""

from __future__ import annotations

import re
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.ledger.base import Ledger
from peerexam.ledger.sqlite import SqliteLedger

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def open_ledger(where: str | Path) -> Ledger:
    """Open a ledger, creating it where there is none.

    Args:
        where: A path, or `sqlite:///relative/path`, `sqlite:////absolute/path`.

    Raises:
        LedgerFileError: The file cannot be a ledger; it is left as it is.
        SetupError: The URL names no file, or a database that is not supported.
    """
    url = _SCHEME.fullmatch(where) if isinstance(where, str) else None
    if url is None:
        return SqliteLedger.open(Path(where))
    scheme, rest = url.group(1).lower(), url.group(2)
    if scheme in ("postgresql", "postgres"):
        # The URL may hold a password, so it is not repeated.
        raise SetupError(
            "a ledger in PostgreSQL comes with a later release: give a path or sqlite:///PATH"
        )
    if scheme != "sqlite":
        raise SetupError(f"no ledger is kept in '{scheme}://': give a path or sqlite:///PATH")
    if not rest.startswith("/") or rest == "/":
        raise SetupError("a ledger's URL is sqlite:///relative/path or sqlite:////absolute/path")
    return SqliteLedger.open(Path(rest[1:]))
