"""What the questions are, as bars (examiner paper, Table 1 and Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.report.figures.axis import WIDTH
from peerexam.report.numbers import percent
from peerexam.report.run.benchmarks import DOMAINS_SHOWN, LEVELS, benchmark_of
from peerexam.report.run.conclusion import Standings


@dataclass(frozen=True, slots=True)
class ShareBar:
    """One bar; `width` is its length in SVG units."""

    name: str
    count: str
    share: str
    width: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts of one kind; `first` heads the column of names."""

    title: str
    first: str
    bars: tuple[ShareBar, ...]


def profile_bars(standings: Standings) -> list[Bars]:
    """Question words, first-level domains and levels, where there is anything to show."""
    made_of = benchmark_of(standings).get("questions") or {}
    total = made_of.get("total") or 0
    if not total:
        return []
    levels = [{**row, "level": LEVELS.get(row["level"], row["level"])}
              for row in made_of.get("levels") or []]  # fmt: skip
    classified = sum(row["count"] for row in levels)
    if classified and classified < total:
        levels.append({"level": "not classified", "count": total - classified})
    found = [
        _bars("Questions by cognitive level", "Level", levels if classified else [], total),
        _bars("Questions by first question word", "Word", made_of.get("words") or [], total),
        _bars("Questions by first-level domain", "Domain", made_of.get("domains") or [], total),
    ]
    return [bars for bars in found if bars.bars]


def _bars(title: str, first: str, rows: Sequence[Mapping[str, Json]], total: int) -> Bars:
    key = first.lower()
    shown = rows[:DOMAINS_SHOWN]
    longest = max((row["count"] for row in shown), default=0) or 1
    bars = tuple(
        ShareBar(
            row[key],
            f"{row['count']:,}",
            percent(row["count"] / total, 1),
            round(WIDTH * row["count"] / longest, 1),
        )
        for row in shown
    )
    return Bars(title, first, bars)
