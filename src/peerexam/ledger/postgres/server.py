"""Reaching a PostgreSQL server: connecting, connecting again, reporting errors without secrets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from peerexam.errors import LedgerFileError

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

PATIENCE = 60.0
"""Seconds for which a server that went away during a run is tried again."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0

# A machine that vanished is noticed by either side in about half a minute, not in two hours.
_KEEP_ALIVE = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SESSION = (
    "SELECT set_config('tcp_keepalives_idle', '15', false),"
    " set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false),"
    # What is acknowledged is on disk, even where the server's default is laxer.
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"
)
_SHUTTING_DOWN = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
_TRY_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure)


class Server:
    """Where the ledger's database is; its text never holds the password.

    Args:
        url: As libpq understands it, `postgresql://user:password@host:port/database?option=value`.

    Raises:
        LedgerFileError: It is no such URL.
    """

    def __init__(self, url: str) -> None:
        self._options = _options(url)
        user, host, port, name = (
            str(self._options.get(part) or "") for part in ("user", "host", "port", "dbname")
        )
        self.label = (
            f"postgresql://{user}{'@' * bool(user)}{host}{':' * bool(port)}{port}/{name or user}"
        )

    def __repr__(self) -> str:
        return f"Server({self.label})"

    def connect(self) -> Connection:
        """A new connection in autocommit mode.

        Raises:
            LedgerFileError: The server is down, or refuses the user, the password or the database.
        """
        try:
            connection = psycopg.connect(autocommit=True, **self._options)
            connection.execute(_SESSION)
        except psycopg.Error as error:
            complaint = self.refusal(error)
        except UnicodeError:
            complaint = LedgerFileError(f"{self.label}: there is no host of that name; correct it")
        else:
            return connection
        raise complaint  # outside of `except`: no chain leads to libpq's own words

    def refusal(self, error: psycopg.Error) -> LedgerFileError:
        """PostgreSQL's complaint as ours, which names the ledger and the fix."""
        # Of what the server says only the first line: the others may quote what was to be stored.
        said = error.diag.message_primary or str(error)
        said = " ".join(said.split()).removeprefix("connection failed: ")
        password = str(self._options.get("password") or "")
        if password:
            said = said.replace(password, "…")
        return LedgerFileError(f"{self.label}: {said or type(error).__name__}; {_fix(error)}")


class Session:
    """A connection that is made again when it is lost.

    Args:
        server: Where to connect.
        register: Called with every new connection before it is used.

    Raises:
        LedgerFileError: The first connection fails.
    """

    def __init__(
        self, server: Server, register: Callable[[Connection], object] | None = None
    ) -> None:
        self.server = server
        self._register = register
        self._connection = self._connect()

    def run(self, work: Callable[[Connection], T], patience: float = PATIENCE) -> T:
        """Do some work, again where the connection was lost or a deadlock was broken.

        Args:
            work: One statement or transaction that may be done twice.
            patience: Seconds for which a lost server is tried again.

        Raises:
            LedgerFileError: The server refused, or did not come back in time.
        """
        until: float | None = None
        pause = _FIRST_PAUSE
        while True:
            try:
                if self._connection.closed:
                    self._connection = self._connect()
                return work(self._connection)
            except _TRY_AGAIN:
                continue
            except psycopg.Error as error:
                complaint = self.server.refusal(error)
                lost = self._connection.closed or isinstance(error, _SHUTTING_DOWN)
            except LedgerFileError as error:
                complaint, lost = error, True
            now = time.monotonic()
            until = now + patience if until is None else until
            if not lost or now + pause > until:
                raise complaint
            self._connection.close()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self) -> Connection:
        connection = self.server.connect()
        try:
            if self._register is not None:
                self._register(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _options(url: str) -> dict[str, Any]:
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(url))
    except psycopg.Error:
        given = {}
    if not given:
        # The URL may hold a password, so neither it nor what libpq says of it is repeated.
        raise LedgerFileError(
            "the ledger's URL cannot be read: write postgresql://user@host:5432/database, special "
            "characters in the password as %XX (or leave it out and set PGPASSWORD)"
        )
    defaults = {"connect_timeout": 10, "application_name": "peerexam", **_KEEP_ALIVE}
    return {**defaults, **given, "client_encoding": "utf8"}  # whatever PGCLIENTENCODING says


_FIXES: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    ((errors.InvalidPassword, errors.InvalidAuthorizationSpecification), "check user and password"),
    ((errors.InvalidCatalogName,), "make the database first, with `createdb`"),
    ((errors.InsufficientPrivilege,), "let the user create a schema in this database"),
    ((errors.DiskFull,), "make room on the server's disk and run the same command again"),
    ((errors.TooManyConnections,), "close other connections, or raise max_connections"),
)


def _fix(error: psycopg.Error) -> str:
    for kinds, fix in _FIXES:
        if isinstance(error, kinds):
            return fix
    said = str(error)
    # While connecting, libpq gives a text and no code.
    if "password" in said or "authentication failed" in said:
        return "check user and password"
    if "does not exist" in said and 'role "' in said:
        return "check the user's name, or make it with `createuser`"
    if "does not exist" in said and "database" in said:
        return "make the database first, with `createdb`"
    if isinstance(error, psycopg.OperationalError):
        return "is the server up, and reachable from here? Then run the same command again"
    return "run the same command again"
