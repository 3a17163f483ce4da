"""What a plan advises: so far, another way of ranking where comparisons would wait for each other.

A ranking of n answers makes 2K calls (K comparisons, both orders), of which 2P at least follow one
another in pairs: P is its longest path. R rankings at once keep R · 2K / P calls in flight. Where
that is less than the run may make, calls are idle, and a ranking with a shorter path ends earlier
although it asks more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from peerexam.agents.spec import parse_model
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.planning.call_counts import CallCounts, Ranked
from peerexam.protocols.planning.ranges import comparisons, longest_path

_WORTH_IT = 0.8
"""Of the longest wait, what may be left for another ranking to be advised."""


@dataclass(frozen=True, slots=True)
class _Line:
    """The comparisons of an exam by one method.

    Attributes:
        calls: Of all rankings, expected.
        path: The most comparisons that follow one another.
        width: Calls in flight if nothing else held them up.
    """

    calls: float
    path: int
    width: float

    def length(self, places: int) -> float:
        """Calls that follow one another where so many are made at once, at least."""
        return max(self.path, self.calls / places)


def advice(config: ExamConfig, counts: CallCounts) -> Iterator[str]:
    """Advice on an exam, a sentence each."""
    if config.judging.ranking != "merge_sort":
        return
    asked = [ranked for ranked in counts.rankings() if _is_asked(ranked.judge)]
    now, other = _line(asked, "merge_sort"), _line(asked, "rank_merge")
    places = _places(config, asked)
    if not now.path or now.width >= places:
        return
    if other.length(places) > _WORTH_IT * now.length(places):
        return
    yield (
        f"few rankings: their comparisons keep about {now.width:.0f} of {places} calls at once "
        f"busy; judging.ranking: rank_merge waits for {other.path} in a row instead of {now.path}, "
        f"and asks about {other.calls - now.calls:,.0f} calls more"
    )


def _is_asked(judge: AgentConfig) -> bool:
    return judge.judge.by == "prompt" and parse_model(judge.model)[0] != PLAYS_DIRECTLY


def _line(asked: Sequence[Ranked], method: str) -> _Line:
    calls = width = 0.0
    path = 0
    for ranked in asked:
        longest = longest_path(ranked.answers, method)
        made = 2 * comparisons(ranked.answers, method).expected * ranked.times
        calls += made
        width += made / longest if longest else 0.0
        path = max(path, longest)
    return _Line(calls, path, width)


def _places(config: ExamConfig, asked: Sequence[Ranked]) -> int:
    """Calls that may be made at once: the run's, or no more than its judges take."""
    limits = [ranked.judge.limits for ranked in asked]
    taken = sum(each.concurrency or each.max_concurrency for each in limits)
    return max(1, min(config.limits.concurrency, taken))
