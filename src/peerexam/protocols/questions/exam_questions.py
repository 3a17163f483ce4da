"""The questions that a config asks its examiners for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from peerexam.errors import ConfigError
from peerexam.examiners.base import Examiner
from peerexam.protocols.config.domains import chosen_domains, domain_notes
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.questions.repetitions import RepetitionRules
from peerexam.protocols.questions.sealing import QuestionSet, set_questions


async def exam_questions(
    config: ExamConfig, examiners: Sequence[Examiner], *, partial: bool = False
) -> QuestionSet:
    """Let the examiners set the questions of a config, whatever file it names.

    Args:
        config: The exam.
        examiners: Who sets.
        partial: Where a budget ends it, return what there is.

    Raises:
        BudgetReachedError: A budget ended it, and `partial` is false.
        ConfigError: There is no examiner.
        SetupError: The domains, or the encoder that finds repetitions, cannot be had.
    """
    if not examiners:
        raise ConfigError("no agent has the role examiner, so nobody sets questions")
    questions = config.questions
    found = await set_questions(
        examiners,
        chosen_domains(questions, config.seed),
        questions.per_domain,
        questions.style,
        RepetitionRules.of(questions),
        partial=partial,
    )
    return replace(found, notes=(*domain_notes(questions), *found.notes))
