"""Taxonomies as tables and plain lists: a category a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import RecordFileError
from peerexam.tasks.taxonomy.domain_names import quoted, same_name
from peerexam.tasks.taxonomy.places import Place, bounded, check_depth, check_number

BETWEEN = " > "
"""Between the levels of a path, in plain lists and wherever a path is shown."""


def list_places(text: str, path: Path) -> Iterator[Place]:
    """The places of a plain list, one domain a line; `A > B > C` puts C below A and B.

    Only what a line ends with is a domain: A and B are, where they have lines of their own.
    """
    lines = enumerate(text.split("\n"), start=1)
    found = (Place(n, tuple(line.split(BETWEEN))) for n, line in lines if line.strip())
    return bounded(found, path)


def table_places(text: str, path: Path) -> Iterator[Place]:
    """The places of a CSV (or, by its suffix, TSV) table with a head.

    Columns `name`, and if wanted `id` and `parent` (an id or a name; empty at the first level; a
    category with several parents has several rows). Or `path`, whose levels are separated by `>`
    where any path of the table has one, and by `/` otherwise, and if wanted `id`.

    Raises:
        RecordFileError: No such columns, a parent that is not there, a cycle of parents.
    """
    rows = _read_rows(text, path)
    if rows and "path" in rows[0].cells:
        return bounded(_path_places(rows), path)
    return bounded(_parent_places(rows, path), path)


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: dict[str, str]

    def get(self, column: str) -> str:
        return self.cells.get(column, "").strip()


def _read_rows(text: str, path: Path) -> list[_Row]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        head = [cell.strip().casefold() for cell in next(reader, [])]
        _check_head(head, path)
        rows: list[_Row] = []
        line = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(_Row(line, dict(zip(head, cells, strict=False))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise RecordFileError(f"CSV: {error}", path, max(reader.line_num, 1)) from None
    return rows


def _check_head(head: Sequence[str], path: Path) -> None:
    if "name" not in head and "path" not in head:
        raise RecordFileError(
            "the first line must name the columns: name (with id and parent, if you like), or path",
            path,
            1,
        )


def _path_places(rows: Sequence[_Row]) -> Iterator[Place]:
    separator = ">" if any(">" in row.get("path") for row in rows) else "/"
    for row in rows:
        yield Place(row.line, tuple(row.get("path").split(separator)), row.get("id") or None)


def _parent_places(rows: Sequence[_Row], path: Path) -> Iterator[Place]:
    tree = _ParentTree(rows, path)
    for row in rows:
        yield from tree.places(row)


class _ParentTree:
    """Rows that name their parents, found by id or by name."""

    def __init__(self, rows: Sequence[_Row], path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[_Row]] = {}
        self._places: dict[str, list[tuple[str, ...]]] = {}
        self._ids: set[str] = set()
        self._key_of_name: dict[str, str] = {}
        for row in rows:
            key = self._key(row)
            known = self._rows.setdefault(key, [])
            if row.get("parent") not in [one.get("parent") for one in known]:
                known.append(row)
            self._ids.update({row.get("id")} - {""})
            self._key_of_name.setdefault(same_name(row.get("name")), key)

    def places(self, row: _Row) -> Iterator[Place]:
        """Every place that one row gives its category: one for each place of the parent."""
        for above in self._above(row, (self._key(row),)):
            yield Place(row.line, (*above, row.get("name")), row.get("id") or None)

    def _above(self, row: _Row, chain: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Where a row's parent stands; `chain` are the rows that led here, from below."""
        parent = row.get("parent")
        if not parent:
            return [()]
        key = self._parent_key(parent, row)
        if key is None:
            return [(parent,)]
        if key in chain:
            raise RecordFileError(
                f"{quoted(row.get('name'))} is its own ancestor by way of {quoted(parent)}; mend "
                "the parent of one of them",
                self._path,
                row.line,
            )
        if key not in self._places:
            check_depth(len(chain), self._path, row.line)
            self._places[key] = [
                (*names, above.get("name"))
                for above in self._rows[key]
                for names in self._above(above, (*chain, key))
            ]
        check_number(len(self._places[key]), self._path, row.line)
        return self._places[key]

    def _parent_key(self, parent: str, row: _Row) -> str | None:
        if parent in self._ids:
            return f"id {parent}"
        key = self._key_of_name.get(same_name(parent))
        if key is None and self._ids:
            raise RecordFileError(
                f"no row has the id or the name {quoted(parent)}, which is given as a parent",
                self._path,
                row.line,
            )
        return key

    @staticmethod
    def _key(row: _Row) -> str:
        id_ = row.get("id")
        return f"id {id_}" if id_ else f"name {same_name(row.get('name'))}"
