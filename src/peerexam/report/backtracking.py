"""The page of the curve over reward-model accuracy (BIG-Bench Mistake, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.calls import Json
from peerexam.report.page.study import rendered

PAGE = "curve.html"
WIDTH, HEIGHT = 420, 240

Points = Sequence[Mapping[str, Json]]
"""The table `curve` of a result of backtracking, or the part of it that is one panel."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 20.0, 12.0, 34.0
_CHANGES = ("delta_correct", "delta_incorrect")


@dataclass(frozen=True, slots=True)
class Line:
    """One of the two changes.

    Attributes:
        points: Of the line, as SVG has it.
        band: Round its interval.
        is_dashed: Which of the two it is.
    """

    points: str
    band: str
    is_dashed: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """One agent on one task.

    Attributes:
        agent: Who.
        task: On what.
        lines: The changes that have a value.
        zero: Where no change lies.
        ticks: Heights and labels of the vertical axis.
        shares: Places and labels of the horizontal axis.
        rows: The same in figures.
    """

    agent: str
    task: str
    lines: tuple[Line, ...]
    zero: float
    ticks: tuple[tuple[float, str], ...]
    shares: tuple[tuple[float, str], ...]
    rows: tuple[Mapping[str, Json], ...]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT


@dataclass(frozen=True, slots=True)
class _Scale:
    """From changes to heights."""

    low: float
    high: float

    @classmethod
    def of(cls, rows: Points) -> _Scale:
        ends = [row[name][end] for row in rows for name in _CHANGES for end in ("low", "high")]
        known = [end for end in ends if end is not None]
        return cls(min([-0.1, *known]), max([0.1, *known]))

    def __call__(self, value: float) -> float:
        share = (self.high - value) / (self.high - self.low)
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * share, 1)


def write_curve(folder: Path, points: Points) -> Path:
    """Leave `curve.html` in a folder."""
    path = folder / PAGE
    text = rendered("reward_curve.html.j2", panels=panels(points), width=WIDTH, height=HEIGHT)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def panels(points: Points) -> list[Panel]:
    """A panel for each agent and task, in the order of the points."""
    groups: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for point in points:
        groups.setdefault((point["agent"], point["task"]), []).append(point)
    return [_panel(agent, task, rows) for (agent, task), rows in groups.items()]


def _panel(agent: str, task: str, rows: Points) -> Panel:
    y = _Scale.of(rows)
    lines = [_line(rows, name, y) for name in _CHANGES]
    return Panel(
        agent,
        task,
        tuple(line for line in lines if line.points),
        y(0.0),
        tuple((y(value), f"{100 * value:.0f}") for value in (y.low, 0.0, y.high)),
        tuple((_x(tenths / 10), f"{tenths * 10}") for tenths in range(0, 11, 2)),
        tuple(
            {
                "accuracy": f"{100 * row['accuracy_rm']:.0f}",
                "changes": [_figures(row[name]) for name in _CHANGES],
            }
            for row in rows
        ),
    )


def _line(rows: Points, name: str, y: _Scale) -> Line:
    known = [row for row in rows if row[name]["value"] is not None]

    def joined(of: Points, end: str) -> list[str]:
        return [f"{_x(row['accuracy_rm'])},{y(row[name][end])}" for row in of]

    around = [*joined(known, "low"), *joined(known[::-1], "high")]
    return Line(" ".join(joined(known, "value")), " ".join(around), name == _CHANGES[0])


def _figures(one: Mapping[str, Json]) -> dict[str, Json]:
    if one["value"] is None:
        return {"value": "none", "interval": "", "n": one["n"]}
    return {
        "value": f"{100 * one['value']:+.2f}",
        "interval": f"{100 * one['low']:+.2f} to {100 * one['high']:+.2f}",
        "n": one["n"],
    }


def _x(share: float) -> float:
    return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * share, 1)
