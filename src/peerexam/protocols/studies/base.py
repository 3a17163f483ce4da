"""Asking agents outside an exam: ledger, budget, layers, progress, and no roles.

The experiments on self-judgement ask agents directly. What is around the agents is what an exam
puts there, so that the same holds: what was answered is on disk before anyone acts on it, and the
same command goes on after a stop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Json, Request
from peerexam.errors import BudgetReachedError, CallError, ConfigError, SetupError
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.checks import PLAYS_DIRECTLY, agent_spec
from peerexam.protocols.config.models import AgentConfig, ExamConfig, Limits, Questions
from peerexam.protocols.run.setup import Setup, set_up
from peerexam.protocols.session.concurrency import in_order
from peerexam.protocols.session.progress import Progress
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_rows

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Progressed(Generic[Found]):
    """How far one went over some items.

    Attributes:
        found: Of the completed items, in their order: the first of them, no gap.
        stopped: Which budget ended it; None where all is done.
    """

    found: tuple[Found, ...]
    stopped: str | None = None


async def over(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Found]], window: int
) -> Progressed[Found]:
    """See `Study.over`."""
    found: list[Found] = []
    try:
        async for one in in_order(items, work, window):
            found.append(one)  # noqa: PERF401 (a comprehension would lose them)
    except BudgetReachedError as reached:
        return Progressed(tuple(found), str(reached))
    return Progressed(tuple(found))


def flat(done: Progressed[list[Found]]) -> Progressed[Found]:
    """The same where one item's work left several records: all of them in a row."""
    return Progressed(tuple(one for each in done.found for one in each), done.stopped)


@dataclass(frozen=True, slots=True)
class StudyRecords(Generic[Found]):
    """What a study asked, before anything is measured.

    Attributes:
        rows: Of the completed items, in the order of asking.
        stopped: Which budget ended it; None where all is done.
        lost: Why agents were given up, by name.
        fingerprints: What every agent is.
    """

    rows: tuple[Found, ...]
    stopped: str | None
    lost: Mapping[str, str]
    fingerprints: Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Study:
    """What an experiment asks with.

    Attributes:
        agents: By name, in the order in which they were named.
        prompts: The words, the user's own in place of ours.
        window: How many items are worked on at once.
        fingerprints: What every agent is.
        config: The agents' settings and the limits round them.
    """

    agents: Mapping[str, Agent]
    prompts: PromptLibrary
    window: int
    fingerprints: Mapping[str, Mapping[str, Json]]
    config: ExamConfig
    setup: Setup

    def lost(self) -> dict[str, str]:
        """Why agents were given up, by their name."""
        return self.setup.lost()

    async def over(
        self, items: Iterable[Item], work: Callable[[Item], Awaitable[Found]]
    ) -> Progressed[Found]:
        """Work on items, a window of them at a time, until all are done or a budget is reached.

        Args:
            items: What to work on.
            work: All that is asked about one item. It raises `BudgetReachedError` or nothing that
                an agent caused; see `ask`.
        """
        return await over(items, work, self.window)


def study_config(
    agents: Sequence[AgentConfig],
    name: str,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    prompts: Mapping[str, Path] | None = None,
) -> ExamConfig:
    """The settings round agents that play no role.

    Raises:
        ConfigError: No agent is named, or one is a simulated participant, which answers no request.
    """
    if not agents:
        raise ConfigError("name at least one agent: a model, or a file with an agents: list")
    for agent in agents:
        if agent_spec(agent).provider == PLAYS_DIRECTLY:
            raise ConfigError(
                f"'{agent.name}' is a simulated participant, which has roles in an exam and "
                "answers no request: name a model"
            )
    return ExamConfig(
        name=name,
        seed=seed,
        agents=tuple(agent.model_copy(update={"roles": ()}) for agent in agents),
        questions=Questions(domains=("study",)),
        limits=limits or Limits(),
        prompts=dict(prompts or {}),
    )


@asynccontextmanager
async def studying(
    config: ExamConfig,
    folder: Path,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
) -> AsyncIterator[Study]:
    """Open ledger and agents for an experiment; close them at the end.

    Args:
        config: See `study_config`.
        folder: Where the ledger is by default; made where it is missing.
        db: Another ledger, a path or URL.
        agents: Agents of your own by name, in place of the config's models.
        progress: Counters to feed.

    Raises:
        SetupError: An agent cannot be built, or the folder holds an exam.
    """
    run = RunFolder(folder)
    if run.config_path.exists():
        raise SetupError(f"{folder} holds an exam: name another folder for the study")
    run.create()
    async with set_up(config, run, db=db, agents=agents, progress=progress) as setup:
        yield Study(
            setup.agents, setup.prompts, setup.window, dict(setup.fingerprints), config, setup
        )


class Settings(Protocol[Found]):
    """What one study asks, and which files its records go to."""

    async def ask(self, study: Study) -> Progressed[Found]:
        """Ask everything, item by item."""

    def files(self, rows: Sequence[Found]) -> Mapping[str, Iterable[Mapping[str, Json]]]:
        """JSONL files by name."""


async def ask_study(
    config: ExamConfig,
    settings: Settings[Found],
    folder: Path,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
) -> StudyRecords[Found]:
    """Ask all that a study asks, and write its records.

    Args:
        config: See `study_config`.
        settings: What to ask.
        folder: Where records go, and the ledger by default.
        db: Another ledger, a path or URL.
        agents: Agents of your own by name, in place of the config's models.
        progress: Counters to feed.

    Raises:
        SetupError: An agent cannot be built, the folder holds an exam, or the settings do not fit
            the agents.
    """
    async with studying(config, folder, db=db, agents=agents, progress=progress) as study:
        done = await settings.ask(study)
        for name, rows in settings.files(done.found).items():
            write_rows(folder / name, rows)
        return StudyRecords(done.found, done.stopped, study.lost(), study.fingerprints)


def row_of(record: object, keys: str, **values: Json) -> dict[str, Json]:
    """A row of a JSONL file.

    Args:
        record: Its attributes are the values.
        keys: In the order of the row, with spaces between.
        values: In place of attributes, or where there is none.
    """
    return {key: values[key] if key in values else getattr(record, key) for key in keys.split()}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request.

    Attributes:
        completion: None where the call failed.
        error: Why it failed, as `CLASS: message`.
        call: Ledger key of the call, failed or not; None where it is in no ledger.
    """

    completion: Completion | None
    error: str | None = None
    call: str | None = None

    @property
    def text(self) -> str | None:
        """The text, where there is one that may be used; one cut at the length limit counts."""
        if self.completion is None or self.completion.state not in ("ok", "truncated"):
            return None
        return self.completion.text


async def ask(agent: Agent, request: Request) -> Reply:
    """Ask once; a call that fails for good is a reply, and what ends the run is raised.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    try:
        completion = await agent.complete(request)
    except CallError as error:
        return Reply(None, f"{type(error).__name__}: {error}", error.call)
    return Reply(completion, call=completion.call or None)
