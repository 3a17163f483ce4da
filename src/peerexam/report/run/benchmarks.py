"""The benchmark's tables, ready to print (examiner paper, §4.2 and appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.report.numbers import MISSING, counted, decimal, signed, span
from peerexam.report.run.conclusion import Standings

LEVELS = {
    "memorization": "Memorization",
    "comprehension": "Comprehension",
    "analysis": "Analysis",
}
"""The cognitive levels with their names as people read them, the lowest first."""

DOMAINS_SHOWN = 30
"""Domains that have a row on the page; `standings.json` has more."""

Cell = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ShownCell:
    """One cell.

    Attributes:
        text: What it says; of variants without and with examples both, parted by a slash.
        notes: Interval and number of answers, one for each part.
        shade: 0 to 10, from nothing to all; None where there is no value.
    """

    text: str
    notes: tuple[str, ...]
    shade: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    `names` are two for variants of one model that stand together, and none for a mean over rows.
    """

    names: tuple[str, ...]
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows.

    Attributes:
        paired: Whether some row shows a model without and with examples.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def paired(self) -> bool:
        """Whether some row shows a model without and with examples."""
        return any(len(row.names) > 1 for row in self.rows)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of Table 3: its key, its name, and a cell an examinee."""

    key: str
    title: str
    cells: Sequence[Cell]


def benchmark_of(standings: Standings) -> Mapping[str, Json]:
    """The object `benchmark`, empty in standings that are older than it."""
    return standings.get("benchmark") or {}


def has_levels(standings: Standings) -> bool:
    """Whether there is anything to say by cognitive level."""
    return any(column.key in LEVELS for column in table_3_columns(standings))


def table_3_columns(standings: Standings) -> list[Column]:
    """The columns of Table 3 that have a value: all, the levels, and the later rounds."""
    found = benchmark_of(standings)
    single = found.get("single") or {}
    columns = [Column("all", "All", single.get("all") or [])]
    columns += [
        Column(row["level"], LEVELS.get(row["level"], row["level"]), row["cells"])
        for row in single.get("levels") or []
    ]
    multi = found.get("multi") or []
    for row in multi:
        title = "Multi" if len(multi) == 1 else f"Multi, round {row['round']}"
        columns.append(Column(f"round_{row['round']}", title, row["cells"]))
    return [column for column in columns if any(has_value(cell) for cell in column.cells)]


def table_3(standings: Standings) -> Table | None:
    """Percentages of full-mark answers; None where nobody marked anything."""
    columns = table_3_columns(standings)
    if not columns:
        return None
    rows = [
        Row(names, tuple(_shown([column.cells[at] for at in places]) for column in columns))
        for names, places in _lines(standings)
    ]
    return Table(tuple(column.title for column in columns), tuple(rows))


def aspect_table(standings: Standings) -> Table | None:
    """Mean scores on every aspect in per cent of the best score; None where there are none."""
    aspects = _aspects(standings)
    if not aspects:
        return None
    rows = [
        Row((name,), tuple(_shown([row["cells"][at]]) for row in aspects))
        for name, at in ordered(standings)
    ]
    return Table(tuple(row["aspect"] for row in aspects), tuple(rows))


def aspect_series(
    standings: Standings,
) -> tuple[list[str], list[tuple[str, list[float | None]]]]:
    """The aspects, and every examinee's mean scores on them, for a drawing."""
    aspects = _aspects(standings)
    return [row["aspect"] for row in aspects], [
        (name, [row["cells"][at].get("percent") for row in aspects])
        for name, at in ordered(standings)
    ]


def _aspects(standings: Standings) -> list[Mapping[str, Json]]:
    return [
        row
        for row in benchmark_of(standings).get("aspects") or []
        if any(has_value(cell) for cell in row["cells"])
    ]


def domain_table(standings: Standings) -> Table | None:
    """Full-mark answers by first-level domain: a row a domain, a column an examinee (Figure 8)."""
    domains = (benchmark_of(standings).get("single") or {}).get("domains") or []
    names = ordered(standings)
    rows = [
        Row((row["domain"],), tuple(_shown([row["cells"][at]]) for _, at in names))
        for row in domains[:DOMAINS_SHOWN]
    ]
    if not any(cell.shade is not None for row in rows for cell in row.cells):
        return None
    return Table(tuple(name for name, _ in names), tuple(rows))


def domains_hidden(standings: Standings) -> int:
    """How many first-level domains the page has no row for."""
    single = benchmark_of(standings).get("single") or {}
    rows: int = len(single.get("domains") or [])
    left_out: int = single.get("domains_left_out") or 0
    return max(rows - DOMAINS_SHOWN, 0) + left_out


def gain_table(standings: Standings) -> Table | None:
    """Relative gains from five examples, a row a pair, the mean below; None without pairs."""
    found = benchmark_of(standings).get("few_shot") or {}
    pairs = found.get("pairs") or []
    if not pairs:
        return None
    columns = tuple("All" if g["level"] == "all" else LEVELS[g["level"]] for g in found["mean"])
    rows = [Row((p["zero"], p["five"]), tuple(map(_gain, p["gains"]))) for p in pairs]
    if len(pairs) > 1:
        rows.append(Row((), tuple(map(_gain, found["mean"]))))
    return Table(columns, tuple(rows))


def ordered(standings: Standings) -> list[tuple[str, int]]:
    """The examinees with their places in the cells, in the order of the standings."""
    names = benchmark_of(standings).get("examinees") or []
    rank = {row["agent"]: at for at, row in enumerate(standings.get("standings") or [])}
    return sorted(
        ((name, at) for at, name in enumerate(names)), key=lambda one: rank.get(one[0], len(rank))
    )


def has_value(cell: Cell) -> bool:
    """Whether a cell has a percentage."""
    return cell.get("percent") is not None


def _lines(standings: Standings) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Names and places of what shares a line: variants without and with examples, in this order."""
    places = dict(ordered(standings))
    pairs = (benchmark_of(standings).get("few_shot") or {}).get("pairs") or []
    partners = {name: (p["zero"], p["five"]) for p in pairs for name in (p["zero"], p["five"])}
    told: set[str] = set()
    for name in places:
        if name not in told:
            names = partners.get(name, (name,))
            told.update(names)
            yield names, [places[one] for one in names]


def _shown(cells: Sequence[Cell]) -> ShownCell:
    values = [cell.get("percent") for cell in cells]
    if all(value is None for value in values):
        return ShownCell(MISSING, ())
    text = " / ".join(decimal(value, 1) for value in values)
    last = values[-1]
    shade = None if last is None else min(max(round(last / 10), 0), 10)
    return ShownCell(text, tuple(_note(cell) for cell in cells if has_value(cell)), shade)


def _note(cell: Cell) -> str:
    interval = span(decimal(cell.get("low"), 1), decimal(cell.get("high"), 1))
    of = f" of {cell['planned']:,}" if cell["planned"] != cell["n"] else ""
    number = f"n = {cell['n']:,}{of}"
    return number if interval == MISSING else f"{interval}, {number}"


def _gain(gain: Cell) -> ShownCell:
    if gain.get("value") is None:
        return ShownCell(MISSING, (str(gain.get("reason") or ""),))
    interval = span(signed(gain.get("low"), 0), signed(gain.get("high"), 0))
    number = f"n = {gain['n']:,}"
    return ShownCell(
        signed(gain["value"], 0), (number if interval == MISSING else f"{interval}, {number}",)
    )


def selection(standings: Standings) -> str:
    """After which answers follow-ups were asked, in a sentence or two; empty where none were."""
    asked = benchmark_of(standings).get("follow_ups") or {}
    if not asked.get("rounds"):
        return ""
    share, sample = asked.get("share") or 1.0, asked.get("sample")
    which = "full-mark answers"
    if share < 1:
        which = f"a sample of {100 * share:g} % of full-mark answers"
    most = f", at most {sample} a question" if sample else ""
    return f"Follow-ups were asked after {which}{most}. {_at_risk(standings)}".rstrip()


def _at_risk(standings: Standings) -> str:
    correct: dict[int, int] = {}
    answered: dict[int, int] = {}
    for row in standings.get("depth") or []:
        correct[row["round"]] = correct.get(row["round"], 0) + row["correct"]
        answered[row["round"]] = answered.get(row["round"], 0) + row["asked"]
    parts = [
        f"round {number} has {counted(answered[number], 'answer')} after "
        f"{correct[number - 1]:,} correct ones"
        for number in sorted(answered)
        if number - 1 in correct
    ]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""
