"""Table 3 of the examiner paper as text for the terminal and as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.report.grid import grid
from peerexam.report.inert import Cell, csv_text, printable
from peerexam.report.run.benchmarks import (
    benchmark_of,
    has_levels,
    ordered,
    table_3,
    table_3_columns,
)
from peerexam.report.run.conclusion import Standings
from peerexam.report.run.text import write_leaderboard
from peerexam.runfolder import RunFolder

_PARTS = {"": "percent", "_low": "low", "_high": "high", "_answers": "n"}
"""Endings of a column of the CSV file, and what they hold."""


def table_3_text(standings: Standings, width: int | None = None) -> str:
    """Full-mark answers by cognitive level for a terminal; empty where no question has a level.

    Args:
        standings: `standings.json` as it was read.
        width: Columns that the table may take; None lets it be as wide as it is.

    Returns:
        Lines of plain text, control characters made visible, without a newline at the end.
    """
    table = table_3(standings) if has_levels(standings) else None
    if table is None:
        return ""
    head = "Full-mark answers in per cent" + (
        ", without examples / with five" if table.paired else ""
    )
    rows = [
        (printable(" / ".join(row.names)), *(cell.text for cell in row.cells)) for row in table.rows
    ]
    columns = ("examinee", *(printable(name.lower()) for name in table.columns))
    return f"{head}\n\n{grid(columns, rows, range(1, len(columns)), width=width)}"


def table_3_csv(standings: Standings) -> str:
    """Table 3 as CSV, numbers unrounded: a row an examinee, and four columns for each of its own.

    `zero_shot` names the same model without examples, for an examinee that was shown five.
    """
    columns = table_3_columns(standings)
    pairs = (benchmark_of(standings).get("few_shot") or {}).get("pairs") or []
    zero = {pair["five"]: pair["zero"] for pair in pairs}
    heads = ["examinee", "zero_shot"]
    heads += [f"{column.key}{end}" for column in columns for end in _PARTS]
    rows: list[list[Cell]] = [
        [name, zero.get(name), *(_part(column.cells[at], key) for column in columns
                                 for key in _PARTS.values())]
        for name, at in ordered(standings)
    ]  # fmt: skip
    return csv_text(heads, rows)


def _part(cell: Mapping[str, Json], key: str) -> Cell:
    value: Cell = cell.get(key)
    return value


def write_tables(folder: Path, out: Path | None = None) -> list[Path]:
    """Write `leaderboard.md`, `leaderboard.csv`, and where marks were given `table3.csv`.

    Args:
        folder: The run's folder.
        out: Where to; `tables` in the run's folder by default.

    Returns:
        The files.

    Raises:
        SetupError: The folder has no readable standings.
    """
    standings = RunFolder(folder).read_standings()
    target = folder / "tables" if out is None else out
    written = list(write_leaderboard(folder, target))
    if table_3_columns(standings):
        path = target / "table3.csv"
        # A lone surrogate in a name must not stop a table; "?" stands for it.
        path.write_bytes(table_3_csv(standings).encode("utf-8", "replace"))
        written.append(path)
    return written
