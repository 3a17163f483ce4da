"""Which agents differ: all pairs tested together, by exchanging the agents within questions.

What a question says of an agent is its margin there: points won less points lost against the
others on its ballots, halved. Ratings that fit the margins by least squares (with rankings of all
agents they are the Borda scores up to a factor; otherwise they count whom each agent met) are a sum
of one contribution a question, and so is the difference of two:

    T_ij = |Σ_k D_ijk| / √(V_ij + 2 ÷ (n − 1) · V + (Σ_k D_ijk)² / n),

where D_ijk is the contribution to i less that to j on question k, V_ij = Σ_k (D_ijk − mean)², and V
the mean of V_ij over all pairs, as large a part of it as the agents' meetings give the pair. It is
the t of a variance that borrows two degrees of freedom from all pairs (Smyth 2004, Statistical
Applications in Genetics and Molecular Biology 3, article 3; there the number is estimated), in a
form that is at most √n. A t of each pair's own variance is led by variances that are small by
chance: of 8 questions it finds 3 to 9 pairs in 100 fewer.

Were the agents alike, their margins could as well stand the other way about within each question.
The reference is T with margins exchanged at random among the agents that met there, which is exact
where all are alike, whatever ties there are and however much a question's verdicts hang together. A
bootstrap is not: of 8 questions and 4 alike agents it separates some pair in 19 of 100 exams at a
nominal 5. With many questions the signs of whole questions are drawn instead, which costs less and
gives the same.

All pairs together: the largest T of any pair that may still be equal, stepping down (Westfall and
Young 1993, Resampling-based multiple testing, §2.6; Romano and Wolf 2005). If i equals j, nobody
who is separated from one of them can equal the other, which leaves fewer pairs to reckon with
(Shaffer 1986; valid by the sequential rejection principle, Goeman and Solari 2010).

Agents that are separated are not exchangeable. Where everyone above a line is separated from
everyone below it, margins are from then on exchanged on either side of it alone: of two groups of
4 alike agents each, some pair of a group is else separated in 8 of 100 exams of 8 questions. Of
several such lines the widest comes first, and the others are tested anew: of three pairs of equals,
far from each other, one is else separated in 10 of 100 exams of 6 questions.

Were two agents equal and no others, only these two could be exchanged, and p would be 2 · ½ⁿ or
more: a pair that differs on fewer than six questions is never separated at 95 %.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.wins import meetings, row_blocks
from peerexam.stats.ranking.ranks import places

_EXCHANGED = 4096
"""Questions × agents up to which margins are exchanged; above, signs are drawn."""

FEWEST_DRAWS = 199
"""Of the reference of an exam; the level is exact wherever draws + 1 is a multiple of 20."""

_CELLS_AT_ONCE = 1_000_000
_MOST_CELLS = 50_000_000
"""Of the reference: draws × pairs."""

_RELATED = 12
"""Agents up to which the pairs that may still be equal are worked out for each pair."""

_PRIOR = 2
"""Degrees of freedom that the variance of all pairs has within that of each."""

_EQUAL = 1e-9


def met_groups(points: Floats) -> Ints:
    """Groups of agents linked by a chain of meetings, numbered by size, then by first agent.

    Args:
        points: Shape m × m, points of i over j.

    Returns:
        Per agent its group; -1 for an agent that met nobody.
    """
    import networkx as nx  # not cheap to import, and most of the package does without

    met = meetings(points) > 0
    group = np.full(len(points), -1, dtype=np.int64)
    linked = [one for one in nx.connected_components(nx.from_numpy_array(met)) if len(one) > 1]
    for number, members in enumerate(sorted(linked, key=lambda one: (-len(one), min(one)))):
        group[list(members)] = number
    return group


def separated(
    wins: Floats, groups: Ints, *, confidence: float, rounds: int, rng: Generator
) -> Mask:
    """Which agents are rated above which, with `confidence` for all pairs together.

    Args:
        wins: Shape questions × m × m, points of i over j by root question.
        groups: As `met_groups` gives them; nothing is said of agents of different groups.
        confidence: That no pair of equals is separated.
        rounds: Draws of the reference.
        rng: Where they come from.

    Returns:
        Shape m × m: i is rated above j and separated from it.
    """
    size = wins.shape[-1]
    margins = (wins.sum(axis=2) - wins.sum(axis=1)) / 2
    links = _laplacian(meetings(wins.sum(axis=0)))
    rating = np.asarray(np.linalg.pinv(links, hermitian=True), dtype=np.float64)
    one, other = np.triu_indices(size, k=1)
    same = (groups[one] == groups[other]) & (groups[one] >= 0)
    one, other = one[same], other[same]
    if not len(one):
        return np.zeros((size, size), dtype=np.bool_)
    pairs = _Pairs(one, other, rating)
    contributions = margins @ rating
    total = contributions.sum(axis=0)
    draws = min(rounds, max(FEWEST_DRAWS, _MOST_CELLS // len(one)))
    seen = _statistic(contributions, pairs)
    # If these two alone are equal, p is 2 · ½ⁿ or more.
    differing = (np.abs(pairs.difference(contributions)) > _EQUAL).sum(axis=0)
    seen[2.0 ** (1 - differing) > np.round(1 - confidence, 9)] = 0
    above = total[one] > total[other]
    winner, loser = np.where(above, one, other), np.where(above, other, one)
    found: Mask = np.zeros(len(one), dtype=np.bool_)
    tiers = np.zeros(size, dtype=np.int64)

    def reference() -> Floats:
        if margins.size > _EXCHANGED:
            return _signed(contributions, pairs, draws, rng)
        return _exchanged(margins, meetings(wins), rating, tiers, pairs, draws, rng)

    drawn = reference()
    while not bool(found.all()):
        new = _rejected(seen, drawn, (one, other), size, 1 - confidence, found)
        if not bool(new.any()):
            break
        found |= new
        if margins.size > _EXCHANGED:
            continue
        finer = _tiers(total, _between(winner, loser, found, size), groups)
        finer = _cut(tiers, finer, total, groups)
        if bool((finer != tiers).any()):
            # What was separated within a tier is tested anew, by what is exchanged within it.
            tiers, found = finer, finer[one] != finer[other]
            drawn = reference()
    return _between(winner, loser, found, size)


def _between(winner: Ints, loser: Ints, found: Mask, size: int) -> Mask:
    apart: Mask = np.zeros((size, size), dtype=np.bool_)
    apart[winner[found], loser[found]] = True
    return apart


def _tiers(total: Floats, apart: Mask, groups: Ints) -> Ints:
    """Per agent its tier, by what is separated so far; 0 for an agent that met nobody."""
    held = places(total, apart, groups)
    return np.array([0 if place is None else place.tier for place in held], dtype=np.int64)


def _cut(tiers: Ints, finer: Ints, total: Floats, groups: Ints) -> Ints:
    """Each tier of each group in two, where those that are `finer` lie furthest apart."""
    parts = 2 * tiers
    for part in np.unique(np.stack([groups, tiers]), axis=1).T:
        inside = np.flatnonzero((groups == part[0]) & (tiers == part[1]))
        inside = inside[np.argsort(-total[inside])]
        ends = np.flatnonzero(np.diff(finer[inside]))
        if len(ends):
            widest = ends[np.argmin(np.diff(total[inside])[ends])]
            parts[inside[widest + 1 :]] += 1
    return np.asarray(np.unique(parts, return_inverse=True)[1], dtype=np.int64)


def _laplacian(met: Floats) -> Floats:
    return np.asarray(np.diag(met.sum(axis=1)) - met, dtype=np.float64)


class _Pairs:
    """Pairs of agents, and the part of a variance that each has by whom its agents met."""

    def __init__(self, one: Ints, other: Ints, rating: Floats) -> None:
        self.one = one
        self.other = other
        self.share = self.apart(rating)
        self.share /= self.share.mean()

    def __len__(self) -> int:
        return len(self.one)

    def difference(self, values: Floats) -> Floats:
        return values[..., self.one] - values[..., self.other]

    def apart(self, products: Floats) -> Floats:
        """The square of each pair's difference (shape … × pairs), of products (… × m × m)."""
        own = np.diagonal(products, axis1=-2, axis2=-1)
        return own[..., self.one] + own[..., self.other] - 2 * products[..., self.one, self.other]


def _statistic(contributions: Floats, pairs: _Pairs) -> Floats:
    """T of every pair (shape … × pairs), of contributions (shape … × questions × m)."""
    squares = pairs.apart(np.swapaxes(contributions, -1, -2) @ contributions)
    difference = pairs.difference(contributions.sum(axis=-2))
    return _moderated(difference, squares, contributions.shape[-2], pairs)


def _moderated(difference: Floats, squares: Floats, questions: int, pairs: _Pairs) -> Floats:
    of_mean = difference**2 / questions
    own = np.maximum(squares - of_mean, 0)
    of_all = own.mean(axis=-1, keepdims=True) * pairs.share
    spread = own + _PRIOR / max(questions - 1, 1) * of_all + of_mean
    known = spread > _EQUAL**2
    return np.where(known, np.abs(difference) / np.sqrt(np.where(known, spread, 1.0)), 0.0)


def _exchanged(
    margins: Floats,
    met: Floats,
    rating: Floats,
    tiers: Ints,
    pairs: _Pairs,
    draws: int,
    rng: Generator,
) -> Floats:
    """T of every pair (draws × pairs), margins exchanged in each question within a tier."""
    # In an order that names have no part in, so that an agent renamed meets the same draws.
    total = np.round((margins @ rating).sum(axis=0), 9)
    by_result = np.lexsort(np.vstack([margins, total]))
    often = met.sum(axis=2)
    each = np.where(often > 0, margins / np.where(often > 0, often, 1.0), 0.0)[:, by_result]
    link = (_links(met) * (int(tiers.max()) + 1) + tiers)[:, by_result]
    place = np.argsort(link, axis=1, kind="stable")[None]
    out = np.empty((draws, len(pairs)))
    step = max(1, _CELLS_AT_ONCE // margins.size)
    for first in range(0, draws, step):
        count = min(step, draws - first)
        source = (link + rng.random((count, *link.shape))).argsort(axis=2)
        moved = np.empty(source.shape)
        drawn = np.take_along_axis(np.broadcast_to(each, source.shape), source, axis=2)
        np.put_along_axis(moved, np.broadcast_to(place, source.shape), drawn, axis=2)
        back = np.empty_like(moved)
        back[..., by_result] = moved
        out[first : first + count] = _statistic((back * often) @ rating, pairs)
    return out


def _links(met: Floats) -> Ints:
    """Per question and agent the first agent that a chain of meetings on it leads to."""
    size = met.shape[-1]
    reach = (met > 0) | np.eye(size, dtype=np.bool_)
    length = 1
    while length < size:
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        length *= 2
    return np.asarray(reach.argmax(axis=2), dtype=np.int64)


def _signed(contributions: Floats, pairs: _Pairs, draws: int, rng: Generator) -> Floats:
    """T of every pair (draws × pairs), each question's contributions with a sign by lot."""
    questions = len(contributions)
    squares = pairs.apart(contributions.T @ contributions)
    parts = []
    for block in row_blocks(draws, questions):
        size = (block.stop - block.start, questions)
        drawn = rng.integers(0, 2, size=size, dtype=np.int8)
        signs = np.where(drawn > 0, 1.0, -1.0)
        difference = pairs.difference(signs @ contributions)
        parts.append(_moderated(difference, squares, questions, pairs))
    return np.concatenate(parts)


def _rejected(
    seen: Floats,
    reference: Floats,
    pairs: tuple[Ints, Ints],
    size: int,
    error: float,
    found: Mask,
) -> Mask:
    """Which pairs are separated next, beside those found; `error` is for all of them together."""
    one, other = pairs
    limit = int(np.ceil(np.round((1 - error) * (len(reference) + 1), 9)))
    if limit > len(reference):
        return np.zeros_like(found)
    apart: Mask = np.zeros((size, size), dtype=np.bool_)
    apart[one[found], other[found]] = apart[other[found], one[found]] = True
    return ~found & (seen > _bar(reference, ~found, apart, pairs, limit) + _EQUAL)


def _bar(
    reference: Floats, open_: Mask, apart: Mask, pairs: tuple[Ints, Ints], limit: int
) -> Floats:
    """What each open pair has to exceed: a quantile of the largest T of those open with it."""

    def quantile(among: Mask) -> float:
        return float(np.partition(reference[:, among].max(axis=1), limit - 1)[limit - 1])

    bar = np.full(len(open_), np.inf)
    if len(apart) > _RELATED or not bool(apart.any()):
        bar[open_] = quantile(open_)
        return bar
    one, other = pairs
    for pair in np.flatnonzero(open_):
        i, j = one[pair], other[pair]
        ruled_out = apart[i] | apart[j]
        touches = np.isin(one, (i, j)) | np.isin(other, (i, j))
        bar[pair] = quantile(open_ & ~(touches & (ruled_out[one] | ruled_out[other])))
    return bar
