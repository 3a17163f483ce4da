"""A number that remembers how sure it is and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval.

    Attributes:
        value: None where it is not defined; `reason` then says why. Never NaN.
        low: Lower end of the interval.
        high: Upper end of the interval.
        p: Two-sided p-value of "no effect", where a test was made.
        p_holm: The same after Holm's correction over the family tested together.
        n: On how many units (questions, unless the function says otherwise) this rests.
        left_out: How many units had to be left out.
        method: How value and interval were made.
        reason: Why there is no value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    n: int = 0
    left_out: int = 0
    method: str = ""
    reason: str | None = None
