"""What is voted on: every (question, judge) as one ballot, added up per root question.

A ballot is a judge's ranking of the answers to a question; where there is none (verdicts
imported, or judging without ranking), it is the judge's direct verdicts on that question. Sums of
ballots per root question are sufficient for every voting rule, so that a bootstrap replicate is
weights times these arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints, Marks, Positions
from peerexam.stats.judges.fullmarks import own_marks
from peerexam.stats.pairs.orders import Mask, Pairs, agent_of_judge
from peerexam.stats.pairs.wins import direct_wins, implied_by_scores, row_blocks


@dataclass(frozen=True, slots=True)
class Ballots:
    """Sums of ballots; the leading axes are root questions × judges, or less once added up.

    Attributes:
        share: Shape … × m: sum over ballots of the share of the others that the agent beats on
            it, ties half.
        held: Shape … × m: how many ballots hold the agent (and another one to beat).
        wins: Shape … × m × m: points of i over j.
    """

    share: Floats
    held: Floats
    wins: Floats

    def over_judges(self, counted: Sequence[int]) -> Ballots:
        """Added up over the judges that count (axis 1)."""
        chosen = list(counted)
        return Ballots(*(part[:, chosen].sum(axis=1) for part in self.parts))

    def of_judges(self, counted: Sequence[int]) -> Ballots:
        """Only the judges that count, still apart."""
        chosen = list(counted)
        return Ballots(*(part[:, chosen] for part in self.parts))

    def over_clusters(self) -> Ballots:
        """Added up over root questions (axis 0)."""
        return Ballots(*(part.sum(axis=0) for part in self.parts))

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """The three arrays, for resampling."""
        return self.share, self.held, self.wins


def without_own_answers(positions: Positions) -> Positions:
    """Rankings with each judge's own answer taken out of its ballots."""
    own = agent_of_judge(positions.agents, positions.judges)[positions.judge]
    rank = positions.rank.copy()
    rows = np.flatnonzero(own >= 0)
    rank[rows, own[rows]] = np.nan
    return replace(positions, rank=rank)


def positions_by_marks(marks: Marks) -> Positions:
    """Rankings implied by marks, equal marks tied, for runs in which nobody compared answers.

    A judge's marks of its own answers stay out.
    """
    size = len(marks.agents)
    used = ~own_marks(marks) & ~np.isnan(marks.overall)
    code = marks.question * max(len(marks.judges), 1) + marks.judge
    keys, row = np.unique(code[used], return_inverse=True)
    table = np.full((len(keys), size), np.nan)
    table[row, marks.examinee[used]] = marks.overall[used]
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    level = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    return Positions(
        marks.agents,
        marks.judges,
        marks.questions,
        keys // max(len(marks.judges), 1),
        keys % max(len(marks.judges), 1),
        np.where(np.isnan(table), np.nan, above + (level + 1) / 2),
        marks.cluster,
    )


def ballots_from(positions: Positions, pairs: Pairs) -> tuple[Ballots, Mask]:
    """Ballots per root question and judge: rankings, and direct verdicts where there is none.

    Args:
        positions: Rankings; a row with fewer than two agents is no ballot.
        pairs: Results of pairs, over the same agents, judges and questions.

    Returns:
        The ballots, and which agents stand on a ballot for each question (questions × judges × m).

    Raises:
        StatisticsError: The two tables are coded differently.
    """
    names = (positions.agents, positions.judges, positions.questions)
    if names != (pairs.agents, pairs.judges, pairs.questions):
        raise StatisticsError("rankings and verdicts must share agents, judges and questions")
    size, judges = len(pairs.agents), len(pairs.judges)
    clusters = int(pairs.cluster.max(initial=-1)) + 1
    ballots = Ballots(
        np.zeros((clusters, judges, size)),
        np.zeros((clusters, judges, size)),
        np.zeros((clusters, judges, size, size)),
    )
    stands = np.zeros((len(pairs.questions), judges, size), dtype=np.bool_)
    _add_rankings(ballots, stands, positions)
    _add_verdicts(ballots, stands, pairs)
    return ballots, stands


def _add_rankings(ballots: Ballots, stands: Mask, positions: Positions) -> None:
    size = len(positions.agents)
    for rows in row_blocks(len(positions.question), size * size):
        points = implied_by_scores(-positions.rank[rows])
        question, judge = positions.question[rows], positions.judge[rows]
        _add(ballots, stands, points, question, judge, positions)


def _add_verdicts(ballots: Ballots, stands: Mask, pairs: Pairs) -> None:
    judges = len(pairs.judges)
    has_ranking = np.asarray(stands.any(axis=2))
    no_ranking: Mask = ~has_ranking[pairs.question, pairs.judge]
    left = pairs.rows_where(no_ranking)
    keys, group = np.unique(left.question * max(judges, 1) + left.judge, return_inverse=True)
    size = len(pairs.agents)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(keys) + 1))
    for block in row_blocks(len(keys), size * size):
        rows = order[bounds[block.start] : bounds[block.stop]]
        part = left.rows_where(rows)
        points = direct_wins(part, group[rows] - block.start, block.stop - block.start)
        key = keys[block]
        _add(ballots, stands, points, key // max(judges, 1), key % max(judges, 1), pairs)


def _add(
    ballots: Ballots,
    stands: Mask,
    points: Floats,
    question: Ints,
    judge: Ints,
    table: Positions | Pairs,
) -> None:
    """Add ballots (rows × m × m points of i over j), each a question's and a judge's."""
    others = (points + np.swapaxes(points, 1, 2)).sum(axis=2)
    held = others > 0
    share = np.where(held, points.sum(axis=2) / np.where(held, others, 1), 0)
    at = (table.cluster[question], judge)
    np.add.at(ballots.share, at, share)
    np.add.at(ballots.held, at, held)
    np.add.at(ballots.wins, at, points)
    np.logical_or.at(stands, (question, judge), held)
