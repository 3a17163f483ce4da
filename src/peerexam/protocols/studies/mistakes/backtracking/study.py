"""Backtracking with every agent from every locator's locations (BIG-Bench Mistake, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.mistakes.finding import FinderOptions
from peerexam.examiners.mistakes.step_writing import ThoughtWriter, WriterOptions
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.base import Study, studying
from peerexam.protocols.studies.mistakes.backtracking.locators import (
    Location,
    Locator,
    given_locations,
    majority,
)
from peerexam.protocols.studies.mistakes.backtracking.protocol import Mended, backtrack
from peerexam.protocols.studies.mistakes.finding.protocol import Find, find_mistake
from peerexam.runfolder.folder import write_rows
from peerexam.tasks.mistakes.traces import Trace

BACKTRACKS = "backtracks.jsonl"


@dataclass(frozen=True, slots=True)
class Backtracking:
    """What is to be done.

    Attributes:
        traces: To take up again, in the order of asking.
        whole: The data set that they are of; simulated locators follow its distribution.
        locators: Who says where.
        samples: How many new steps are drawn in place of one.
        seed: Of draws and fences.
    """

    traces: Sequence[Trace]
    whole: Sequence[Trace]
    locators: Sequence[Locator]
    samples: int = 8
    seed: int = 0

    @property
    def asks(self) -> bool:
        """Whether agents are asked where the mistakes are."""
        return any(locator.asks for locator in self.locators)


@dataclass(frozen=True, slots=True)
class Backtrack:
    """One trace, taken up by one agent from one locator's location.

    Attributes:
        trace: Which.
        agent: Who wrote on.
        locator: Who said where, as in `gold` or `peer:NAME`.
        location: The step from 0; None for no mistake, or where nobody could say.
        located: `ok`, or why there is no location.
        mended: What came of it; None where the call for the location failed.
        reason: Why it did.
    """

    trace: Trace
    agent: str
    locator: str
    location: Location
    located: str
    mended: Mended | None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether calls failed, so that it says nothing of the agent."""
        return self.mended is None or self.mended.outcome == "error"

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right afterwards; None where that is not known."""
        if self.mended is None or self.mended.outcome == "error":
            return None
        return self.mended.correct(self.trace.target)

    def to_json(self) -> dict[str, Json]:
        """A row of `backtracks.jsonl`."""
        body: dict[str, Json] = {
            "trace": self.trace.id,
            "task": self.trace.task,
            "agent": self.agent,
            "locator": self.locator,
            "location": self.location,
            "located": self.located,
            "gold": self.trace.mistake_index,
            "correct_before": self.trace.correct_answer,
            "correct_after": self.correct,
        }
        if self.mended is None:
            return body | {"outcome": "error", "reason": self.reason}
        return body | self.mended.to_json()


@dataclass(frozen=True, slots=True)
class Backtracks:
    """What was done.

    Attributes:
        rows: By trace, agent and locator; whole traces only.
        stopped: Which budget ended it; None where all is done.
        lost: Why agents were given up, by name.
        fingerprints: What every agent is.
    """

    rows: tuple[Backtrack, ...]
    stopped: str | None
    lost: Mapping[str, str]
    fingerprints: Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class _Place:
    """A location as a locator gave it."""

    locator: str
    location: Location
    located: str = "ok"
    reason: str | None = None


def check_backtracking(work: Backtracking, agents: Sequence[str]) -> None:
    """Refuse what cannot be done, before any model is called.

    Raises:
        SetupError: There is no sample, no trace, or no peer to ask.
    """
    if work.samples < 1:
        raise SetupError("--samples is a number of new steps, 1 or more")
    if not work.traces:
        raise SetupError("there is no trace to take up")
    peers = [one.kind for one in work.locators if one.kind in ("peers", "each-peer")]
    if peers and len(agents) < 2:
        raise SetupError(f"'{peers[0]}' needs two agents at least: name another with --agents")


async def backtrack_all(
    config: ExamConfig,
    work: Backtracking,
    folder: Path,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
) -> Backtracks:
    """Take every trace up again with every agent, from the locations of every locator.

    Locators that see a mistake at the same place share the calls.

    Args:
        config: See `study_config`.
        work: What to do.
        folder: Where the ledger is by default.
        db: Another ledger.
        agents: Agents of your own by name, in place of the config's models.
        progress: Counters to feed.

    Raises:
        SetupError: An agent or a trained locator cannot be had, or the folder holds an exam.
    """
    check_backtracking(work, [agent.name for agent in config.agents])
    given = {
        locator.name: given_locations(locator, work.traces, work.whole, work.seed)
        for locator in work.locators
        if not locator.asks
    }
    async with studying(config, folder, db=db, agents=agents, progress=progress) as study:

        async def of_trace(trace: Trace) -> list[Backtrack]:
            finds = await _finds(study, work, trace)
            found = await together(
                _of_agent(study, work, trace, agent, _places(work, trace, agent, given, finds))
                for agent in study.agents
            )
            return [row for rows in found for row in rows]

        gone = await study.over(work.traces, of_trace)
        rows = tuple(row for rows in gone.found for row in rows)
        return Backtracks(rows, gone.stopped, study.lost(), study.fingerprints)


async def _finds(study: Study, work: Backtracking, trace: Trace) -> dict[str, Find]:
    """Where every agent sees the mistake, by its direct look at the whole trace."""
    if not work.asks:
        return {}
    options = FinderOptions(seed=work.seed)
    finds = await together(
        find_mistake(agent, study.prompts, trace, "trace", options)
        for agent in study.agents.values()
    )
    return dict(zip(study.agents, finds, strict=True))


def _places(
    work: Backtracking,
    trace: Trace,
    agent: str,
    given: Mapping[str, Mapping[str, Location]],
    finds: Mapping[str, Find],
) -> list[_Place]:
    places: list[_Place] = []
    for locator in work.locators:
        if not locator.asks:
            places.append(_Place(locator.name, given[locator.name][trace.id]))
        elif locator.kind == "own":
            places.append(_seen(locator.name, finds[agent]))
        else:
            others = {name: find for name, find in finds.items() if name != agent}
            if locator.kind == "each-peer":
                places += [_seen(f"peer:{name}", find) for name, find in others.items()]
            else:
                places.append(_by_majority(locator.name, list(others.values())))
    return places


def _seen(name: str, find: Find) -> _Place:
    return _Place(name, find.location, find.state, find.reason)


def _by_majority(name: str, finds: Sequence[Find]) -> _Place:
    """Of the peers whose reply could be read; as the first has it where none could."""
    read = [find for find in finds if find.state == "ok"]
    if not read:
        return _seen(name, finds[0])
    return _Place(name, majority([find.location for find in read]))


async def _of_agent(
    study: Study, work: Backtracking, trace: Trace, agent: str, places: Sequence[_Place]
) -> list[Backtrack]:
    writer = ThoughtWriter(study.agents[agent], study.prompts, WriterOptions(seed=work.seed))
    # A reply that could not be read locates nothing, and leaves the trace alone.
    wanted = list(dict.fromkeys(one.location for one in places if one.located != "error"))
    done = await together(backtrack(writer, trace, where, work.samples) for where in wanted)
    by_location = dict(zip(wanted, done, strict=True))
    return [
        Backtrack(
            trace,
            agent,
            one.locator,
            one.location,
            one.located,
            None if one.located == "error" else by_location[one.location],
            one.reason,
        )
        for one in places
    ]


def write_backtracks(folder: Path, rows: Sequence[Backtrack]) -> Path:
    """Leave `backtracks.jsonl` in a folder, in one step."""
    path = folder / BACKTRACKS
    write_rows(path, (row.to_json() for row in rows))
    return path
