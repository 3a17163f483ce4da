"""Who says what level questions ask for, who answers its own, and who compares these answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from peerexam.agents.base import Agent
from peerexam.agents.layers.watched import Watched, Watcher
from peerexam.examiners.base import Author, Checker, Classifier
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.questions.levels import LevelClassifier, LevelOptions
from peerexam.examiners.questions.references import (
    CheckOptions,
    ModelAuthor,
    ModelChecker,
    ReferenceOptions,
)
from peerexam.examiners.simulated.participants import SimParticipant
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.token_limits import Reply, role_limit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Annotators:
    """By name, whoever is asked about the questions before they are sealed.

    Attributes:
        classifiers: The first one's word goes into the questions.
        authors: The examiners, where references are asked for.
        checkers: The one that the config names, or every author for itself.
    """

    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    authors: Mapping[str, Author] = field(default_factory=dict)
    checkers: Mapping[str, Checker] = field(default_factory=dict)


def annotators(
    config: ExamConfig,
    models: Mapping[str, Agent],
    simulated: Mapping[str, SimParticipant],
    prompts: PromptLibrary,
    watcher: Watcher,
) -> Annotators:
    """Give the agents that a config names these parts; those that are not built are left out.

    Args:
        config: The exam.
        models: Agents by name, with all their layers.
        simulated: Simulated participants by name.
        prompts: The words.
        watcher: Told of every call.
    """
    questions, seed = config.questions, config.seed
    reasks, warm = config.judging.reasks, questions.references.temperature
    by_name = {agent.name: agent for agent in config.agents}

    def having(
        names: Iterable[str], role: str, reply: Reply, build: Callable[[Agent, int], T]
    ) -> dict[str, T | SimParticipant]:
        found: dict[str, T | SimParticipant] = {}
        for name in names:
            if name in simulated:
                found[name] = simulated[name]
            elif name in models:
                limit = role_limit(config, by_name[name], reply)
                found[name] = build(Watched(models[name], watcher, role), limit)
        return found

    def classifier(agent: Agent, limit: int) -> LevelClassifier:
        return LevelClassifier(agent, prompts, LevelOptions(limit, reasks, seed=seed))

    def author(agent: Agent, limit: int) -> ModelAuthor:
        return ModelAuthor(agent, prompts, ReferenceOptions(limit, warm))

    def checker(agent: Agent, limit: int) -> ModelChecker:
        return ModelChecker(agent, prompts, CheckOptions(limit, reasks, seed=seed))

    return Annotators(
        having(questions.levels.classifiers, "classifier", "levels", classifier),
        having(authors_of(config), "author", "references", author),
        having(checkers_of(config), "checker", "judging", checker),
    )


def authors_of(config: ExamConfig) -> tuple[str, ...]:
    """Who answers its own questions; nobody where the config asks for no reference."""
    if not config.questions.references.draws:
        return ()
    return tuple(agent.name for agent in config.agents_in("examiner"))


def checkers_of(config: ExamConfig) -> tuple[str, ...]:
    """Who compares an author's answers; nobody where there is one draw or none."""
    references = config.questions.references
    if references.draws < 2:
        return ()
    return authors_of(config) if references.checker is None else (references.checker,)
