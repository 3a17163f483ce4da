"""The scale that intervals are drawn on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from peerexam.report.numbers import decimal

WIDTH = 220
"""Of a drawing, in SVG units."""

_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis with its label."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval, as SVG coordinates.

    Attributes:
        x: Of the estimate.
        x_low: Of the interval's lower end.
        x_high: Of its upper end.
    """

    x: float
    x_low: float
    x_high: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from `low` to `high` over `WIDTH` units.

    Attributes:
        factor: Labels show values times this: 100 for shares that stand there in per cent.
    """

    low: float
    high: float
    factor: float = 1.0

    def x(self, value: float) -> float:
        """Where a value lies; values off the scale lie at its edge."""
        share = (value - self.low) / (self.high - self.low)
        return round(_MARGIN + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _MARGIN), 1)

    def bar(self, value: float | None, low: float | None, high: float | None) -> Bar | None:
        """The drawing of one estimate, None where there is nothing to draw."""
        if value is None:
            return None
        ends = (value if low is None else low, value if high is None else high)
        return Bar(self.x(value), self.x(ends[0]), self.x(ends[1]))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Both ends and the middle, or both ends and zero where zero lies between them."""
        middle = 0.0 if self.low < 0 < self.high else (self.low + self.high) / 2
        return tuple(
            Tick(self.x(value), self._label(value)) for value in (self.low, middle, self.high)
        )

    def _label(self, value: float) -> str:
        return decimal(round(value * self.factor, 2), 2).rstrip("0").rstrip(".")


def axis_over(values: Iterable[float | None], step: float = 0.1) -> Axis:
    """An axis that holds all values, its ends on whole steps.

    >>> axis_over([0.34, 0.71, None])
    Axis(low=0.3, high=0.8, factor=1.0)
    """
    present = [value for value in values if value is not None]
    if not present:
        return Axis(0.0, 1.0)
    low = math.floor(round(min(present) / step, 6)) * step
    high = math.ceil(round(max(present) / step, 6)) * step
    if high - low < step / 2:
        high = low + step
    return Axis(round(low, 6), round(high, 6))


def axis_about_zero(values: Iterable[float | None], step: float = 0.1, factor: float = 1.0) -> Axis:
    """A symmetric axis about zero: for differences, where the sign is the message."""
    reach = max((abs(value) for value in values if value is not None), default=step)
    high = round(max(math.ceil(round(reach / step, 6)), 1) * step, 6)
    return Axis(-high, high, factor)
