"""The layouts in which people write lists of questions: JSON, YAML, or one question a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError

Entries = Iterator[tuple[int, Json]]
"""Line numbers, counted from 1, and what stands there: a text, or an object with one."""

_MARKER = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
_BLANK = re.compile(r"[\s,]*")


def json_list(path: Path) -> Entries:
    """Decode a JSON list entry by entry, because only so each one's line is known."""
    text = path.read_text(encoding="utf-8-sig")
    start = re.match(r"\s*\[", text)
    if start is None:
        raise RecordFileError("expected a JSON list of questions", path, 1)
    number, counted, place = 1, 0, _skip(text, start.end())
    while text[place : place + 1] != "]":
        number += text.count("\n", counted, place)  # and never from the start again
        counted = place
        try:
            entry, end = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            line = error.lineno if isinstance(error, json.JSONDecodeError) else number
            raise RecordFileError(f"not JSON: {reason}", path, line) from error
        yield number, entry
        place = _skip(text, end)
    rest = _skip(text, place + 1)
    if rest < len(text):
        line = text.count("\n", 0, rest) + 1
        raise RecordFileError("not JSON: the list ended before this", path, line)


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return place if found is None else found.end()


def yaml_list(path: Path) -> Entries:
    """Read a YAML list; nothing in it is run."""
    import yaml

    loader = yaml.SafeLoader(path.read_text(encoding="utf-8-sig"))
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.SequenceNode):
            raise RecordFileError("expected a YAML list of questions", path, 1)
        for node in root.value:
            yield node.start_mark.line + 1, loader.construct_object(node, deep=True)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise RecordFileError(str(problem), path, 1 if mark is None else mark.line + 1) from error
    finally:
        loader.dispose()


def plain_list(path: Path) -> Entries:
    """Read a text of one question a line, markers dropped where every line has one."""
    text = path.read_text(encoding="utf-8-sig")
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    marked = _all_marked(line for _, line in lines)
    for number, line in lines:
        yield number, _MARKER.sub("", line, count=1) if marked else line


def _all_marked(lines: Iterable[str]) -> bool:
    return all(_MARKER.match(line) for line in lines)
