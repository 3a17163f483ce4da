"""The command line: the only place that reads arguments and the environment, and prints.

Exit status: 0 complete, 1 error, 2 bad usage or config, 3 partial (a budget was reached, calls
failed: the same command resumes), 4 no standings possible, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

_RESUMABLE = ("run", "rejudge", "add", "generate", "probe", "trust", "style", "discriminate",
              "consistency", "find", "backtrack")  # fmt: skip
"""Commands and actions that ask models, and resume where they were interrupted."""

COMPLETE, FAILED, BAD_SETUP, PARTIAL, NO_STANDINGS, STOPPED = 0, 1, 2, 3, 4, 130


_pressed: list[int] = []
"""Signals that `_press` has heard."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The exit status.
    """
    if argv is None:  # the process is ours
        signal.signal(signal.SIGINT, _press)
        sys.unraisablehook = _unraisable
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        return _perform(given)
    except BaseException as error:
        if not _pressed and not isinstance(error, KeyboardInterrupt):
            raise
        if argv is not None:
            return _stopped(given)
        signal.signal(signal.SIGINT, _press_again)
        _stopped(given)
        # Not by way of the interpreter's own end, which waits for threads and hears no more keys.
        sys.stdout.flush()
        os._exit(STOPPED)


def _press(number: int, frame: object) -> None:
    """Ctrl-C while no event loop runs: what is being written is left whole."""
    signal.signal(signal.SIGINT, _press_again)
    _pressed.append(number)
    raise KeyboardInterrupt


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """A press in a finalizer or a weak reference's callback is pressed again a moment later.

    Python drops what is raised there, and imports are full of such places.
    """
    if not _pressed or not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    import threading

    signal.signal(signal.SIGINT, _press)
    later = threading.Timer(0.01, os.kill, [os.getpid(), signal.SIGINT])
    later.daemon = True
    later.start()


def _press_again(number: int, frame: object) -> None:
    """Once more: nobody waits for the rest, at the interpreter's own end either."""
    os._exit(STOPPED)


def _perform(given: Sequence[str]) -> int:
    from peerexam.cli.arguments import parse

    try:
        arguments = parse(given)
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else BAD_SETUP
    from peerexam.cli.commands import perform
    from peerexam.cli.dotenv import load_dotenv

    try:
        load_dotenv(os.environ)
        return perform(arguments)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if _pressed:  # in the middle of an import, which made another error of it
            raise KeyboardInterrupt from None
        return _failed(error, debug=arguments.debug)


def _stopped(given: Sequence[str]) -> int:
    import shlex

    from peerexam.cli.output import note

    note("stopped")
    if any(word in _RESUMABLE for word in given):
        note("every answer so far is kept, and none is paid for twice; resume with")
        note("  " + shlex.join(["peerexam", *given]))
    return STOPPED


def _failed(error: Exception, *, debug: bool) -> int:
    from peerexam.cli.output import note, note_traceback, plain
    from peerexam.errors import BudgetReachedError, NoStandingsError, PeerexamError, SetupError
    from peerexam.runfolder.refusals import complaint

    if debug:
        note_traceback(error)
    if isinstance(error, OSError) and (said := complaint(error)) is not None:
        note(f"peerexam: {said}")
        return BAD_SETUP
    if isinstance(error, PeerexamError | OSError):
        note(plain(f"peerexam: {error}"))
    else:
        hint = "" if debug else " (this is a fault of peerexam; --debug shows where)"
        note(f"peerexam: {type(error).__name__}: {error}{hint}")
    if isinstance(error, SetupError):
        return BAD_SETUP
    if isinstance(error, NoStandingsError):
        return NO_STANDINGS
    return PARTIAL if isinstance(error, BudgetReachedError) else FAILED
