"""Reading a YAML, JSON or TOML file as plain values that remember their lines.

The lines are what turns "agents.2.temperature is wrong" into something a person can click on.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from peerexam.calls import Json
from peerexam.errors import ConfigError

Place = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value in it."""

MOST_NODES = 100_000
"""A file that unfolds (by YAML aliases) to more values than this is refused."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's values.

    Attributes:
        value: Plain dicts, lists and scalars.
        lines: Line, counted from 1, of every value and key that has one.
    """

    value: Json
    lines: Mapping[Place, int] = field(default_factory=dict)

    def line(self, place: Sequence[str | int]) -> int | None:
        """The line of a place, or of the nearest thing around it."""
        for end in range(len(place), -1, -1):
            if tuple(place[:end]) in self.lines:
                return self.lines[tuple(place[:end])]
        return None

    def below(self, key: str) -> Document:
        """The same as a mapping with a key: a bare list or a bare entry of one is put under it."""
        if isinstance(self.value, dict) and key in self.value:
            return self
        entries = self.value if isinstance(self.value, list) else [self.value]
        if not all(isinstance(entry, dict) for entry in entries):
            return Document(None)
        above: Place = (key,) if isinstance(self.value, list) else (key, 0)
        lines = {(*above, *place): line for place, line in self.lines.items()}
        return Document({key: entries}, lines)


def read_document(path: Path) -> Document:
    """Read a file by its suffix: `.json`, `.toml`, and YAML for everything else.

    Raises:
        ConfigError: It cannot be read; the message names the line and the remedy.
    """
    text = _read_text(path)
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return _read_toml(text, path)
    if suffix == ".json":
        return _read_json(text, path)
    return _read_yaml(text, path)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError("no such file; `peerexam init` writes one to start from", path) from None
    except IsADirectoryError:
        raise ConfigError("this is a folder; name the file in it", path) from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text; save the file as UTF-8", path, line) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path) from None


def _read_yaml(text: str, path: Path) -> Document:
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return Document(None)
            _check_keys(node, path)
            value = loader.construct_document(node)
            return Document(value, dict(_yaml_lines(node)))
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError("a character that YAML does not allow; delete it", path, line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(_yaml_problem(error), path, mark.line + 1 if mark else None) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"not readable as YAML: {error}", path) from None


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "not readable as YAML"
    remedies = {
        "'\\t'": "indent with spaces, never with tabs",
        "mapping values are not allowed": (
            "put a text that holds ': ' in quotes, and mind the indentation"
        ),
        "but found another document": "leave one document in the file (one '---' at most)",
        "found undefined alias": "put a text that starts with * in quotes",
        "expected <block end>": "indent the entries of one list or mapping alike",
        "expected ',' or": (
            "close the bracket, put commas between entries, and a text with ? or : in quotes"
        ),
        "could not determine a constructor": "leave out the !tag; only plain values are read",
    }
    remedy = next((remedy for sign, remedy in remedies.items() if sign in str(error)), None)
    return f"YAML: {problem}" + (f"; {remedy}" if remedy else "")


def _check_keys(root: yaml.Node, path: Path) -> None:
    """Refuse what the YAML loader would take in silence: doubled keys, cycles, alias bombs."""
    seen = 0
    stack: list[tuple[yaml.Node, frozenset[int]]] = [(root, frozenset())]
    while stack:
        node, around = stack.pop()
        seen += 1
        line = node.start_mark.line + 1
        if id(node) in around:
            raise ConfigError("an alias that holds itself; write the value out", path, line)
        if seen > MOST_NODES:
            raise ConfigError("its aliases unfold to too much; write less", path, line)
        within = around | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            stack.extend((child, within) for child in node.value)
        elif isinstance(node, yaml.MappingNode):
            _refuse_doubles(node, path)
            stack.extend((child, within) for _, child in node.value)


def _refuse_doubles(node: yaml.MappingNode, path: Path) -> None:
    first: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError("a key must be plain text", path, line)
        if key.value in first:
            raise ConfigError(
                f"'{key.value}' is written twice (first in line {first[key.value]}); delete one",
                path,
                line,
            )
        first[key.value] = line


def _yaml_lines(node: yaml.Node, place: Place = ()) -> Iterator[tuple[Place, int]]:
    yield place, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _yaml_lines(child, (*place, index))
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            inner = (*place, key.value)
            yield from _yaml_lines(child, inner)
            yield inner, key.start_mark.line + 1


def _read_json(text: str, path: Path) -> Document:
    def refuse_doubles(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        names = [name for name, _ in pairs]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ConfigError(f"'{twice[0]}' is written twice; delete one", path)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=refuse_doubles)
    except json.JSONDecodeError as error:
        raise ConfigError(f"JSON: {error.msg}", path, error.lineno) from None
    try:
        # JSON is all but a part of YAML, whose reader knows the lines.
        return Document(value, _read_yaml(text.replace("\t", " "), path).lines)
    except ConfigError:
        return Document(value)


_TOML_ERROR_LINE = re.compile(r" \(at line (\d+), column \d+\)")
_TOML_TABLE = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\-]+)\s*\]")
_TOML_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_\-]+)["']?\s*=""")


def _read_toml(text: str, path: Path) -> Document:
    try:
        return Document(tomllib.loads(text), dict(_toml_lines(text)))
    except tomllib.TOMLDecodeError as error:
        found = _TOML_ERROR_LINE.search(str(error))
        problem = _TOML_ERROR_LINE.sub("", str(error))
        raise ConfigError(
            f"TOML: {problem}", path, int(found.group(1)) if found else None
        ) from None


def _toml_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Lines of tables and plain keys; what is nested within one value has that value's line."""
    table: Place = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _TOML_TABLE.match(line):
            name = found.group(2)
            table = tuple(name.split("."))
            if found.group(1) == "[[":
                counts[name] = counts.get(name, -1) + 1
            parent = next((p for p in counts if name == p or name.startswith(p + ".")), None)
            if parent is not None:
                depth = parent.count(".") + 1
                table = (*table[:depth], counts[parent], *table[depth:])
            yield table, number
        elif found := _TOML_KEY.match(line):
            yield (*table, found.group(1)), number
