"""How the share of correct answers goes on by round, as SVG coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerexam.report.figures.radar import MOST_SERIES, points_text
from peerexam.report.run.conclusion import Standings

WIDTH = 420
HEIGHT = 240

LEAST_AT_RISK = 5
"""Answers that a point of a curve rests on at least; of fewer the table has the share."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 20.0, 12.0, 34.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A round or a percentage on its axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One agent's line; `style` numbers its colour and dashes."""

    name: str
    style: int
    points: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing.

    Attributes:
        left_out: Agents without a line, since one is enough for every colour.
    """

    rounds: tuple[Mark, ...]
    shares: tuple[Mark, ...]
    curves: tuple[Curve, ...]
    left_out: int
    width: int = WIDTH
    height: int = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    bottom: float = HEIGHT - _BOTTOM


def depth_curve(standings: Standings, agents: Sequence[str]) -> Chart | None:
    """The curves of the agents, in the order given.

    Returns:
        None where nobody was asked enough in more than one round.
    """
    rates: dict[str, dict[int, float]] = {}
    for row in standings.get("depth") or []:
        if row.get("rate") is not None and row["asked"] >= LEAST_AT_RISK:
            rates.setdefault(row["agent"], {})[row["round"]] = row["rate"]
    last = max((number for found in rates.values() for number in found), default=1)
    if last < 2:
        return None
    deep = [name for name in agents if name in rates]
    drawn = deep[:MOST_SERIES]
    return Chart(
        tuple(Mark(_x(number, last), str(number)) for number in range(1, last + 1)),
        tuple(Mark(_y(share / 100), str(share)) for share in range(0, 101, 25)),
        tuple(_curve(name, style, rates[name], last) for style, name in enumerate(drawn)),
        len(deep) - len(drawn),
    )


def _curve(name: str, style: int, rates: dict[int, float], last: int) -> Curve:
    places = [(_x(number, last), _y(rates[number])) for number in sorted(rates)]
    return Curve(name, style, points_text(places), tuple(places))


def _x(number: int, last: int) -> float:
    share = (number - 1) / (last - 1)
    return round(_LEFT + 10 + share * (WIDTH - _LEFT - _RIGHT - 20), 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM), 1)
