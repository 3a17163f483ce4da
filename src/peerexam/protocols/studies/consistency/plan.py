"""What the studies of consistency will ask, worked out from graphs, prompts and questions."""

from __future__ import annotations

from collections.abc import Sequence

from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.ranges import Range, exactly
from peerexam.protocols.studies.consistency.answering_sums import sum_prompt
from peerexam.protocols.studies.consistency.hypothetical import TEMPLATES, Asking
from peerexam.protocols.studies.consistency.programs import Example, GeoItem, program_prompt
from peerexam.protocols.studies.plan import CHARACTERS_PER_TOKEN, StudyPlan, StudyWork, study_plan
from peerexam.tasks.consistency.arithmetic import ArithmeticGraph

_NUMBER_TOKENS = 4.0
_TEXT_TOKENS = 60.0
_CHOICE_TOKENS = 4.0
_AROUND = 400
"""Characters of a template round a prompt, its marks included."""

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
            ("self-knowledge prompts", pairs, Range(0, len(pairs), len(pairs))),
            ("order and association", variants, exactly(len(variants))),
        )
    ]
    return study_plan(config, work, ASSUMPTIONS)


def mean_length(texts: Sequence[str], around: int) -> float:
    """Characters of a prompt, on average."""
    return around + sum(map(len, texts)) / max(1, len(texts))


def hypothetical_plan(config: ExamConfig, asking: Asking) -> StudyPlan:
    """Count prompts, templates over them, and choices; and price them.

    Raises:
        SetupError: A model's name or a prompt cannot be read.
    """
    prompts = PromptLibrary(config.prompts)
    count = len(asking.texts)
    length = sum(len(asking.direct(prompts, True, text).text) for text in asking.texts)
    reply = _NUMBER_TOKENS if asking.sums else _TEXT_TOKENS
    told = length + _AROUND * count
    offered = told + 4 * reply * CHARACTERS_PER_TOKEN * count
    work = [
        StudyWork(agent.name, task, calls, calls * (characters / size), calls * tokens)
        for agent in config.agents
        for task, calls, characters, tokens in (
            ("prompts", exactly(count), length, reply),
            ("templates", exactly(count * len(TEMPLATES)), told, reply),
            ("choices", Range(0, count, count), offered, _CHOICE_TOKENS),
        )
        for size in [CHARACTERS_PER_TOKEN * count]
    ]
    return study_plan(
        config,
        work,
        (
            "a choice needs four replies that differ; expected is that every prompt has them",
            "equal prompts are paid for once",
            f"replies of {reply:g} tokens",
        ),
    )


def programs_plan(
    config: ExamConfig, items: Sequence[GeoItem], pairs: Sequence[Example]
) -> StudyPlan:
    """Count questions and sub-questions, and price them.

    Raises:
        SetupError: A model's name or a prompt cannot be read.
    """
    around = len(program_prompt(PromptLibrary(config.prompts), True, "", pairs).text)
    asked = {
        "questions": [(item.question.text, item.question.program) for item in items],
        "sub-questions": [(part.text, part.program) for item in items for part in item.parts],
    }
    work = [
        StudyWork(
            agent.name,
            task,
            exactly(len(texts)),
            exactly(sum(around + len(text) for text, _ in texts) / CHARACTERS_PER_TOKEN),
            exactly(sum(len(str(gold)) for _, gold in texts) / CHARACTERS_PER_TOKEN),
        )
        for agent in config.agents
        for task, texts in asked.items()
    ]
    return study_plan(
        config,
        work,
        ("equal prompts are paid for once", "programs as long as the gold ones"),
    )
