"""What the voting coordinator is told: the run, its judges, and how to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from peerexam.protocols.config.models import Fitness
from peerexam.records import DIMENSIONS
from peerexam.stats.pairs.orders import Disagreement
from peerexam.stats.ranking.votes import Method


@dataclass(frozen=True, slots=True)
class ExamInfo:
    """What the standings say about the run they come from.

    Attributes:
        name: The exam's.
        protocol: `peer_exam`, `exam`, or an importer's.
        seed: Of the run; the bootstrap draws from it too.
        status: `partial` where the run ended early.
        status_reason: Why.
        planned: How many `questions`, `answers`, `marks`, `verdicts`, `rankings` were planned,
            where that is more than there are records of.
    """

    name: str
    protocol: str = "peer_exam"
    seed: int = 0
    status: Literal["complete", "partial"] = "complete"
    status_reason: str | None = None
    planned: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """One judge.

    Attributes:
        by: `likelihood` where it sees no order of answers; it then has no preference for a place
            that could be measured, and one verdict a pair is enough.
        one_order: It was asked about every pair in one order only, as in verdicts of other tools;
            one verdict a pair is then enough, and nothing can be said of places.
    """

    by: Literal["prompt", "likelihood"] = "prompt"
    one_order: bool = False

    @property
    def one_verdict_is_enough(self) -> bool:
        """Whether a pair has a result without a verdict in the other order."""
        return self.one_order or self.by == "likelihood"


@dataclass(frozen=True, slots=True)
class BenchmarkInfo:
    """What the benchmark's tables need to know of the exam; the defaults are the paper's rubric.

    Attributes:
        scales: Dimension of the marks to its lowest and highest score.
        lowest: Overall score.
        few_shot: Names of examinees that are one model, without examples and with five.
        rounds: Follow-up rounds that were to be asked; None where nobody knows.
        sample: At most so many follow-ups on one question; None is all.
        share: The part of full-mark answers that was to be followed up.
    """

    scales: Mapping[str, tuple[int, int]] = field(
        default_factory=lambda: dict.fromkeys(DIMENSIONS, (1, 3))
    )
    lowest: int = 1
    few_shot: tuple[tuple[str, str], ...] = ()
    rounds: int | None = None
    sample: int | None = None
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class TallySettings:
    """How votes become standings.

    Attributes:
        method: The voting rule of the standings; the others are shown beside it.
        rounds: Bootstrap rounds.
        confidence: Of all intervals.
        cluster_judges: Draw judges too, so that intervals hold for other judges of their kind.
        disagreement: What two orders of a pair that disagree are worth.
        quorum: How many judges must count.
        fitness: Bounds outside which a judge loses its vote.
        full_mark: The overall mark that is full.
        benchmark: What the benchmark's tables are made with.
        most_judges: With more judges than this, those that answer nothing are pooled
            (`judge_pools`); None keeps all by name.
    """

    method: Method = "borda"
    rounds: int = 1000
    confidence: float = 0.95
    cluster_judges: bool = False
    disagreement: Disagreement = "tie"
    quorum: int = 1
    fitness: Fitness = field(default_factory=Fitness)
    full_mark: float = 5.0
    benchmark: BenchmarkInfo = field(default_factory=BenchmarkInfo)
    most_judges: int | None = None
