"""What the studies of consistency will ask, worked out from graphs, prompts and questions."""

from __future__ import annotations

from collections.abc import Sequence

from peerexam.examiners.prompts import PromptLibrary
from peerexam.protocols.answering_sums import sum_prompt
from peerexam.protocols.config import ExamConfig
from peerexam.protocols.spans import Span, exactly
from peerexam.protocols.study_plan import CHARACTERS_PER_TOKEN, StudyPlan, StudyWork, study_plan
from peerexam.tasks.arithmetic import ArithmeticGraph

_NUMBER_TOKENS = 4.0

ASSUMPTIONS = (
    "a part whose answer cannot be read is put into no prompt; expected is that all can be",
    "equal prompts are paid for once",
    f"replies of {_NUMBER_TOKENS:g} tokens",
)


def sums_plan(config: ExamConfig, graphs: Sequence[ArithmeticGraph]) -> StudyPlan:
    """Count the prompts of every kind, and price them.

    Raises:
        SetupError: A model's name or a prompt cannot be read.
    """
    around = len(sum_prompt(PromptLibrary(config.prompts), True, "").text)
    initial = [graph.text(node) for graph in graphs for node in graph.inner]
    # An answer is taken to be as long as what it stands for, which is seldom too short.
    pairs = [
        graph.text(node) for graph in graphs for node in graph.inner for _ in graph.parts(node)
    ]
    variants = [variant.text for graph in graphs for variant in graph.variants]
    work = [
        StudyWork(
            agent.name,
            task,
            calls,
            calls * (mean_length(texts, around) / CHARACTERS_PER_TOKEN),
            calls * _NUMBER_TOKENS,
        )
        for agent in config.agents
        for task, texts, calls in (
            ("initial prompts", initial, exactly(len(initial))),
            ("self-knowledge prompts", pairs, Span(0, len(pairs), len(pairs))),
            ("order and association", variants, exactly(len(variants))),
        )
    ]
    return study_plan(config, work, ASSUMPTIONS)


def mean_length(texts: Sequence[str], around: int) -> float:
    """Characters of a prompt, on average."""
    return around + sum(map(len, texts)) / max(1, len(texts))
