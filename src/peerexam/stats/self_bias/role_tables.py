"""An exam's judgements as the three tables of self-bias: evaluator, test set, both.

Paper 004, §2. An exam differs from the paper's setting in that nobody marks or ranks its own
answer; what a judge makes of its own answer is known from the comparisons that it was asked for
beside them, and only from these.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from peerexam.stats.core.tables import Comparisons, Floats, Ints, Marks, Positions
from peerexam.stats.judges.peer_points import any_sorted, ranks_of_points
from peerexam.stats.pairs.both_orders import fold_orders
from peerexam.stats.pairs.orders import Disagreement, Mask, agent_of_judge
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable


def evaluator_table(
    c: Comparisons, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> BenchmarkTable:
    """Every judge as benchmark, on the questions that all of them judged.

    A segment is a question. Its ranks are those of the win points against all others, own answers
    included; where judges sorted, only some pairs were compared, and there are no whole ranks.

    Args:
        c: Verdicts, self-judgements included, of the questions that count.
        rule: What two orders that disagree amount to.
        orderless: Judges that see no order.
    """
    settled: Disagreement = "tie" if rule == "abstain" else rule
    points = [orders.points for orders in fold_orders(c, rule, orderless)]
    ranks = [ranks_of_points(one.points) for one in fold_orders(c, settled, orderless)]
    whole = not any_sorted(c)
    if whole:
        used = [j for j, one in enumerate(ranks) if not np.isnan(one).all()]
    else:
        used = [
            j
            for j, own in enumerate(agent_of_judge(c.agents, c.judges))
            if _is_peer(points[j], own)
        ]
    judged = [np.flatnonzero(_asked(c, j)) for j in used]
    return BenchmarkTable(
        c.agents,
        tuple(c.judges[j] for j in used),
        _joined(judged),
        _joined([np.full(len(rows), k) for k, rows in enumerate(judged)]),
        _stacked([1.0 - points[j][rows] for j, rows in zip(used, judged, strict=True)], c),
        _stacked([ranks[j][rows] for j, rows in zip(used, judged, strict=True)], c, 1)
        if whole
        else None,
        paired=True,
    )


def _is_peer(points: Floats, own: int) -> bool:
    """Whether a judge compared anything, and its own answers where it has any."""
    return not bool(np.isnan(points if own < 0 else points[:, own]).all())


def _asked(c: Comparisons, judge: int) -> Mask:
    asked: Mask = np.bincount(c.question[c.judge == judge], minlength=len(c.questions)) > 0
    return asked


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _stacked(parts: Sequence[Floats], c: Comparisons, axes: int = 2) -> Floats:
    return np.concatenate([np.zeros((0, *[len(c.agents)] * axes)), *parts])


def both_table(evaluator: BenchmarkTable, authors: Sequence[str | None]) -> BenchmarkTable:
    """Every author as judge of its own questions, from the evaluators' table.

    Args:
        evaluator: As `evaluator_table` makes it.
        authors: Per question.
    """
    at = {name: place for place, name in enumerate(evaluator.benchmarks)}
    author = np.array([-1 if one is None else at.get(one, -1) for one in authors], dtype=np.int64)
    part = evaluator.rows_where(author[evaluator.segment] == evaluator.benchmark)
    return _only_met(part)


def _only_met(table: BenchmarkTable) -> BenchmarkTable:
    """Without benchmarks that have no row that counts, each row a segment of its author."""
    known = ~np.isnan(table.ranks()).all(axis=1)
    met = np.flatnonzero(np.bincount(table.benchmark[known], minlength=len(table.benchmarks)))
    number = np.full(len(table.benchmarks), -1)
    number[met] = np.arange(len(met))
    kept = table.rows_where(number[table.benchmark] >= 0)
    return BenchmarkTable(
        kept.targets,
        tuple(table.benchmarks[place] for place in met),
        kept.segment,
        number[kept.benchmark],
        kept.behind,
        kept.rank,
        paired=False,
    )


def losses_of_rankings(positions: Positions, judge: int, questions: int) -> Floats:
    """How far each stood behind each in a judge's rankings (shape: questions × agents × agents)."""
    rows = positions.judge == judge
    scores = np.full((questions, len(positions.agents)), np.nan)
    scores[positions.question[rows]] = -positions.rank[rows]
    return _losses(scores)


def losses_of_marks(marks: Marks, judge: int, questions: int) -> Floats:
    """The same by a judge's overall marks, its own answer's (there should be none) left out."""
    own = int(agent_of_judge(marks.agents, marks.judges)[judge])
    rows = (marks.judge == judge) & (marks.examinee != own)
    scores = np.full((questions, len(marks.agents)), np.nan)
    scores[marks.question[rows], marks.examinee[rows]] = marks.overall[rows]
    return _losses(scores)


def losses_of_verdicts(
    c: Comparisons, rule: Disagreement, orderless: Collection[str]
) -> list[Floats]:
    """The same by every judge's direct verdicts, those on its own answer left out."""
    found = []
    for own, orders in zip(
        agent_of_judge(c.agents, c.judges), fold_orders(c, rule, orderless), strict=True
    ):
        behind = 1.0 - orders.points
        if own >= 0:
            behind[:, own] = np.nan
            behind[:, :, own] = np.nan
        found.append(behind)
    return found


def _losses(scores: Floats) -> Floats:
    gap = scores[:, None, :] - scores[:, :, None]
    behind = np.where(np.isnan(gap), np.nan, (gap > 0) + 0.5 * (gap == 0))
    places = np.arange(scores.shape[1])
    behind[:, places, places] = np.nan
    return behind


def author_table(
    losses: Sequence[Floats], agents: tuple[str, ...], authors: Sequence[str | None]
) -> BenchmarkTable:
    """Every author as benchmark, its questions judged by evaluators that are the same for all.

    Whether one answer stands behind another is the mean over the evaluators that wrote neither,
    so that a target is never its own evaluator, and the evaluators of a pair are the same whoever
    wrote the question. Ranks are those of the pooled win points within the question, ties averaged
    (paper 004, §2: ranked within a segment first, averaged then).

    Args:
        losses: For each evaluator, shape questions × agents × agents; NaN where it says nothing,
            and for its own answer.
        agents: Names of the targets.
        authors: Per question; questions without one are left out.
    """
    shape = (len(authors), len(agents), len(agents))
    total, count = np.zeros(shape), np.zeros(shape)
    for one in losses:
        total += np.nan_to_num(one)
        count += ~np.isnan(one)
    behind = np.full(shape, np.nan)
    np.divide(total, count, out=behind, where=count > 0)
    names = tuple(dict.fromkeys(name for name in authors if name is not None))
    names = tuple(sorted(names, key=lambda name: (name not in agents, names.index(name))))
    at = {name: place for place, name in enumerate(names)}
    rows = np.array([q for q, name in enumerate(authors) if name is not None], dtype=np.int64)
    author = np.array([at[name] for name in authors if name is not None], dtype=np.int64)
    rank = ranks_of_points(1.0 - behind[rows])
    return _only_met(BenchmarkTable(agents, names, rows, author, behind[rows], rank, paired=False))
