"""Ratings of other tools as marks, in whole numbers and with nothing rescaled in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from peerexam.records import Mark
from peerexam.tasks.collecting import Collected
from peerexam.tasks.layout_rows import Row

_FINEST = 1000


@dataclass(slots=True)
class MarkScale:
    """A source's scale, in the coarsest decimal steps that hold all its scores.

    Attributes:
        full_mark: The source's, or a power of ten times it where scores have decimals.
    """

    full_mark: int

    def add(self, collected: Collected, scored: Sequence[tuple[Row, Mark, float | None]]) -> None:
        """Add marks with their scores, None for one that the judge did not give.

        Raises:
            RecordFileError: A judge gave two marks to one answer.
        """
        scores = [score for _, _, score in scored if score is not None]
        steps = 1
        while steps < _FINEST and any(abs(s * steps - round(s * steps)) > 1e-9 for s in scores):
            steps *= 10
        if steps > 1:
            collected.notes.append(
                f"Marks have decimals and are kept in steps of 1/{steps}: the full mark "
                f"{self.full_mark} stands as {self.full_mark * steps}."
            )
        self.full_mark *= steps
        for row, mark, score in scored:
            overall = None if score is None else round(score * steps)
            collected.mark(replace(mark, overall=overall), row)
