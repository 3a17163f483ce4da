"""Reading JSONL as it is left by runs that were killed, and by other programs.

Only the newline byte ends a record. Every other line separator of Unicode (U+2028, U+2029, U+0085,
vertical tab, form feed) is legal inside a JSON string and occurs in what models write.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NoReturn

from peerexam.calls import Json
from peerexam.errors import RecordFileError
from peerexam.fast_json import decode_array

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 18
"""Bytes decoded at a time."""

_BETWEEN = 2**53 + 1
"""Put between lines that are decoded at once: no float is equal to it, so it has one spelling."""


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
    for numbers, bodies in read_blocks(path):
        yield from zip(numbers, bodies, strict=True)


def read_blocks(
    path: Path, keep: Callable[[bytes], bool] | None = None
) -> Iterator[tuple[Sequence[int], list[dict[str, Json]]]]:
    """The same in blocks of line numbers and objects, for those who go through very many.

    Args:
        path: The file.
        keep: Which lines to read, by their bytes; the others are skipped unread, damaged or
            not. None reads all.
    """
    first = 1
    with path.open("rb") as file:
        while lines := file.readlines(_BLOCK):
            if first == 1:
                lines[0] = lines[0].removeprefix(_BOM)
            numbers: Sequence[int] = range(first, first + len(lines))
            first += len(lines)
            if keep is not None:
                flags = list(map(keep, lines))
                numbers, lines = list(compress(numbers, flags)), list(compress(lines, flags))
            bodies = _decode_together(lines) if lines else []
            if bodies is None:
                yield from _read_one_by_one(lines, numbers, path)
            else:
                yield numbers, bodies


def _decode_together(lines: Sequence[bytes]) -> list[dict[str, Json]] | None:
    """What lines hold, each one object; None where any of them is not just that."""
    between = b"%d" % _BETWEEN
    text = b"[" + (b",%s," % between).join(lines) + b"]"
    if text.count(between) != len(lines) - 1:
        return None
    try:
        found = decode_array(text)
    except ValueError:
        return None
    # Two broken lines may make one object: they then hold what stands between them.
    bodies, separators = found[::2], found[1::2]
    apart = separators == [_BETWEEN] * (len(lines) - 1)
    return bodies if apart and set(map(type, bodies)) == {dict} else None


def _read_one_by_one(
    lines: Sequence[bytes], at: Sequence[int], path: Path
) -> Iterator[tuple[Sequence[int], list[dict[str, Json]]]]:
    numbers: list[int] = []
    bodies: list[dict[str, Any]] = []
    for number, line in zip(at, lines, strict=True):
        if not line.strip():
            continue
        try:
            body = parse_line(line)
        except ValueError as error:
            yield numbers, bodies
            if line.endswith(b"\n"):
                raise RecordFileError(
                    f"{error}; fix or remove the line, nothing after it was read", path, number
                ) from error
            warn_of_torn_tail(path, number)
            return
        numbers.append(number)
        bodies.append(body)
    yield numbers, bodies


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
    """Warn of a last line that was cut off."""
    warnings.warn(
        f"{path}:{number}: the last line was cut off in mid-write and is left out",
        TornTailWarning,
        stacklevel=3,
    )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Made once: `json.loads` with an option makes a decoder for every line.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
