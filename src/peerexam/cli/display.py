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
from peerexam.report.inert import width_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from peerexam.protocols.session.progress import Progress, Snapshot

_EVERY_ON_TERMINAL = 0.25
_EVERY_ELSEWHERE = 10.0
_BAR = 20


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
        # Beside the bar and a space on either side of it.
        said = describe(now, self._bar.console.width - _BAR - 2)
        self._bar.update(self._task, completed=now.done, total=total, said=said)
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
    from rich.table import Column

    console = Console(stderr=True)
    bar = Bar(
        BarColumn(_BAR),
        TextColumn("{task.fields[said]}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        auto_refresh=False,
    )
    return bar, bar.add_task("", total=None, said="")


def describe(now: Snapshot, room: int | None = None) -> str:
    """One line: calls, rate, cost, time left, and a call that takes unusually long.

    Args:
        now: Where the run stands.
        room: Columns that the line may take; what matters least is left out first.
    """
    calls = f"{now.done}" if now.planned is None else f"{now.done}/{max(now.planned, now.done)}"
    # In the order in which they are left out, the last first.
    parts = [
        f"{calls} calls" if now.done or now.planned else "",
        f"{now.failed} failed" if now.failed else "",
        _time_left(now),
        plain(now.note),
        _unusual(now),
        _money(now),
        "" if now.rate is None else f"{now.rate:.1f}/s",
        f"{now.replayed} replayed" if now.replayed else "",
    ]
    said = [text for text in (parts[at] for at in _SHOWN) if text]
    for least in reversed(parts[1:]):
        if room is None or width_of(" · ".join(said)) <= room:
            break
        said = [text for text in said if text != least]
    return " · ".join(said)


_SHOWN = (3, 0, 7, 1, 6, 5, 2, 4)
"""The parts of `describe` in the order in which they stand."""


def _time_left(now: Snapshot) -> str:
    if now.seconds_left is None or now.done >= (now.planned or 0):
        return ""
    return f"{_clock(now.seconds_left)} left"


def _unusual(now: Snapshot) -> str:
    if now.oldest_agent is None or not now.oldest_is_unusual:
        return ""
    return f"oldest: {plain(now.oldest_agent)} {now.oldest_seconds:.0f} s"


def _money(now: Snapshot) -> str:
    if not now.cost:
        return f"{now.unpriced} unpriced" if now.unpriced else ""
    known = f"${now.cost:.4f}"
    return f"{known} + {now.unpriced} unpriced" if now.unpriced else known


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
