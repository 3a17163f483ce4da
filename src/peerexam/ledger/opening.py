"""A ledger by its URL or path."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from peerexam.errors import LedgerFileError, MissingExtraError, SetupError
from peerexam.ledger.audit import AuditableLedger
from peerexam.ledger.sqlite.ledger import SqliteLedger

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


_log = logging.getLogger("peerexam")


@asynccontextmanager
async def ledger_to_ask_with(where: str | Path) -> AsyncIterator[AuditableLedger]:
    """A ledger for someone who asks models; closed at the end. See `open_ledger`.

    Raises:
        LedgerFileError: Also where another process asks with it and it cannot be shared, and where
            it failed on the way: then with the number of answers that could not be stored.
    """
    ledger = open_ledger(where)
    said = False
    try:
        await ledger.begin()
        yield ledger
    except LedgerFileError as error:
        await ledger.close()
        said = True
        raise LedgerFileError(f"{error}{_unsaved(ledger.lost)}") from error
    finally:
        await ledger.close()
        if ledger.lost and not said:
            _log.warning("the ledger failed%s", _unsaved(ledger.lost))


def _unsaved(answers: int) -> str:
    if not answers:
        return ""
    what = "1 answer that was" if answers == 1 else f"{answers} answers that were"
    return f"; {what} paid for could not be stored, and will be asked again"


def open_ledger(where: str | Path) -> AuditableLedger:
    """Open a ledger, creating it where there is none. Whoever only reads need not claim it.

    Args:
        where: A path, or `sqlite:///relative/path`, `sqlite:////absolute/path`, or
            `postgresql://user:password@host:port/database`.

    Raises:
        LedgerFileError: The file or the database cannot be a ledger, and is left as it is; or the
            server cannot be reached. No message holds the password.
        MissingExtraError: PostgreSQL's driver is not installed.
        SetupError: The URL names no file, or a database that is not supported.
    """
    place = ledger_place(where)
    if isinstance(place, Path):
        return SqliteLedger.open(place)
    opened: AuditableLedger = import_postgres("postgres.ledger").PostgresLedger.open(place)
    return opened


def ledger_place(where: str | Path) -> Path | str:
    """The file in which a ledger is, or the URL of the PostgreSQL database.

    Raises:
        SetupError: The URL names no file, or a database that is not supported.
    """
    url = _SCHEME.fullmatch(where) if isinstance(where, str) else None
    if url is None:
        return Path(where)
    scheme, rest = url.group(1).lower(), url.group(2)
    if scheme in ("postgresql", "postgres"):
        return str(where)
    if scheme != "sqlite":
        raise SetupError(
            f"no ledger is kept in '{scheme}://': give a path, sqlite:///PATH or postgresql://…"
        )
    if not rest.startswith("/") or rest == "/":
        raise SetupError("a ledger's URL is sqlite:///relative/path or sqlite:////absolute/path")
    return Path(rest[1:])


def import_postgres(module: str) -> Any:
    """A module of the ledger in PostgreSQL, whose driver is an extra.

    Raises:
        MissingExtraError: The driver is not installed.
    """
    try:
        return import_module(f"peerexam.ledger.{module}")
    except ModuleNotFoundError as error:
        missing = error.name or ""
    except ImportError:
        missing = "psycopg"  # it is there, and finds no libpq
    if missing.partition(".")[0] != "psycopg":
        raise ModuleNotFoundError(f"No module named '{missing}'", name=missing)
    raise MissingExtraError(
        "a ledger in PostgreSQL needs the package psycopg: pip install 'peerexam[postgres]'"
    )
