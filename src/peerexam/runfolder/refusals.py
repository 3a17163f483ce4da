"""What the file system refuses, in one line that names the file and the fix."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peerexam.errors import SetupError

_NO_RIGHT = "make it writable, or choose another place"
_IN_THE_WAY = "choose another place"
_NO_ROOM = "make room on the disk and run the same command again"
_FIXES = {
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: _NO_RIGHT,
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: _NO_ROOM,
    errno.EIO: "the disk failed: fix it, or choose another place",
    errno.EEXIST: _IN_THE_WAY,
    errno.EISDIR: _IN_THE_WAY,
    errno.ENOTDIR: "a file is where a folder should be: choose another place",
    errno.ENOTEMPTY: _IN_THE_WAY,
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its links lead in a circle: choose another place",
    errno.ENOENT: "check the path",
    errno.EMFILE: "let this process open more files (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: close some",
}


def complaint(error: OSError, path: Path | str | None = None) -> str | None:
    """A refusal in our words; None where it is not about a file.

    Args:
        error: What was raised.
        path: The file, where the error does not name it.
    """
    fix = _FIXES.get(error.errno or 0)
    named = path if path is not None else error.filename
    if fix is None or named is None:
        return None
    shown = str(named)
    shown = shown if len(shown) <= 300 else f"{shown[:300]}…"
    return f"{shown}: {error.strerror}; {fix}"


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Name the file where the file system refuses something.

    Raises:
        SetupError: It does.
    """
    try:
        yield
    except OSError as error:
        said = complaint(error, path)
        if said is None:
            raise
        raise SetupError(said) from error


def make_folder(path: Path) -> None:
    """Make a folder where it is missing, and see that files can be made in it.

    Raises:
        SetupError: It cannot be made or written to, or is no path at all.
    """
    if "\0" in str(path):
        raise SetupError(f"{str(path)!r} is no path: it holds a NUL character; choose another name")
    draft = path / ".writable.part"
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(b"\n" * 4096)
        finally:
            draft.unlink(missing_ok=True)
