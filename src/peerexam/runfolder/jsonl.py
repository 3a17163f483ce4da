"""Reading JSONL as it is left by runs that were killed, and by other programs.

Only the newline byte ends a record. Every other line separator of Unicode (U+2028, U+2029, U+0085,
vertical tab, form feed) is legal inside a JSON string and occurs in what models write.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from peerexam.calls import Json
from peerexam.errors import RecordFileError

_BOM = b"\xef\xbb\xbf"


class TornTailWarning(UserWarning):
    """The last line of a file was cut off in mid-write; it was left out."""


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Stream the objects of a JSONL file with their line numbers, counted from 1.

    Blank lines are skipped. A complete last record without a newline is kept; one that was cut off
    is the usual trace of a kill and is left out with a `TornTailWarning`.

    Raises:
        RecordFileError: A line before the last cannot be read.
        FileNotFoundError: There is no such file.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(_BOM) if number == 1 else raw
            if not line.strip():
                continue
            try:
                body = parse_line(line)
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise RecordFileError(
                        f"{error}; mend or remove the line, nothing after it was read", path, number
                    ) from error
                warn_of_torn_tail(path, number)
                return
            yield number, body


def parse_line(line: bytes) -> dict[str, Json]:
    """One line as a JSON object.

    Raises:
        ValueError: It is not UTF-8, not JSON, holds NaN or an infinity, or is not an object.
    """
    try:
        text = line.decode("utf-8").strip(" \t\n\r")
        body, end = _DECODER.raw_decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if not isinstance(body, dict):
        raise ValueError(f"expected a JSON object, found {type(body).__name__}")
    return body


def warn_of_torn_tail(path: Path, number: int) -> None:
    """Tell of a last line that was cut off."""
    warnings.warn(
        f"{path}:{number}: the last line was cut off in mid-write and is left out",
        TornTailWarning,
        stacklevel=3,
    )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Made once: `json.loads` with an option makes a decoder for every line.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
