"""Depth by round: how far into a subject each agent's answers stay correct.

Follow-ups are asked only after a correct answer, so a later round's share is among those that got
so far (the number at risk), and an agent is followed along its own chains of questions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.tables import Floats, Ints, Marks
from peerexam.stats.judges.fullmarks import own_marks
from peerexam.stats.pairs.orders import Mask


@dataclass(frozen=True, slots=True)
class DepthRound:
    """One agent in one round.

    Attributes:
        agent: Its name.
        round: 1 for the first questions, 2 and more for follow-ups.
        asked: Answers with a mark: those at risk in this round.
        correct: How many of them are correct.
        rate: correct / asked.
        low: Lower end of Wilson's interval.
        high: Its upper end.
    """

    agent: str
    round: int
    asked: int
    correct: int
    rate: float | None
    low: float | None
    high: float | None


def depth_by_round(
    marks: Marks,
    rounds: Ints,
    authors: Sequence[str | None],
    *,
    full: float = 5.0,
    counted: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> list[DepthRound]:
    """Share of correct answers by round.

    An answer is correct if the question's author gave it the full mark, since that decides who is
    asked on (examiner paper, §3.1). Where the author did not mark it, or wrote it, more than half
    of the judges that count must have given the full mark.

    Args:
        marks: Marks of all rounds.
        rounds: Per question of `marks`, its round.
        authors: Per question its author, None where it has none.
        full: The full mark.
        counted: Indices of the judges that count; all by default.
        confidence: Of the intervals.

    Raises:
        StatisticsError: `rounds` or `authors` do not fit the questions.
    """
    if len(rounds) != len(marks.questions) or len(authors) != len(marks.questions):
        raise StatisticsError("rounds and authors must list every question")
    known, correct = _correct(marks, authors, full, counted)
    out: list[DepthRound] = []
    for place, agent in enumerate(marks.agents):
        for number in np.unique(rounds):
            at = known[:, place] & (rounds == number)
            if bool(at.any()):
                asked, right = int(at.sum()), int(correct[at, place].sum())
                interval = wilson(right, asked, confidence)
                low, high = interval if interval is not None else (None, None)
                out.append(DepthRound(agent, int(number), asked, right, right / asked, low, high))
    return out


def _correct(
    marks: Marks, authors: Sequence[str | None], full: float, counted: Sequence[int] | None
) -> tuple[Mask, Mask]:
    """Which answers are known to be right or wrong, and which are right (questions × agents)."""
    at = {name: place for place, name in enumerate(marks.judges)}
    author = np.array([-1 if name is None else at.get(name, -1) for name in authors], np.int64)
    given = ~np.isnan(marks.overall) & ~own_marks(marks)
    allowed = np.ones(len(marks.judges), dtype=np.bool_)
    if counted is not None:
        allowed[:] = False
        allowed[list(counted)] = True
    by_author = given & (marks.judge == author[marks.question])
    by_panel = given & allowed[marks.judge]
    best = np.nan_to_num(marks.overall) >= full
    author_share, author_has = _share(marks, by_author, best)
    panel_share, panel_has = _share(marks, by_panel, best)
    right = np.where(author_has, author_share > 0.5, panel_share > 0.5)
    return author_has | panel_has, right


def _share(marks: Marks, rows: Mask, best: Mask) -> tuple[Floats, Mask]:
    shape = (len(marks.questions), len(marks.agents))
    cell = marks.question * shape[1] + marks.examinee
    size = shape[0] * shape[1]
    number = np.bincount(cell[rows], minlength=size).reshape(shape)
    full = np.bincount(cell[rows & best], minlength=size).reshape(shape)
    return full / np.maximum(number, 1), number > 0
