"""Many judges as one row: voters of an arena are summarised by number, not by name.

Every vote keeps its weight. What is pooled is what is said of the judges one by one: consistency,
tastes, win rates and full marks by judge, which nobody reads of ten thousand voters, and which
would make files and time grow with voters and pairs of voters instead of votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from peerexam.protocols.standings.columns import Gathered, QuestionList, Seen
from peerexam.protocols.standings.settings import JudgeInfo
from peerexam.stats.core.tables import Comparisons, Ints, Marks, Positions
from peerexam.stats.pairs.orders import Pairs

MOST_JUDGES = 100
"""Of an imported run, that are shown by name; with more of them, voters are pooled."""

Table = TypeVar("Table", Comparisons, Marks, Positions, Pairs)


@dataclass(frozen=True, slots=True)
class Pools:
    """A run's tables with many judges pooled, or as they were.

    Attributes:
        table: Coded by `judges`. A question that several voters of a pool judged is there once a
            voter, so that each stays one ballot and nobody's two orders are mixed with another's.
        by_question: The same with every question once, for what only adds up.
        origin: Per question of `table`, its place in `by_question`.
        judges: By name, those of a pool under one.
        stands_for: How many judges each name stands for.
    """

    table: Gathered
    by_question: Gathered
    origin: Ints
    judges: Mapping[str, JudgeInfo]
    stands_for: Mapping[str, int]

    def once(self, pairs: Pairs) -> Pairs:
        """Results of `table` with every question once."""
        listed = self.by_question.questions
        question = self.origin[pairs.question]
        return replace(pairs, questions=listed.ids, cluster=listed.cluster, question=question)


def pooled(table: Gathered, judges: Mapping[str, JudgeInfo], most: int | None) -> Pools:
    """Pool the judges that answer nothing themselves, where there are more than `most` judges.

    Those that saw every pair in one order only make a pool of their own, because one verdict a pair
    is enough for them. Judges with bounds of their own, or by likelihood, keep their names.

    Args:
        table: Coded by `judges`.
        judges: By name.
        most: None pools nobody.
    """
    everybody = np.arange(len(table.questions.ids))
    if most is None or len(judges) <= most:
        return Pools(table, table, everybody, judges, dict.fromkeys(judges, 1))
    pool_of = _pools(judges, table.verdicts.agents)
    names = dict.fromkeys(pool_of.get(name, name) for name in judges)
    place = {name: number for number, name in enumerate(names)}
    group = np.array([place[pool_of.get(name, name)] for name in judges], dtype=np.int64)
    voter = np.array([name in pool_of for name in judges], dtype=np.bool_)
    merged = _regrouped(table, group, tuple(names), pool_of)
    stands_for = Counter(pool_of.get(name, name) for name in judges)
    infos = {pool_of.get(name, name): info for name, info in judges.items()}
    split, origin = _split(table, merged, np.where(voter, np.arange(len(voter)) + 1, 0))
    return Pools(split, merged, origin, {name: infos[name] for name in names}, stands_for)


def _pools(judges: Mapping[str, JudgeInfo], examinees: Sequence[str]) -> dict[str, str]:
    """Judge to the name of its pool; those that keep their names are not in it."""
    voters = [
        name for name, info in judges.items() if name not in set(examinees) and info.by == "prompt"
    ]
    sizes = Counter(judges[name].one_order for name in voters)
    taken = {*judges, *examinees}

    def name_of(one_order: bool) -> str:
        name = f"{sizes[one_order]:,} judge{'' if sizes[one_order] == 1 else 's'}"
        if len(sizes) > 1:
            name += " of one order" if one_order else " of both orders"
        while name in taken:
            name += " (pooled)"
        return name

    named = {one_order: name_of(one_order) for one_order in sizes}
    return {name: named[judges[name].one_order] for name in voters}


def _regrouped(
    table: Gathered, group: Ints, names: tuple[str, ...], pool_of: Mapping[str, str]
) -> Gathered:
    def seen(by: Seen) -> Seen:
        total: Seen = Counter()
        for (who, state), number in by.items():
            total[pool_of.get(who, who), state] += number
        return total

    return replace(
        table,
        verdicts=_of_groups(table.verdicts, group, names),
        positions=_of_groups(table.positions, group, names),
        marks=_of_groups(table.marks, group, names),
        marks_seen=seen(table.marks_seen),
        verdicts_seen=seen(table.verdicts_seen),
        rankings_seen=seen(table.rankings_seen),
    )


def _of_groups(table: Table, group: Ints, names: tuple[str, ...]) -> Table:
    return replace(table, judges=names, judge=group[table.judge])


def _split(table: Gathered, merged: Gathered, part: Ints) -> tuple[Gathered, Ints]:
    """Every question once a part, parts being given by judge; and where each came from."""
    listed, parts = table.questions, int(part.max(initial=0)) + 1
    tables = (table.verdicts, table.positions, table.marks)
    keys = [one.question * parts + part[one.judge] for one in tables]
    known = np.unique(np.concatenate(keys))
    origin = known // parts
    questions = QuestionList(
        tuple(listed.ids[number] for number in origin.tolist()),
        tuple(listed.authors[number] for number in origin.tolist()),
        listed.rounds[origin],
        listed.cluster[origin],
    )

    def on_parts(one: Table, key: Ints) -> Table:
        place = np.asarray(np.searchsorted(known, key), dtype=np.int64)
        return replace(one, questions=questions.ids, cluster=questions.cluster, question=place)

    split = replace(
        merged,
        questions=questions,
        verdicts=on_parts(merged.verdicts, keys[0]),
        positions=on_parts(merged.positions, keys[1]),
        marks=on_parts(merged.marks, keys[2]),
        lengths=np.asarray(table.lengths[origin]),
    )
    return split, origin


@dataclass(frozen=True, slots=True)
class OneVoice:
    """The ballots of several judges as those of one, each still a ballot of its own.

    Attributes:
        positions: Rankings of the judges that count.
        pairs: Results of theirs.
        origin: Per question of both, the one that it was.
    """

    positions: Positions
    pairs: Pairs
    origin: Ints


def one_voice(positions: Positions, pairs: Pairs, counted: Sequence[int]) -> OneVoice:
    """Put the judges that count together, so that sums need no axis of judges."""
    judges = max(len(pairs.judges), 1)
    kept = np.isin(np.arange(judges), list(counted))
    ranked, direct = kept[positions.judge], kept[pairs.judge]
    keys = (
        positions.question[ranked] * judges + positions.judge[ranked],
        pairs.question[direct] * judges + pairs.judge[direct],
    )
    known = np.unique(np.concatenate(keys))
    origin = known // judges
    names = tuple(pairs.questions[number] for number in origin.tolist())
    cluster = np.asarray(pairs.cluster[origin], dtype=np.int64)

    def together(rows: Table, key: Ints) -> Table:
        return replace(
            rows,
            judges=("all",),
            questions=names,
            cluster=cluster,
            question=np.asarray(np.searchsorted(known, key), dtype=np.int64),
            judge=np.zeros(len(key), dtype=np.int64),
        )

    return OneVoice(
        together(replace(positions, rank=positions.rank[ranked]), keys[0]),
        together(pairs.rows_where(np.flatnonzero(direct)), keys[1]),
        origin,
    )
