"""Results of pairs as they are counted: what other tools need in order to rate the same agents.

Ballots are rankings, or direct verdicts where a judge ranked nothing (`stats.ballots`). Every
ballot says of every pair on it who stands above whom; taken apart into such pairs it is what
Bradley-Terry and mean win rate are computed from, here and elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import cast

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints, Positions
from peerexam.stats.pairs.orders import Pairs
from peerexam.stats.pairs.wins import mean_win_rate, meetings
from peerexam.stats.ranking.ratings import rate, standard_errors

ELO_SCALE = 400 / float(np.log(10))
"""Points of a rating for one unit of natural-log strength, as in chess and in arena-rank."""

ELO_CENTRE = 1000.0
"""Mean rating."""

_MOST_COPIES = 12


@dataclass(frozen=True, slots=True)
class Results:
    """One row a (question, judge, pair).

    Attributes:
        agents: Names; `a` and `b` index it.
        judges: Names; `judge` indexes it.
        questions: Ids; `question` indexes it.
        question: Per row.
        judge: Per row.
        a: Per row, the agent with the smaller index.
        b: Per row, the other agent.
        points: Per row, of a against b, 0 to 1.
        cluster: Per question, its root question.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    a: Ints
    b: Ints
    points: Floats
    cluster: Ints

    def of_judges(self, names: Sequence[str]) -> Results:
        """Only the rows of some judges."""
        at = {name: place for place, name in enumerate(self.judges)}
        keep = np.isin(self.judge, [at[name] for name in names])
        rows = (self.question, self.judge, self.a, self.b, self.points)
        question, judge, a, b, points = (column[keep] for column in rows)
        names_of = (self.agents, self.judges, self.questions)
        return Results(
            *names_of,
            cast(Ints, question),
            cast(Ints, judge),
            cast(Ints, a),
            cast(Ints, b),
            cast(Floats, points),
            self.cluster,
        )

    def wins(self) -> Floats:
        """Points of i over j by root question (shape clusters × m × m)."""
        size = len(self.agents)
        clusters = int(self.cluster.max(initial=-1)) + 1
        total = np.zeros((clusters, size, size))
        at = self.cluster[self.question]
        np.add.at(total, (at, self.a, self.b), self.points)
        np.add.at(total, (at, self.b, self.a), 1 - self.points)
        return total

    def copies(self) -> int:
        """Into how many rows a result must be taken apart so that each is a win, tie or loss.

        1 but for the rule `average`, under which a win and a tie make ¾.

        Raises:
            StatisticsError: It takes too many: verdicts were given many times over.
        """
        for number in range(1, _MOST_COPIES + 1):
            halves = self.points * 2 * number
            if bool(np.all(np.abs(halves - np.round(halves)) < 1e-9)):
                return number
        raise StatisticsError(
            "results are means of many verdicts on the same answers in the same order, which rows "
            "of wins, ties and losses cannot say; export the verdicts alone"
        )

    def rows(self, copies: int) -> Iterator[tuple[int, float]]:
        """Row numbers with 1 for a win of a, ½ for a tie, 0 for a loss: `copies` of each row."""
        for row, points in enumerate(self.points.tolist()):
            halves = round(points * 2 * copies)
            wins, tie = divmod(halves, 2)
            for copy in range(copies):
                yield row, 1.0 if copy < wins else 0.5 if tie and copy == wins else 0.0


def results_from(positions: Positions, pairs: Pairs) -> Results:
    """Take rankings apart, and add direct results of judges that ranked nothing on a question.

    Args:
        positions: Rankings without the judges' own answers.
        pairs: Results of direct verdicts, over the same agents, judges and questions.
    """
    one, other = np.triu_indices(len(pairs.agents), k=1)
    ranks_a, ranks_b = positions.rank[:, one], positions.rank[:, other]
    row, pair = np.nonzero(~np.isnan(ranks_a) & ~np.isnan(ranks_b))
    above = ranks_b[row, pair] - ranks_a[row, pair]
    judges = len(pairs.judges)
    ranked = np.unique(positions.question[row] * judges + positions.judge[row])
    direct = pairs.rows_where(~np.isin(pairs.question * judges + pairs.judge, ranked))
    joined = (
        np.concatenate([positions.question[row], direct.question]),
        np.concatenate([positions.judge[row], direct.judge]),
        np.concatenate([one[pair], direct.a]),
        np.concatenate([other[pair], direct.b]),
        np.concatenate([0.5 * (np.sign(above) + 1), direct.points]),
    )
    order = np.lexsort(joined[3::-1])
    question, judge, a, b, points = (column[order] for column in joined)
    names = (pairs.agents, pairs.judges, pairs.questions)
    return Results(*names, question, judge, a, b, np.asarray(points, np.float64), pairs.cluster)


@dataclass(frozen=True, slots=True)
class Rating:
    """One agent's Bradley-Terry rating without a prior, and the win rate beside it.

    Attributes:
        strength: Natural-log strength, 0 on average; None where no finite number fits.
        standard_error: Of the strength, clustered by root question.
        rating: 1000 + 400 / ln 10 × strength.
        low: Lower end of the rating's interval.
        high: Its upper end.
        win_rate: Mean over opponents of the share of points won, 0 to 1.
        results: How many results hold the agent.
        reason: Why there is no strength, or none that may be set against others.
    """

    agent: str
    strength: float | None
    standard_error: float | None
    rating: float | None
    low: float | None
    high: float | None
    win_rate: float | None
    results: int
    reason: str | None


def rate_results(results: Results, confidence: float = 0.95) -> list[Rating]:
    """Rate the agents, best first; those without a rating last.

    Raises:
        StatisticsError: The fit does not converge.
    """
    wins = results.wins()
    total = wins.sum(axis=0) if len(wins) else np.zeros((len(results.agents),) * 2)
    fit = rate(total)
    errors = np.full(len(results.agents), np.nan)
    if not any(fit.reason) and len(results.agents) > 1 and len(wins) > 1:
        errors = standard_errors(wins, np.array(fit.strength, dtype=np.float64))
    rates, met = mean_win_rate(total), meetings(total).sum(axis=1)
    deviates = NormalDist().inv_cdf(0.5 + confidence / 2)
    ratings = [
        _rating(name, fit.strength[i], fit.reason[i], errors[i], deviates, rates[i], met[i])
        for i, name in enumerate(results.agents)
    ]
    return sorted(ratings, key=lambda r: (r.strength is None, -(r.strength or 0.0), r.agent))


def _rating(
    agent: str,
    strength: float | None,
    reason: str | None,
    error: float,
    deviates: float,
    win_rate: float,
    met: float,
) -> Rating:
    known = None if np.isnan(error) else float(error)
    centre = None if strength is None else ELO_CENTRE + ELO_SCALE * strength
    reach = None if known is None else deviates * ELO_SCALE * known
    return Rating(
        agent,
        strength,
        known,
        centre,
        None if centre is None or reach is None else centre - reach,
        None if centre is None or reach is None else centre + reach,
        None if np.isnan(win_rate) else float(win_rate),
        round(met),
        reason,
    )
