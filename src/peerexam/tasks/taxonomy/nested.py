"""Taxonomies in YAML and JSON: nested mappings and lists, or objects with `name` and `children`.

Both are read into the same small tree whose parts know their lines, and of JSON, which may be one
line, their paths. A scalar is taken as it is
written, so that the domain `No` stays a name and does not become false.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import yaml

from peerexam.errors import RecordFileError
from peerexam.tasks.taxonomy.places import Place, Step, bounded, check_depth, check_number


@dataclass(slots=True)
class Scalar:
    """A text, a number, or nothing (an empty text)."""

    line: int
    text: str
    at: Step | None = None


@dataclass(slots=True)
class Listing:
    """A list."""

    line: int
    items: list[Tree] = field(default_factory=list)
    at: Step | None = None


@dataclass(slots=True)
class Mapping:
    """A mapping; keys in the order of the file, doubled ones kept."""

    line: int
    pairs: list[tuple[Scalar, Tree]] = field(default_factory=list)
    at: Step | None = None


Tree: TypeAlias = Scalar | Listing | Mapping


def yaml_places(text: str, path: Path) -> Iterator[Place]:
    """The places of a YAML taxonomy.

    Raises:
        RecordFileError: It is not YAML, holds itself, unfolds to too much, or has no such layout.
    """
    return bounded(_places(_yaml_tree(text, path), path), path)


def json_places(text: str, path: Path) -> Iterator[Place]:
    """The places of a JSON taxonomy, like `yaml_places`."""
    return bounded(_places(_json_tree(text, path), path), path)


# From a tree to places


def _places(root: Tree, path: Path) -> Iterator[Place]:
    named = _object_of(root)
    if named is not None:  # one object around everything is the root, and no category
        root = named[2] or Listing(root.line)
    stack: list[tuple[tuple[str, ...], Iterator[tuple[Scalar, str | None, Tree | None]]]] = [
        ((), _children(root, path))
    ]
    while stack:
        above, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            continue
        name, id_, below = child
        here = (*above, name.text)
        yield Place(name.line, here, id_, name.at)
        if below is not None:
            check_depth(len(here), path, name.line)
            stack.append((here, _children(below, path)))


def _children(tree: Tree, path: Path) -> Iterator[tuple[Scalar, str | None, Tree | None]]:
    """Name, id and what stands below, of everything that stands directly in a part of the tree."""
    if isinstance(tree, Mapping):
        for key, below in tree.pairs:
            yield key, None, below
        return
    items = tree.items if isinstance(tree, Listing) else [tree] if tree.text else []
    for item in items:
        if isinstance(item, Listing):
            where = "" if item.at is None else f" ({item.at})"
            raise RecordFileError(
                f"a list within a list has no name{where}; put it below one", path, item.line
            )
        named = (item, None, None) if isinstance(item, Scalar) else _object_of(item)
        if named is not None:
            yield named
        else:
            yield from _children(item, path)


def _object_of(tree: Tree) -> tuple[Scalar, str | None, Tree | None] | None:
    """Name, id and children of an object with a `name`; None for any other part."""
    if not isinstance(tree, Mapping):
        return None
    parts = {key.text: value for key, value in reversed(tree.pairs)}
    name, id_ = parts.get("name"), parts.get("id")
    if not isinstance(name, Scalar):
        return None
    return name, id_.text or None if isinstance(id_, Scalar) else None, parts.get("children")


# YAML


def _yaml_tree(text: str, path: Path) -> Tree:
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        return Listing(1) if node is None else _from_yaml(node, path)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RecordFileError(
            "a control character that YAML does not allow; delete it", path, line
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise RecordFileError(f"YAML: {error.problem or 'not readable'}", path, line) from None
    except RecursionError:
        raise RecordFileError("nested too deeply; write a flatter taxonomy", path, 1) from None
    finally:
        if loader is not None:
            loader.dispose()


def _from_yaml(root: yaml.Node, path: Path) -> Tree:
    """A YAML document as a tree; aliases are unfolded, and what they bring is counted."""
    result: list[Tree] = []
    stack: list[tuple[yaml.Node, frozenset[int], list[Tree] | Mapping, Scalar | None]] = [
        (root, frozenset(), result, None)
    ]
    seen = 0
    while stack:
        node, around, into, key = stack.pop()
        seen += 1
        line = node.start_mark.line + 1
        if id(node) in around:
            raise RecordFileError("an alias that holds itself; write the value out", path, line)
        check_number(seen // 2, path, line)  # a place is one to four values
        tree = _yaml_part(node, line)
        if isinstance(into, Mapping):
            into.pairs.append((key or Scalar(line, ""), tree))
        else:
            into.append(tree)
        within = around | {id(node)}
        if isinstance(node, yaml.SequenceNode) and isinstance(tree, Listing):
            stack.extend((child, within, tree.items, None) for child in reversed(node.value))
        elif isinstance(node, yaml.MappingNode) and isinstance(tree, Mapping):
            stack.extend(
                (value, within, tree, _yaml_key(name, path)) for name, value in reversed(node.value)
            )
    return result[0]


def _yaml_part(node: yaml.Node, line: int) -> Tree:
    if isinstance(node, yaml.SequenceNode):
        return Listing(line)
    if isinstance(node, yaml.MappingNode):
        return Mapping(line)
    return Scalar(line, "" if node.tag == "tag:yaml.org,2002:null" else node.value)


def _yaml_key(node: yaml.Node, path: Path) -> Scalar:
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode):
        raise RecordFileError("a key must be plain text", path, line)
    return Scalar(line, node.value)


# JSON

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{},:"]+')


def _json_tree(text: str, path: Path) -> Tree:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordFileError(f"JSON: {error.msg}", path, error.lineno) from None
    except RecursionError:
        raise RecordFileError("nested too deeply; write a flatter taxonomy", path, 1) from None
    # It is JSON. Only its tokens are gone through again, because only so the lines are known.
    result = Listing(1)
    open_parts: list[Listing | Mapping] = [result]
    keys: list[Scalar | None] = [None]
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, token.start()), token.start()
        word = token.group()
        if word in "]}":
            open_parts.pop()
            keys.pop()
            continue
        around, key = open_parts[-1], keys[-1]
        if isinstance(around, Listing):
            inner = around is not result  # what is read has no step of its own
            part = _json_part(word, line, Step(around.at, len(around.items)) if inner else None)
            around.items.append(part)
        elif key is None:
            name = json.loads(word)
            keys[-1] = Scalar(line, name, Step(around.at, name))
            continue
        else:
            part = _json_part(word, line, key.at)
            around.pairs.append((key, part))
            keys[-1] = None
        if not isinstance(part, Scalar):
            open_parts.append(part)
            keys.append(None)
    return result.items[0]


def _json_part(word: str, line: int, at: Step | None) -> Tree:
    if word == "[":
        return Listing(line, at=at)
    if word == "{":
        return Mapping(line, at=at)
    if word.startswith('"'):
        return Scalar(line, json.loads(word), at)
    return Scalar(line, "" if word == "null" else word, at)
