"""The thread that looks calls up in PostgreSQL and claims the right to ask, in batches.

What came in while one batch was on its way to the server makes the next. A reservation whose key
another has claimed stays, and is tried again at a short interval until the other has recorded,
released it, or died.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from peerexam.calls import Completion
from peerexam.errors import LedgerFileError
from peerexam.ledger.base import Outcome
from peerexam.ledger.entries import completion_of, failure_of
from peerexam.ledger.postgres import claims
from peerexam.ledger.postgres.other_processes import GRACE, OtherProcesses
from peerexam.ledger.postgres.server import Connection, Server, Session
from peerexam.ledger.writer import settle

_BATCH = 512
_POLL = 0.05  # seconds between looks at what others have claimed
_RETURN = 6.0  # seconds after a lost connection in which others come back too
_LOOK_ROUND = 0.5  # seconds between looks for who died, and for who waits for our claims

_FIND = """
SELECT key, completion, NULL AS failure FROM peerexam.calls WHERE key = ANY(%s::text[])
UNION ALL
SELECT key, NULL, failure FROM peerexam.failures WHERE key = ANY(%s::text[])
"""


@dataclass(slots=True, eq=False)
class Reservation:
    """Someone who waits to hear what stands under a key.

    Attributes:
        key: The request key.
        future: Of the loop that asked.
        claiming: Whether the right to ask is wanted, where nothing stands.
        since: When the queue took it in, by the monotonic clock.
        left_to: The process that was given time to come first; 0 is nobody.
        granted: The right was given. Only the queue's thread reads and writes these three.
    """

    key: str
    future: asyncio.Future[Outcome | None]
    claiming: bool
    since: float = 0.0
    left_to: int = 0
    granted: bool = False


Work = Callable[[], None]


class ClaimQueue:
    """Owns a connection, this process's owner's lock on it, and the thread that uses it.

    Raises:
        LedgerFileError: The server cannot be reached.
    """

    def __init__(self, server: Server) -> None:
        self.owner = 0
        self._server = server
        self._others = OtherProcesses()
        self._announced: set[int] = set()
        self._session = Session(server, self._register)
        self._session.run(claims.drop_dead)
        self._waiting: dict[str, list[Reservation]] = {}
        self._fresh: list[Reservation] = []
        self._to_release: set[str] = set()
        self._next_look = 0.0  # for the dead
        self._next_count = 0.0  # of those who wait for us
        self._incoming: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="peerexam-claims", daemon=True)
        self._thread.start()

    def ask(self, key: str, *, claiming: bool) -> Reservation:
        """Queue a look-up; the reservation's future gets what stands under the key.

        Raises:
            LedgerFileError: The ledger is closed.
        """
        future = asyncio.get_running_loop().create_future()
        reservation = Reservation(key, future, claiming)
        self._put(lambda: self._fresh.append(reservation))
        return reservation

    def abandon(self, reservation: Reservation) -> None:
        """Say that nobody waits for a reservation any more; a right that it got is released."""
        with suppress(LedgerFileError):  # closed, so all rights are released
            self._put(lambda: self._drop(reservation))

    def release(self, key: str) -> None:
        """Release the right to ask. Returns at once."""
        with suppress(LedgerFileError):  # closed, so all rights are released
            self._put(lambda: self._to_release.add(key))

    def close(self) -> None:
        """Release all rights and end the thread; those who still wait get an error. Blocks."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._incoming.put(None)
        self._thread.join()

    def _put(self, work: Work) -> None:
        with self._closing:
            if self._closed:
                raise LedgerFileError(f"{self._server.label}: the ledger is closed; open it again")
            self._incoming.put(work)

    def _register(self, connection: Connection) -> None:
        """Become an owner; after a lost connection, of what is left of the old owner's claims."""
        owner = claims.become_owner(connection)
        if self.owner:
            claims.hand_over(connection, self.owner, owner)
            # Others may have lost theirs too, and are not dead for coming back a little later.
            self._next_look = time.monotonic() + _RETURN
        self.owner = owner
        self._announced.clear()  # those locks went with the old connection

    def _run(self) -> None:
        open_ = True
        while open_:
            open_ = self._gather()
            try:
                self._serve()
            except BaseException as error:
                self._fail(error)
        self._fail(LedgerFileError(f"{self._server.label}: the ledger was closed"))
        with suppress(LedgerFileError):  # without a server there is no lock, and no claim holds
            self._session.run(
                lambda connection: claims.release_all(connection, self.owner), patience=0
            )
        self._session.close()

    def _gather(self) -> bool:
        """Take in what has come, waiting for it if there is nothing else to do."""
        try:
            work = self._incoming.get(timeout=_POLL if self._waiting or self._to_release else None)
            while work is not None:
                work()
                if len(self._fresh) >= _BATCH:
                    return True
                work = self._incoming.get_nowait()
        except queue.Empty:
            return True
        return False

    def _drop(self, reservation: Reservation) -> None:
        waiting = self._waiting.get(reservation.key, [])
        if reservation in self._fresh:
            self._fresh.remove(reservation)
        elif reservation in waiting:
            waiting.remove(reservation)
            if not waiting:
                del self._waiting[reservation.key]
        elif reservation.granted:
            self._to_release.add(reservation.key)

    def _serve(self) -> None:
        if self._to_release:
            keys = sorted(self._to_release)
            self._session.run(lambda connection: claims.release(connection, self.owner, keys))
            self._to_release.clear()
        for reservation in self._fresh:
            reservation.since = time.monotonic()
            self._waiting.setdefault(reservation.key, []).append(reservation)
        self._fresh.clear()
        if self._waiting:
            self._serve_waiting()

    def _serve_waiting(self) -> None:
        standing = self._look_up(self._waiting)
        wanted = {
            key
            for key, waiting in self._waiting.items()
            if not isinstance(standing.get(key), Completion)
            and any(reservation.claiming for reservation in waiting)
        }
        wanted -= self._left_to_others(wanted)
        claimed = self._claim(wanted) if wanted else set()
        # What another recorded between the look-up and the claim is seen only now.
        standing |= self._look_up(claimed) if claimed else {}
        answered = {key for key in claimed if isinstance(standing.get(key), Completion)}
        if answered:
            self._session.run(lambda connection: claims.release(connection, self.owner, answered))
        self._settle(standing, claimed - answered)

    def _look_up(self, keys: Collection[str]) -> dict[str, Outcome]:
        """What stands under keys, completions before failures."""
        wanted = list(keys)

        def read(connection: Connection) -> dict[str, Outcome]:
            found: dict[str, Outcome] = {}
            with connection.cursor(binary=True) as cursor:
                for key, completion, failure in cursor.execute(_FIND, (wanted, wanted)):
                    if completion is not None:
                        found[key] = completion_of(key, completion)
                    else:
                        found.setdefault(key, failure_of(failure))
            return found

        return self._session.run(read)

    def _left_to_others(self, keys: Collection[str]) -> set[str]:
        """Those of the keys that another process is to claim first, and has had no time to."""
        now = time.monotonic()
        if keys and now >= self._next_count:
            self._next_count = now + _LOOK_ROUND
            waiting = self._session.run(
                lambda connection: claims.waiting_owners(connection, self.owner)
            )
            self._others.met(waiting, now)
            self._others.forget(now)
            self._announce_waits()
        left: set[str] = set()
        for key in keys:
            whose = self._others.whose(key, self.owner)
            for reservation in self._waiting[key]:
                if whose != self.owner and now < reservation.since + GRACE:
                    reservation.left_to = whose
                    left.add(key)
        return left

    def _claim(self, keys: Collection[str]) -> set[str]:
        claimed = self._session.run(lambda connection: claims.claim(connection, self.owner, keys))
        for key in claimed:
            for reservation in self._waiting[key]:
                self._others.missed(reservation.left_to)
        left = set(keys) - claimed
        if left and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_ROUND
            self._session.run(claims.drop_dead)
            freed = self._session.run(lambda connection: claims.claim(connection, self.owner, left))
            claimed |= freed
            owners = self._session.run(
                lambda connection: claims.owners_of(connection, self.owner, left - freed)
            )
            self._others.met(owners, time.monotonic())
            self._announce_waits()
        return claimed

    def _announce_waits(self) -> None:
        """Let the processes met lately, and no others, know that their claims are waited for."""
        owners = self._others.owners
        for owner in owners - self._announced:
            self._session.run(partial(claims.announce_wait, owner=owner))
            self._announced.add(owner)
        for owner in self._announced - owners:
            self._session.run(partial(claims.withdraw_wait, owner=owner))
            self._announced.discard(owner)

    def _settle(self, standing: Mapping[str, Outcome], claimed: Collection[str]) -> None:
        """Answer all who can be: a key's right goes to the first, and the others wait on."""
        answers: list[tuple[Reservation, Outcome | None]] = []
        for key in list(self._waiting):
            left: list[Reservation] = []
            outcome, free = standing.get(key), key in claimed
            for reservation in self._waiting[key]:
                if reservation.claiming and not isinstance(outcome, Completion):
                    if not free:
                        left.append(reservation)
                        continue
                    reservation.granted, free = True, False
                elif reservation.left_to:
                    self._others.met([reservation.left_to], time.monotonic())
                answers.append((reservation, outcome))
            if left:
                self._waiting[key] = left
            else:
                del self._waiting[key]
        self._deliver(answers)

    def _fail(self, error: BaseException) -> None:
        everyone = [one for waiting in self._waiting.values() for one in waiting] + self._fresh
        self._waiting.clear()
        self._fresh.clear()
        self._deliver((reservation, error) for reservation in everyone)

    def _deliver(
        self, answers: Iterable[tuple[Reservation, Outcome | BaseException | None]]
    ) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
        for reservation, answer in answers:
            loop = reservation.future.get_loop()
            by_loop.setdefault(loop, []).append((reservation.future, answer))
            if loop.is_closed() and reservation.granted:
                self._to_release.add(reservation.key)
        for loop, pairs in by_loop.items():
            try:
                loop.call_soon_threadsafe(settle, pairs)
            except RuntimeError:
                continue  # that loop has ended, so nobody waits


_Answer = tuple["asyncio.Future[Outcome | None]", Outcome | BaseException | None]
