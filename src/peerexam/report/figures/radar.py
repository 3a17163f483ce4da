"""A radar of mean scores as SVG coordinates (examiner paper, Figure 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SIZE = 420
"""Width of the drawing in SVG units."""

HEIGHT = 320
MOST_SERIES = 8
"""Lines that one drawing holds: more than eight cannot be told apart."""

_RADIUS = 125.0
_MIDDLE = (SIZE / 2, HEIGHT / 2)


@dataclass(frozen=True, slots=True)
class Spoke:
    """One aspect's axis, from the middle to `x`, `y`, with its label beyond."""

    label: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Ring:
    """One value's line around the middle."""

    points: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Shape:
    """One examinee's line; `style` numbers its colour and dashes."""

    name: str
    style: int
    points: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Radar:
    """The drawing.

    Attributes:
        centre: The value that the middle stands for.
        left_out: Examinees without a line, since one is enough for every colour.
    """

    spokes: tuple[Spoke, ...]
    rings: tuple[Ring, ...]
    shapes: tuple[Shape, ...]
    centre: int
    left_out: int
    width: int = SIZE
    height: int = HEIGHT
    middle: tuple[float, float] = _MIDDLE


def radar(
    aspects: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]]
) -> Radar | None:
    """Place the values of each examinee on the spokes.

    The middle is a round value below all others, since differences near the top would not show on
    a scale from 0.

    Args:
        aspects: Names of the spokes, clockwise from the top.
        series: Names, each with a value an aspect from 0 to 100.

    Returns:
        None with fewer than three aspects, or where nobody has a value on all of them.
    """
    whole = [
        (name, [value for value in values if value is not None])
        for name, values in series
        if all(value is not None for value in values)
    ]
    if len(aspects) < 3 or not whole:
        return None
    least = min(value for _, values in whole for value in values)
    centre = max(10 * math.floor(least / 10) - 10, 0)
    steps = [value for value in range(centre, 101, 10) if value > centre]
    rings = steps if len(steps) <= 5 else steps[1::2]

    def at(spoke: int, value: float) -> tuple[float, float]:
        return _at(spoke / len(aspects), (value - centre) / (100 - centre))

    return Radar(
        tuple(_spoke(label, place / len(aspects)) for place, label in enumerate(aspects)),
        tuple(_ring(value, [at(place, value) for place in range(len(aspects))]) for value in rings),
        tuple(
            _shape(name, style, [at(place, value) for place, value in enumerate(values)])
            for style, (name, values) in enumerate(whole[:MOST_SERIES])
        ),
        centre,
        len(series) - len(whole[:MOST_SERIES]),
    )


def _at(turn: float, share: float) -> tuple[float, float]:
    """A place at so much of a whole turn, clockwise from the top, and so much of the radius."""
    angle = 2 * math.pi * turn
    reach = _RADIUS * share
    return (
        round(_MIDDLE[0] + reach * math.sin(angle), 1),
        round(_MIDDLE[1] - reach * math.cos(angle), 1),
    )


def _spoke(label: str, turn: float) -> Spoke:
    end, text = _at(turn, 1.0), _at(turn, 1.1)
    side = text[0] - _MIDDLE[0]
    anchor = "middle" if abs(side) < 5 else "start" if side > 0 else "end"
    return Spoke(label, *end, text[0], text[1] + 4, anchor)


def _ring(value: int, places: Sequence[tuple[float, float]]) -> Ring:
    return Ring(points_text(places), str(value), places[0][0] + 4, places[0][1] + 4)


def _shape(name: str, style: int, places: Sequence[tuple[float, float]]) -> Shape:
    return Shape(name, style, points_text(places), tuple(places))


def points_text(places: Sequence[tuple[float, float]]) -> str:
    """Places as an SVG polygon takes them.

    >>> points_text([(1.0, 2.5), (3.0, 4.0)])
    '1.0,2.5 3.0,4.0'
    """
    return " ".join(f"{x},{y}" for x, y in places)
