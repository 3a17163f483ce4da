"""Ratings of other tools as marks, in whole numbers and with nothing rescaled in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from peerexam.records import Mark
from peerexam.tasks.importers.collecting import Collected
from peerexam.tasks.rows import Row

_FINEST = 1000


@dataclass(slots=True)
class MarkScale:
    """A source's scale, in the coarsest decimal steps that hold all its scores.

    Attributes:
        full_mark: The source's, or a power of ten times it where scores have decimals.
        lowest: 0, or 1 (in the same steps) where no score is below it.
    """

    full_mark: int
    lowest: int = 1

    def add(self, collected: Collected, scored: Sequence[tuple[Row, Mark, float | None]]) -> None:
        """Add marks with their scores, None for one that the judge did not give.

        A score outside the scale is no mark: it is unparsed, with the score as the reason, and
        counted in what the import says. It is never moved to the scale's end.

        Raises:
            RecordFileError: A judge gave two marks to one answer.
        """
        inside = [(row, *self._within(mark, score)) for row, mark, score in scored]
        outside = sum(now is not None for _, _, now in scored)
        outside -= sum(now is not None for _, _, now in inside)
        if outside:
            collected.left_out.append(
                f"{outside} marks outside the scale of 0 to {self.full_mark}, which are unparsed"
            )
        scores = [score for _, _, score in inside if score is not None]
        steps = 1
        while steps < _FINEST and any(abs(s * steps - round(s * steps)) > 1e-9 for s in scores):
            steps *= 10
        if steps > 1:
            collected.notes.append(
                f"Marks have decimals and are kept in steps of 1/{steps}: the full mark "
                f"{self.full_mark} stands as {self.full_mark * steps}."
            )
        self.lowest = steps if all(score >= 1 for score in scores) else 0
        self.full_mark *= steps
        for row, mark, score in inside:
            overall = None if score is None else round(score * steps)
            collected.mark(replace(mark, overall=overall), row)

    def _within(self, mark: Mark, score: float | None) -> tuple[Mark, float | None]:
        if score is None or 0 <= score <= self.full_mark:
            return mark, score
        reason = f"{score:g} is outside the scale of 0 to {self.full_mark}"
        return replace(mark, state="unparsed", reason=reason), None
