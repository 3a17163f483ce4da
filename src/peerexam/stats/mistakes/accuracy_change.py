"""What backtracking does to the accuracy of answers (BIG-Bench Mistake, §4.1, Table 6).

Traces are split by whether their original answer was right. Of those where it was, some are lost
(Δaccuracy✓, never above 0); of those where it was not, some are gained (Δaccuracy✗, never below 0).
What it comes to over all traces depends on how many were right to begin with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson_share

_SHARE = "share of traces; Wilson interval"
_SUM = "weighted sum; interval recovered from those of its parts (Newcombe, MOVER)"


@dataclass(frozen=True, slots=True)
class Change:
    """Both halves of a row of Table 6.

    Attributes:
        correct: Δaccuracy✓, −losses / n.
        incorrect: Δaccuracy✗, gains / n.
    """

    correct: Estimate
    incorrect: Estimate

    def mixture(self, original: float) -> Estimate:
        """The accuracy afterwards of a task whose original accuracy is given.

        `a·(1 + Δ✓) + (1 − a)·Δ✗`. The paper's example, losses 3/45 and gains 112/255:

        >>> example = change_from_counts(3, 45, 112, 255)
        >>> [round(100 * example.mixture(a).value, 1) for a in (0.5, 0.99)]
        [68.6, 92.8]

        Raises:
            StatisticsError: `original` is no share.
        """
        if not 0 <= original <= 1:
            raise StatisticsError("an original accuracy lies between 0 and 1")
        parts = [(original, self.correct), (1 - original, self.incorrect)]
        return _weighted([one for one in parts if one[0] > 0], original)

    @property
    def break_even(self) -> float | None:
        """The original accuracy above which backtracking costs more than it gains.

        None where it neither costs nor gains, or where that is not known.
        """
        losses, gains = self.correct.value, self.incorrect.value
        if losses is None or gains is None or gains - losses <= 0:
            return None
        return gains / (gains - losses)


def change_from_counts(losses: int, correct: int, gains: int, incorrect: int) -> Change:
    """From counts of traces.

    Args:
        losses: Right before, wrong afterwards.
        correct: Right before.
        gains: Wrong before, right afterwards.
        incorrect: Wrong before.

    Raises:
        StatisticsError: More were lost or gained than there are.
    """
    if not 0 <= losses <= correct or not 0 <= gains <= incorrect:
        raise StatisticsError("no more traces can be lost or gained than there are")
    lost = _share(losses, correct, "no trace had a right answer")
    return Change(_negative(lost), _share(gains, incorrect, "no trace had a wrong answer"))


def mean_of(parts: list[Estimate]) -> Estimate:
    """The unweighted mean of independent estimates, one a task.

    Those without a value are passed over, and the method then says of how many tasks it is the
    mean. `left_out` counts traces, as it does in the parts.
    """
    known = [one for one in parts if one.value is not None]
    lost = sum(one.left_out for one in parts)
    if not known:
        return Estimate(None, reason="no task has a value", left_out=lost, method=_SUM)
    found = _weighted([(1 / len(known), one) for one in known], 0.0)
    some = f"; {len(known)} of {len(parts)} tasks" if len(known) < len(parts) else ""
    return replace(found, left_out=lost, method=f"{_SUM}{some}")


def _weighted(parts: list[tuple[float, Estimate]], constant: float) -> Estimate:
    count = sum(one.n for _, one in parts)
    if any(one.value is None for _, one in parts):
        reason = next(one.reason for _, one in parts if one.value is None)
        return Estimate(None, n=count, method=_SUM, reason=reason)
    value = constant + sum(weight * float(one.value or 0.0) for weight, one in parts)
    below = above = 0.0
    for weight, one in parts:
        if one.value is None or one.low is None or one.high is None:
            return Estimate(value, n=count, method=_SUM)
        below += (weight * (one.value - one.low)) ** 2
        above += (weight * (one.high - one.value)) ** 2
    return Estimate(value, value - below**0.5, value + above**0.5, n=count, method=_SUM)


def _share(count: int, of: int, reason: str) -> Estimate:
    return wilson_share(count, of, method=_SHARE, reason=reason)


def _negative(one: Estimate) -> Estimate:
    if one.value is None or one.low is None or one.high is None:
        return one
    # 0.0 - x rather than -x, which would print a loss of none as -0.0.
    return Estimate(0.0 - one.value, 0.0 - one.high, 0.0 - one.low, n=one.n, method=one.method)
