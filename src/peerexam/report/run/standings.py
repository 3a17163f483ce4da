"""The standings' tables, ready to print: text, and places on an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.report.figures.axis import Axis, Bar, axis_over
from peerexam.report.numbers import decimal, percent, rank_interval, span
from peerexam.report.run.conclusion import METHODS, Standings, uncompared


@dataclass(frozen=True, slots=True)
class StandingRow:
    """One agent's line."""

    agent: str
    variant_of: str | None
    rank: str
    ranks: str
    tier: str
    is_first_of_tier: bool
    score: str
    interval: str
    bar: Bar | None
    full_mark: str
    win_rate: str
    questions: str


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One agent's rank by each voting rule; a rule that was not used is a dash."""

    agent: str
    ranks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a matrix.

    Attributes:
        text: What it says.
        count: On how many comparisons (a question by one judge), or answers, it rests.
        shade: 0 to 10, from lost to won; None where there is no value.
    """

    text: str
    count: str
    shade: int | None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of cells with a name for each row and column.

    Attributes:
        averages: A row's mean over the cells that have a value (examiner paper, Figure 4).
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    averages: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""
        return all(cell.shade is None for row in self.cells for cell in row)


@dataclass(frozen=True, slots=True)
class FullMarkRow:
    """One examinee's percentages, a cell a judge, and the paper's two means."""

    agent: str
    cells: tuple[Cell, ...]
    avg: str
    avg_weight: str


def standing_axis(standings: Standings) -> Axis:
    """The scale on which all scores and their intervals fit."""
    keys = ("score", "score_low", "score_high")
    return axis_over(row.get(key) for row in standings.get("standings", []) for key in keys)


def standing_rows(standings: Standings) -> list[StandingRow]:
    """The standings, best first; a star at the rank of those that were not compared with all."""
    axis = standing_axis(standings)
    held = standings.get("standings", [])
    several = len({row.get("group", 1) for row in held}) > 1
    starred = {name for pair in uncompared(standings) for name in pair}
    rows: list[StandingRow] = []
    for row in held:
        tier = f"{row['tier']} of group {row['group']}" if several else str(row["tier"])
        rows.append(
            StandingRow(
                agent=row["agent"],
                variant_of=row.get("variant_of"),
                rank=f"{row['rank']}{'*' if row['agent'] in starred else ''}",
                ranks=rank_interval(row["rank_low"], row["rank_high"]),
                tier=tier,
                is_first_of_tier=bool(rows) and rows[-1].tier != tier,
                score=decimal(row.get("score"), 3),
                interval=span(decimal(row.get("score_low"), 3), decimal(row.get("score_high"), 3)),
                bar=axis.bar(row.get("score"), row.get("score_low"), row.get("score_high")),
                full_mark=decimal(row.get("full_mark"), 1),
                win_rate=percent(row.get("win_rate"), 1),
                questions=str(row.get("questions", 0)),
            )
        )
    return rows


def method_rows(standings: Standings) -> tuple[list[str], list[MethodRow]]:
    """Names of the voting rules that were used, and every agent's rank by each."""
    by_method = (standings.get("voting") or {}).get("by_method") or {}
    used = [name for name in METHODS if by_method.get(name)]
    ranks = {name: {row["agent"]: str(row["rank"]) for row in by_method[name]} for name in used}
    rows = [
        MethodRow(row["agent"], tuple(ranks[name].get(row["agent"], "–") for name in used))
        for row in standings.get("standings", [])
    ]
    return [METHODS[name] for name in used], rows


def win_matrix(title: str, agents: Sequence[str], tables: Mapping[str, Json], kind: str) -> Matrix:
    """One win-rate matrix (`kind`: `direct` or `implied`) with its counts."""
    return _matrix(title, agents, agents, tables.get(kind), tables.get(f"{kind}_counts"), 100.0)


def win_matrices(standings: Standings) -> tuple[list[Matrix], list[Matrix]]:
    """The pooled matrices, and those of every judge."""
    tables = standings.get("win_rates") or {}
    agents = tables.get("agents") or []
    best_first = _best_first(standings, agents)
    pooled = [
        win_matrix("Side by side before a judge", agents, tables, "direct"),
        win_matrix("Implied by the judges' rankings", agents, tables, "implied"),
    ]
    singles = [
        win_matrix(f"{judge}: {label}", agents, single, kind)
        for judge, single in (tables.get("per_judge") or {}).items()
        for kind, label in (("direct", "side by side"), ("implied", "implied by its rankings"))
    ]
    return (
        [_reordered(matrix, best_first) for matrix in pooled if not matrix.is_empty],
        [_reordered(matrix, best_first) for matrix in singles if not matrix.is_empty],
    )


def _best_first(standings: Standings, agents: Sequence[str]) -> list[int]:
    """Places of the agents in the order of the standings, those without a place last."""
    at = {row["agent"]: place for place, row in enumerate(standings.get("standings", []))}
    return sorted(range(len(agents)), key=lambda item: at.get(agents[item], len(at)))


def _reordered(matrix: Matrix, order: Sequence[int]) -> Matrix:
    names = tuple(matrix.rows[item] for item in order)
    cells = tuple(tuple(matrix.cells[row][column] for column in order) for row in order)
    averages = tuple(matrix.averages[item] for item in order)
    return Matrix(matrix.title, names, names, cells, averages)


def full_mark_rows(standings: Standings) -> tuple[list[str], list[FullMarkRow]]:
    """The judges, and for each examinee the percentage of full marks each of them gave."""
    table = standings.get("full_marks") or {}
    judges = table.get("judges") or []
    matrix = _matrix(
        "", table.get("examinees") or [], judges, table.get("percent"), table.get("counts"), 1.0, 1
    )
    means = {row["agent"]: row for row in standings.get("standings", [])}
    rows = [
        FullMarkRow(
            agent,
            cells,
            decimal(means.get(agent, {}).get("avg"), 1),
            decimal(means.get(agent, {}).get("avg_weight"), 1),
        )
        for agent, cells in zip(matrix.rows, matrix.cells, strict=True)
    ]
    return list(judges), rows if not matrix.is_empty else []


def _matrix(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Json,
    counts: Json,
    scale: float,
    digits: int = 0,
) -> Matrix:
    cells = tuple(
        tuple(
            _cell(_at(values, row, column), _at(counts, row, column), scale, digits)
            for column in range(len(columns))
        )
        for row in range(len(rows))
    )
    averages = tuple(_average(values[row] if values else (), scale) for row in range(len(rows)))
    return Matrix(title, tuple(rows), tuple(columns), cells, averages)


def _average(values: Sequence[float | None], scale: float) -> str:
    known = [value for value in values if value is not None]
    return decimal(scale * sum(known) / len(known) if known else None, 1)


def _at(table: Json, row: int, column: int) -> Json:
    return table[row][column] if table else None


def _cell(value: float | None, count: float | None, scale: float, digits: int) -> Cell:
    if value is None:
        return Cell("–", "", None)
    per_cent = value * scale
    shade = min(max(round(per_cent / 10), 0), 10)
    return Cell(decimal(per_cent, digits), "" if count is None else f"{count:g}", shade)
