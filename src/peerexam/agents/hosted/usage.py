"""What a provider reports of a call, as far as it can be true; anything else is unknown.

Budgets and totals add these up, so that one reply's nonsense would be every later sum's.
"""

from __future__ import annotations

from typing import Any

_MOST_TOKENS = 10**9
_MOST_DOLLARS = 1e6


def tokens(value: Any) -> int | None:
    """A count of tokens, None where it is none that one call can have.

    >>> tokens(12), tokens(-1), tokens(10**30), tokens(True), tokens("12")
    (12, None, None, None, None)
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def dollars(value: Any) -> float | None:
    """US dollars, None where it is no amount that one call can cost.

    >>> dollars(0), dollars(0.25), dollars(-1), dollars(float("nan")), dollars(10**400)
    (0.0, 0.25, None, None, None)
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= _MOST_DOLLARS else None
