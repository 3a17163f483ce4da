"""Who may ask with an SQLite ledger: one process, and in it each request once at a time.

Two processes that ask with one file would each pay for the other's calls in flight. So the first to
ask locks a file beside the ledger, until it closes the ledger or ends, however it ends. Reading
needs no lock. Several ledgers of one process that have the same file open share the lock, and wait
for each other's calls.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from peerexam.errors import LedgerFileError

Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]

_FIX = (
    "wait for its end, name another ledger with --db, or keep one in PostgreSQL, which processes "
    "share"
)


@dataclass(slots=True, eq=False)
class _File:
    """A ledger that this process asks with.

    Attributes:
        lock: The lock's file, open.
        users: How many open ledgers ask with it.
        owners: Who asks each request in flight.
        waiting: Who waits for one of these.
    """

    lock: int | None
    users: int = 0
    owners: dict[str, Claims] = field(default_factory=dict)
    waiting: dict[str, list[Waiter]] = field(default_factory=dict)


_files: dict[Path, _File] = {}
_changing = threading.Lock()


class Claims:
    """The requests that one open ledger has the right to ask. Any thread may use it.

    Args:
        path: The ledger.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._shown = path
        self._file: _File | None = None

    def take(self) -> _File:
        """Keep other processes from asking with the file.

        Raises:
            LedgerFileError: Another process asks with it, or the lock cannot be made.
        """
        file = self._file
        if file is not None:
            return file
        with _changing:
            file = _files.get(self._path)
            if file is None:
                file = _files[self._path] = _File(_locked(self._path, self._shown))
            file.users += 1
            self._file = file
        return file

    def claim(self, key: str) -> asyncio.Future[None] | None:
        """The right to ask a request: None gives it, a future is done when it is worth asking anew.

        Raises:
            LedgerFileError: As `take`.
        """
        file = self.take()
        with _changing:
            if key not in file.owners:
                file.owners[key] = self
                return None
            loop = asyncio.get_running_loop()
            over: asyncio.Future[None] = loop.create_future()
            file.waiting.setdefault(key, []).append((loop, over))
            return over

    def free(self, keys: Iterable[str]) -> None:
        """Release the right to ask some requests; the rights of others stay."""
        file = self._file
        if file is None:
            return
        woken: list[Waiter] = []
        with _changing:
            for key in keys:
                if file.owners.get(key) is self:
                    del file.owners[key]
                    woken += file.waiting.pop(key, ())
        for loop, over in woken:
            try:
                loop.call_soon_threadsafe(_wake, over)
            except RuntimeError:
                continue  # that loop has ended

    def close(self) -> None:
        """Release all rights; the last ledger of the process lets go of the lock."""
        file = self._file
        if file is None:
            return
        self.free([key for key, holder in list(file.owners.items()) if holder is self])
        with _changing:
            self._file = None
            file.users -= 1
            if not file.users:
                del _files[self._path]
                _unlock(self._path, file.lock)


def _wake(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-lock")


def _locked(path: Path, shown: Path) -> int | None:
    """Lock the file beside a ledger, and write down who did; None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    place = _lock_path(path)
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise LedgerFileError(
                f"{shown}: {place.name} cannot be made beside it ({error.strerror}); make its "
                "folder writable, or name another ledger with --db"
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(handle)
            os.close(handle)
            raise LedgerFileError(f"{shown}: {holder} asks with this ledger: {_FIX}") from None
        except OSError:
            pass  # a file system without locks
        if _is_still(handle, place):
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()} {socket.gethostname()}\n".encode())
            return handle
        os.close(handle)  # the one who locked it before has removed it meanwhile


def _is_still(handle: int, place: Path) -> bool:
    try:
        there = os.stat(place)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def _holder(handle: int) -> str:
    pid, _, host = os.pread(handle, 300, 0).decode("utf-8", "replace").strip().partition(" ")
    if not pid.isdecimal():
        return "another process"
    return f"process {pid} on {host if host.isprintable() else 'another machine'}"


def _unlock(path: Path, handle: int | None) -> None:
    if handle is None:
        return
    # In this order: whoever opens the file before it is gone finds that it is not the one there.
    _lock_path(path).unlink(missing_ok=True)
    os.close(handle)


def _forget() -> None:
    """In a forked process: the lock is its parent's, and must not outlive that one."""
    for file in _files.values():
        if file.lock is not None:
            os.close(file.lock)
    _files.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
