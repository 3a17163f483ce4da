"""Room for connections: each call in flight is an open file, and a process may open only so many.

Where there is too little, calls fail for want of a connection and the ledger for want of its file,
so the limit is raised as far as the system lets us, and beyond that fewer calls are made at once.
"""

from __future__ import annotations

import logging
import os
import sys

_OWN_USE = 64
"""Files that a run opens beside its connections: the ledger's, the records', libraries'."""

_log = logging.getLogger("peerexam")


def most_at_once(agents: int, at_once: int) -> int:
    """How many calls each of some agents may make at once, `at_once` where there is room.

    Every agent keeps its own connections, so that all of them together need room.

    Args:
        agents: How many agents are asked over connections.
        at_once: Calls that are wanted at once of each.

    Returns:
        From 1 to `at_once`. The process's soft limit on open files is raised where that helps, and
        a warning is logged where it does not.
    """
    if sys.platform == "win32" or not agents:
        return at_once  # sockets are no files there
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    besides = _open_now() + _OWN_USE
    needed = besides + agents * at_once
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return at_once
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    limit = _raised(resource.RLIMIT_NOFILE, wanted, soft, hard)
    if needed <= limit:
        return at_once
    fewer = max(1, (limit - besides) // agents)
    _log.warning(
        "a process may have %d files open here, so each agent makes at most %d calls at once "
        "instead of %d; allow more with `ulimit -n %d`",
        limit,
        fewer,
        at_once,
        needed,
    )
    return fewer


def _raised(kind: int, wanted: int, soft: int, hard: int) -> int:
    """The soft limit after an attempt to raise it."""
    import resource

    try:
        resource.setrlimit(kind, (max(wanted, soft), hard))
    except (OSError, ValueError):
        return soft  # the kernel's own limit may be below the hard one, as on macOS
    return max(wanted, soft)


def _open_now() -> int:
    for listing in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(listing))
        except OSError:
            continue
    return _OWN_USE
