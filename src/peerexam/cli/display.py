"""Progress on standard error: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerexam.cli.output import note, plain, redact
from peerexam.printable import log

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from peerexam.protocols.progress import Progress, Snapshot

_EVERY_ON_TERMINAL = 0.25
_EVERY_ELSEWHERE = 10.0


@contextmanager
def shown(progress: Progress, *, quiet: bool) -> Iterator[None]:
    """Show a run's progress, and the warnings that it logs, while the block runs.

    Args:
        progress: What to show.
        quiet: Show nothing but the warnings.
    """
    over = threading.Event()
    is_terminal = sys.stderr.isatty() and not quiet
    show = _BarDisplay() if is_terminal else _LineDisplay(quiet)
    every = _EVERY_ON_TERMINAL if is_terminal else _EVERY_ELSEWHERE
    warnings = _Warnings(show)

    def keep_showing() -> None:
        # A thread, so that a busy event loop still says that it is busy.
        while not over.wait(every):
            show.update(progress.snapshot())

    thread = threading.Thread(target=keep_showing, name="progress", daemon=True)
    thread.start()
    log.addHandler(warnings)
    try:
        yield
    finally:
        log.removeHandler(warnings)
        over.set()
        thread.join()
        show.close(progress.snapshot())


class _Warnings(logging.Handler):
    """Shows what the run warns of: a standstill, an agent that is given up."""

    def __init__(self, show: _LineDisplay | _BarDisplay) -> None:
        super().__init__(logging.WARNING)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show.warn(plain(record.getMessage()))


class _LineDisplay:
    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = ""

    def update(self, now: Snapshot) -> None:
        self._say(describe(now))

    def warn(self, text: str) -> None:
        note(text)

    def close(self, now: Snapshot) -> None:
        if now.note or now.done:  # a set-up that fails at once has no progress to tell of
            self._say(describe(now))

    def _say(self, line: str) -> None:
        if line and line != self._last and not self._quiet:
            note(line)
        self._last = line


class _BarDisplay:
    def __init__(self) -> None:
        self._bar, self._task = _make_bar()
        self._bar.start()

    def update(self, now: Snapshot) -> None:
        total = None if now.planned is None else max(now.planned, now.done)
        self._bar.update(self._task, completed=now.done, total=total, said=describe(now))
        self._bar.refresh()

    def warn(self, text: str) -> None:
        self._bar.console.print(
            redact(text), markup=False, emoji=False, highlight=False, style="yellow"
        )

    def close(self, now: Snapshot) -> None:
        self.update(now)
        self._bar.stop()


def _make_bar() -> tuple[Bar, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    bar = Bar(
        BarColumn(20),
        TextColumn("{task.fields[said]}", markup=False),
        console=console,
        auto_refresh=False,
    )
    return bar, bar.add_task("", total=None, said="")


def describe(now: Snapshot) -> str:
    """One line: calls, rate, cost, time left, the oldest call in flight."""
    calls = f"{now.done}" if now.planned is None else f"{now.done}/{max(now.planned, now.done)}"
    parts = [f"{calls} calls"] if now.done or now.planned else []
    if now.replayed:
        parts.append(f"{now.replayed} replayed")
    if now.failed:
        parts.append(f"{now.failed} failed")
    if now.rate is not None:
        parts.append(f"{now.rate:.1f}/s")
    parts.append(_money(now))
    if now.seconds_left is not None and now.done < (now.planned or 0):
        parts.append(f"{_clock(now.seconds_left)} left")
    if now.oldest_agent is not None and now.oldest_seconds >= 1:
        parts.append(f"oldest: {plain(now.oldest_agent)} {now.oldest_seconds:.0f} s")
    if now.note:
        parts.insert(0, plain(now.note))
    return " · ".join(part for part in parts if part)


def _money(now: Snapshot) -> str:
    if not now.cost:
        return f"{now.unpriced} unpriced" if now.unpriced else ""
    known = f"${now.cost:.4f}"
    return f"{known} + {now.unpriced} unpriced" if now.unpriced else known


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
