"""A study of trust as text, JSON and CSV. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from peerexam.calls import Json
from peerexam.report.grid import grid
from peerexam.report.inert import Cell, csv_text, printable
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.trust.row import TrustReport, TrustRow

WARNING = (
    "These numbers hold for these answers and these people. A judge is not calibrated for answers "
    "of another kind, and never without labels; read every number with its interval and its n."
)
"""Stands beneath every table."""

NOTHING_TO_HOLD = "No metric and no judge is compared with them: name some with --judges."
"""Stands in place of a table without rows."""

_DECIMALS = 6
_MOST_PEOPLE = 10
"""Pairs of people that a terminal is shown one by one."""

_COLUMNS = ("value", "low", "high", "n")
_TRUST = ("spearman", "kendall", "accuracy", "strict", "three_classes", "macro_f1")
_ORDERS = ("first_order", "swapped", "mean", "agreement", "exact")
_CARD = (
    "human_agreement", "bias", "variance", "spearman", "pearson", "prefer_first", "prefer_longer",
    "people_prefer_longer", "prefer_lists", "people_prefer_lists", "price", "time",
)  # fmt: skip
_CARD_HEADS = (
    "human agreement", "bias", "variance", "Spearman of win rates", "Pearson of win rates",
    "prefers first", "prefers longer", "people prefer longer", "prefers lists",
    "people prefer lists", "$ / 1,000 verdicts", "s / 1,000 verdicts",
)  # fmt: skip


def trust_text(report: TrustReport, width: int | None = None) -> str:
    """The tables for a terminal: Table 2, then both orders, then the report cards.

    Args:
        report: The study.
        width: Columns that the tables may take; None lets them be as wide as they are.

    Returns:
        Lines of plain text, control characters made visible, without a newline at the end.
    """
    parts = [_basis(report), _table_2(report, width) if report.rows else NOTHING_TO_HOLD]
    judges = [row for row in report.rows if row.orders is not None]
    if judges:
        parts.append(_orders(judges, width))
        parts.append(_cards(judges, width))
    parts.extend(f"Note: {printable(note)}." for note in report.notes)
    parts.append(WARNING)
    return "\n\n".join(parts)


def trust_json(report: TrustReport) -> dict[str, Json]:
    """The whole study: estimates as objects, numbers rounded, no NaN."""
    body: dict[str, Json] = _plain(report)
    body["warning"] = WARNING
    return body


def trust_csv(report: TrustReport) -> str:
    """A line a row of the table; value, low, high and n of every estimate in columns."""
    names = [f"{name}_{part}" for name in (*_TRUST, *_ORDERS) for part in _COLUMNS]
    head = ["group", "name", "kind", *names, "human_ties", "judge_ties", "own_pairs", "signature"]
    return csv_text(head, [_csv_row(row) for row in report.rows])


def _csv_row(row: TrustRow) -> list[Cell]:
    estimates: list[Estimate | None] = [
        row.spearman,
        row.kendall,
        row.accuracy.accuracy,
        row.accuracy.strict,
        row.accuracy.three_classes,
        row.accuracy.macro_f1,
        *(None if row.orders is None else getattr(row.orders, name) for name in _ORDERS),
    ]
    numbers: list[Cell] = []
    for one in estimates:
        numbers.extend(None if one is None else _rounded(getattr(one, part)) for part in _COLUMNS)
    counts = [row.accuracy.human_ties, row.accuracy.judge_ties, row.own_pairs]
    return [row.group, row.name, row.kind, *numbers, *counts, row.signature]


def _basis(report: TrustReport) -> str:
    lines = [
        f"{report.source}: {report.questions} questions, {report.rated} answers with a rating, "
        f"{report.pairs} pairs with {report.votes} choices by people"
    ]
    if report.kappa.value is not None:
        lines.append(f"people agree on pairs: Fleiss' kappa {_cell(report.kappa)}")
    lines += _two_by_two(report)
    if report.alpha.value is not None:
        lines.append(f"people agree on ratings: Krippendorff's alpha {_cell(report.alpha)}")
    return "\n".join(lines)


def _two_by_two(report: TrustReport) -> list[str]:
    """Cohen's kappa of every two people, or of many the lowest and the highest."""
    told = [one for one in report.pairwise if one.kappa.value is not None]
    if len(told) > _MOST_PEOPLE:
        ranked = sorted(told, key=lambda one: one.kappa.value or 0.0)
        lines = [f"two by two: Cohen's kappa of {len(told)} pairs of people, lowest and highest:"]
        told = [ranked[0], ranked[-1]]
    else:
        lines = ["two by two: Cohen's kappa"] if told else []
    names = [" and ".join(map(printable, one.people)) for one in told]
    return lines + [f"  {who}: {_cell(one.kappa)}" for who, one in zip(names, told, strict=True)]


def _table_2(report: TrustReport, width: int | None) -> str:
    heads = [
        "",
        "Spearman",
        "Kendall tau-b",
        "accuracy",
        "strict accuracy",
        "three classes",
        "macro-F1",
        "ties, its / people's",
    ]
    rows = []
    for row in report.rows:
        found = row.accuracy
        numbers = (
            row.spearman, row.kendall, found.accuracy, found.strict, found.three_classes,
            found.macro_f1,
        )  # fmt: skip
        rows.append([_name(row), *map(_cell, numbers), f"{found.judge_ties} / {found.human_ties}"])
    kept = [
        place for place in range(len(heads)) if place in (0, len(heads) - 1) or _told(rows, place)
    ]
    return grid([heads[p] for p in kept], [[row[p] for p in kept] for row in rows], width=width)


def _told(rows: Sequence[Sequence[str]], place: int) -> bool:
    return any(row[place] != "-" for row in rows)


def _orders(rows: Sequence[TrustRow], width: int | None) -> str:
    heads = [
        "both orders",
        "right, order 1",
        "right, swapped",
        "mean",
        "same in both",
        "three classes",
    ]
    return grid(
        heads,
        [[_name(row), *(_cell(getattr(row.orders, name)) for name in _ORDERS)] for row in rows],
        width=width,
    )


def _cards(rows: Sequence[TrustRow], width: int | None) -> str:
    heads = ["report card", *_CARD_HEADS, "read"]
    table = [
        [
            _name(row),
            *(_cell(getattr(row.card, name), with_n=False) for name in _CARD),
            "-" if row.card is None else f"{row.card.read} of {row.card.asked}",
        ]
        for row in rows
    ]
    if len(rows) > 4:
        return grid(*_kept(heads, table), width=width)
    # A few judges are read better side by side.
    lines = [[heads[place], *(row[place] for row in table)] for place in range(len(heads))]
    told = [line for line in lines[1:] if any(cell != "-" for cell in line[1:])]
    return grid(lines[0], told, width=width)


def _kept(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    kept = [place for place in range(len(heads)) if _told(rows, place)]
    return [heads[p] for p in kept], [[row[p] for p in kept] for row in rows]


def _name(row: TrustRow) -> str:
    name = printable(row.name)
    return name if row.group is None else f"{printable(row.group)}: {name}"


def _cell(estimate: Estimate, with_n: bool = True) -> str:
    if estimate.value is None:
        return "-"
    digits = 3 if abs(estimate.value) < 100 else 1
    number = f"{estimate.value:.{digits}f}"
    if estimate.low is not None and estimate.high is not None:
        number += f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return f"{number} n={estimate.n}" if with_n else number


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return {
            "value": _rounded(value.value),
            "low": _rounded(value.low),
            "high": _rounded(value.high),
            "n": value.n,
            "left_out": value.left_out,
            "method": value.method,
            "reason": value.reason,
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def _rounded(value: float | int | None) -> float | int | None:
    return round(value, _DECIMALS) if isinstance(value, float) else value
