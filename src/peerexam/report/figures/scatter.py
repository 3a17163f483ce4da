"""Points of the plane as an inline drawing: one colour and shape a class, names where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from peerexam.calls import Json

SIDE = 640
"""Of the drawing, in SVG units."""

COLOURS = 8
"""Classes that have a colour of their own; the others share the last."""

MOST_NAMES = 30
"""Places that are named on the drawing at most."""

_MARGIN = 24
_SHAPES = (
    "M{x:.1f} {y:.1f}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M{x:.1f} {y:.1f}m-3.5-3.5h7v7h-7z",
    "M{x:.1f} {y:.1f}m0-4.6l4.4 7.8h-8.8z",
    "M{x:.1f} {y:.1f}m0-5l5 5-5 5-5-5z",
    "M{x:.1f} {y:.1f}m0 4.6l4.4-7.8h-8.8z",
    "M{x:.1f} {y:.1f}m-1.4-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z",
    "M{x:.1f} {y:.1f}m-2-4.4h4l2.4 4.4-2.4 4.4h-4l-2.4-4.4z",
    "M{x:.1f} {y:.1f}m-5-1.6h10v3.2h-10z",
)


@dataclass(frozen=True, slots=True)
class Dot:
    """One point.

    Attributes:
        path: Of its shape.
        kind: Number of its class, from 0 to `COLOURS` − 1.
        title: What it says when pointed at; to be escaped.
    """

    path: str
    kind: int
    title: str


@dataclass(frozen=True, slots=True)
class Named:
    """A name on the drawing, or in its legend.

    Attributes:
        count: Points that bear it.
        path: Of the legend's shape; empty on the drawing.
    """

    text: str
    x: float = 0.0
    y: float = 0.0
    kind: int = 0
    count: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A drawing, ready for the template."""

    dots: tuple[Dot, ...]
    legend: tuple[Named, ...]
    places: tuple[Named, ...]


def scatter(points: Sequence[Mapping[str, Json]], by: str, places: str) -> Scatter:
    """Lay out points.

    Args:
        points: With `x`, `y`, `text`, and the two below; in the order in which they are drawn.
        by: Which key tells the classes.
        places: Which key's values are named, each in the middle of its points, where there are
            at most `MOST_NAMES`.
    """
    names = sorted({str(point[by]) for point in points})
    kind = {name: min(at, COLOURS - 1) for at, name in enumerate(names)}
    spots = _spots(points)
    dots = tuple(
        Dot(_shape(kind[str(point[by])], x, y), kind[str(point[by])], _title(point))
        for point, (x, y) in zip(points, spots, strict=True)
    )
    legend = tuple(
        Named(
            name,
            kind=kind[name],
            count=sum(str(point[by]) == name for point in points),
            path=_shape(kind[name], 8, 8),
        )
        for name in names
    )
    return Scatter(dots, legend, _places(points, spots, places))


def _spots(points: Sequence[Mapping[str, Json]]) -> list[tuple[float, float]]:
    """Where the points lie on the drawing: one scale for both axes, so that shapes stay true."""
    xs, ys = [float(p["x"]) for p in points], [float(p["y"]) for p in points]
    reach = max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    scale = (SIDE - 2 * _MARGIN) / reach
    middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    half = SIDE / 2
    return [
        (half + (x - middle[0]) * scale, half - (y - middle[1]) * scale)
        for x, y in zip(xs, ys, strict=True)
    ]


def _places(
    points: Sequence[Mapping[str, Json]], spots: Sequence[tuple[float, float]], key: str
) -> tuple[Named, ...]:
    found: dict[str, list[tuple[float, float]]] = {}
    for point, spot in zip(points, spots, strict=True):
        found.setdefault(str(point[key]), []).append(spot)
    if not 1 < len(found) <= MOST_NAMES:
        return ()
    return tuple(
        Named(
            name if len(name) <= 28 else f"{name[:27]}…",
            x=round(median(x for x, _ in held), 1),
            y=round(median(y for _, y in held), 1),
            count=len(held),
        )
        for name, held in sorted(found.items())
    )


def _shape(kind: int, x: float, y: float) -> str:
    return _SHAPES[kind].format(x=x, y=y)


def _title(point: Mapping[str, Json]) -> str:
    return f"{point['set']} · {point['author']} · {point['domain']}\n{point['text']}"
