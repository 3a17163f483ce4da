"""The benchmark's tables of `standings.json` (examiner paper, §4.2 and appendix C.2).

Table 3 (full-mark answers by cognitive level, in one round and in several), Figure 3 (scores by
aspect), Figure 8 (full-mark answers by first-level domain), what examples bring, and what the
questions are (Table 1, Figure 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.standings.columns import Gathered
from peerexam.protocols.standings.settings import BenchmarkInfo, TallySettings
from peerexam.records import Question
from peerexam.stats.benchmarks.few_shot import Gains, Pair, few_shot_gains
from peerexam.stats.benchmarks.question_profile import LEVELS, first_level_domain, question_profile
from peerexam.stats.benchmarks.scores import NO_GROUP, dimension_percent, full_mark_percent
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Ints

MOST_DOMAINS = 100
"""First-level domains that have a row of their own, the largest ones."""

ALL = "all"
OVERALL = "overall"


class Benchmark:
    """The tables of one run.

    Args:
        table: Its records as numbers.
        questions: All of them, follow-ups too.
        counted: Places of the judges that count.
        settings: How to count.
        seed: Of the run.
    """

    def __init__(
        self,
        table: Gathered,
        questions: Sequence[Question],
        counted: Sequence[int],
        settings: TallySettings,
        seed: int,
    ) -> None:
        self._table = table
        self._questions = questions
        self._counted = list(counted)
        self._settings = settings
        self._info: BenchmarkInfo = settings.benchmark
        self._seed = seed
        by_id = {question.id: question for question in questions}
        self._listed = [by_id.get(name) for name in table.questions.ids]
        self._first = table.questions.first_round
        self._profile = question_profile(q for q in questions if q.round == 1)

    def to_json(self) -> dict[str, Json]:
        """The object `benchmark` of `standings.json`; `docs/standings-format.md` has its keys."""
        return {
            "examinees": list(self._table.marks.agents),
            "judges": [self._table.marks.judges[place] for place in self._counted],
            "full_mark": self._settings.full_mark,
            "single": self._single(),
            "multi": self._multi(),
            "aspects": self._aspects(),
            "few_shot": self._few_shot(),
            "questions": self._made_of(),
            "follow_ups": {
                "rounds": self._info.rounds,
                "sample": self._info.sample,
                "share": self._info.share,
            },
        }

    def _single(self) -> dict[str, Json]:
        domains = list(self._profile.domains)
        return {
            "all": self._percent(self._everything(), 1)[0],
            "levels": self._rows("level", LEVELS, lambda question: question.level),
            "groups": self._rows("group", self._profile.groups, lambda question: question.group),
            "domains": self._rows("domain", domains[:MOST_DOMAINS], first_level_domain),
            "domains_left_out": max(len(domains) - MOST_DOMAINS, 0),
        }

    def _rows(
        self, key: str, names: Iterable[str], name_of: Callable[[Question], str | None]
    ) -> list[dict[str, Json]]:
        """A row a group that has first-round questions."""
        names = list(names)
        group = self._groups(names, name_of)
        cells = self._percent(group, len(names))
        sizes = np.bincount(group[group >= 0], minlength=len(names))
        return [
            {key: name, "questions": int(size), "cells": row}
            for name, size, row in zip(names, sizes, cells, strict=True)
            if size
        ]

    def _everything(self) -> Ints:
        """First-round questions, those without a record of their own too."""
        return np.where(self._first, 0, NO_GROUP)

    def _groups(self, names: Sequence[str], name_of: Callable[[Question], str | None]) -> Ints:
        at = {name: place for place, name in enumerate(names)}

        def place(question: Question | None) -> int:
            name = None if question is None else name_of(question)
            return NO_GROUP if name is None else at.get(name, NO_GROUP)

        places = np.array([place(question) for question in self._listed], dtype=np.int64)
        return np.where(self._first, places, NO_GROUP)

    def _multi(self) -> list[dict[str, Json]]:
        """A row for every round after the first, among those that were asked so far."""
        rounds = self._table.questions.rounds
        last = int(rounds.max(initial=1))
        cells = self._percent(np.where(rounds >= 2, rounds - 2, NO_GROUP), last - 1)
        return [
            {"round": number, "questions": int((rounds == number).sum()), "cells": row}
            for number, row in enumerate(cells, start=2)
        ]

    def _percent(self, group: Ints, groups: int) -> list[list[dict[str, Json]]]:
        found = full_mark_percent(
            self._table.marks,
            group,
            groups,
            full=self._settings.full_mark,
            counted=self._counted,
            confidence=self._settings.confidence,
        )
        return [[_cell(estimate) for estimate in row] for row in found]

    def _aspects(self) -> list[dict[str, Json]]:
        first = self._everything()
        overall = (self._info.lowest, self._settings.full_mark)
        scales = {**self._info.scales, OVERALL: overall}
        return [
            {
                "aspect": name,
                "low": scale[0],
                "high": scale[1],
                "cells": [
                    _cell(estimate)
                    for estimate in dimension_percent(
                        self._table.marks,
                        name,
                        scale,
                        first,
                        counted=self._counted,
                        confidence=self._settings.confidence,
                    )
                ],
            }
            for name, scale in scales.items()
        ]

    def _few_shot(self) -> dict[str, Json]:
        at = {name: place for place, name in enumerate(self._table.marks.agents)}
        pairs = [pair for pair in self._info.few_shot if set(pair) <= at.keys()]
        if not pairs:
            return {"pairs": [], "mean": []}
        places = [(at[zero], at[five]) for zero, five in pairs]
        by_level = self._groups(LEVELS, lambda question: question.level)
        whole = self._gains(self._everything(), 1, places)
        levels = self._gains(by_level, len(LEVELS), places)
        names = [ALL, *LEVELS]
        gains = [*whole.pairs, *levels.pairs]
        means = [*whole.mean, *levels.mean]
        return {
            "pairs": [
                {"zero": zero, "five": five, "gains": _gains(names, [row[pair] for row in gains])}
                for pair, (zero, five) in enumerate(pairs)
            ],
            "mean": _gains(names, means),
        }

    def _gains(self, group: Ints, groups: int, pairs: Sequence[Pair]) -> Gains:
        return few_shot_gains(
            self._table.marks,
            group,
            groups,
            pairs,
            full=self._settings.full_mark,
            counted=self._counted,
            rounds=self._settings.rounds,
            rng=np.random.default_rng([self._seed, 3]),
            confidence=self._settings.confidence,
        )

    def _made_of(self) -> dict[str, Json]:
        profile = self._profile
        return {
            "total": profile.total,
            "words": _counts("word", profile.words),
            "domains": _counts("domain", dict(list(profile.domains.items())[:MOST_DOMAINS])),
            "levels": _counts("level", {str(name): n for name, n in profile.levels.items()}),
        }


def _counts(key: str, counts: dict[str, int]) -> list[dict[str, Json]]:
    return [{key: name, "count": count} for name, count in counts.items()]


def _cell(estimate: Estimate) -> dict[str, Json]:
    """`planned` counts the answers that a judge was to mark, `n` those that one did."""
    return {
        "percent": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "planned": estimate.n + estimate.left_out,
    }


def _gains(levels: Sequence[str], gains: Sequence[Estimate]) -> list[dict[str, Json]]:
    return [
        {
            "level": level,
            "value": gain.value,
            "low": gain.low,
            "high": gain.high,
            "n": gain.n,
            "reason": gain.reason,
        }
        for level, gain in zip(levels, gains, strict=True)
    ]
