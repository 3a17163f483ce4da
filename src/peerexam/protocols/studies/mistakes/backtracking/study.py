"""Backtracking with every agent from every locator's locations (BIG-Bench Mistake, §4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.mistakes.finding import FinderOptions
from peerexam.examiners.mistakes.step_writing import ThoughtWriter, WriterOptions
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, Study, flat, row_of
from peerexam.protocols.studies.mistakes.backtracking.locators import (
    Location,
    Locator,
    given_locations,
    majority,
)
from peerexam.protocols.studies.mistakes.backtracking.protocol import BacktrackResult, backtrack
from peerexam.protocols.studies.mistakes.finding.protocol import Find, find_mistake
from peerexam.tasks.mistakes.traces import Trace

BACKTRACKS = "backtracks.jsonl"


@dataclass(frozen=True, slots=True)
class Backtracking:
    """What is to be done.

    Attributes:
        traces: To backtrack, in the order of asking.
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

    async def ask(self, study: Study) -> Progressed[Backtrack]:
        """Backtrack every trace with every agent, from the locations of every locator.

        Locators that see a mistake at the same place share the calls.

        Raises:
            SetupError: It cannot be done with these agents, or a trained locator cannot be had.
        """
        check_backtracking(self, list(study.agents))
        given = {
            locator.name: given_locations(locator, self.traces, self.whole, self.seed)
            for locator in self.locators
            if not locator.asks
        }

        async def of_trace(trace: Trace) -> list[Backtrack]:
            finds = await _finds(study, self, trace)
            found = await together(
                _of_agent(study, self, trace, agent, _places(self, trace, agent, given, finds))
                for agent in study.agents
            )
            return [row for rows in found for row in rows]

        return flat(await study.over(self.traces, of_trace))

    def files(self, rows: Sequence[Backtrack]) -> dict[str, Iterable[dict[str, Json]]]:
        """What became of every trace, one a row."""
        return {BACKTRACKS: (row.to_json() for row in rows)}


@dataclass(frozen=True, slots=True)
class Backtrack:
    """One trace, backtracked by one agent from one locator's location.

    Attributes:
        trace: Which.
        agent: Who wrote on.
        locator: Who said where, as in `gold` or `peer:NAME`.
        location: The step from 0; None for no mistake, or where nobody could say.
        located: `ok`, or why there is no location.
        result: What came of it; None where the call for the location failed.
        reason: Why it did.
    """

    trace: Trace
    agent: str
    locator: str
    location: Location
    located: str
    result: BacktrackResult | None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether calls failed, so that it says nothing of the agent."""
        return self.result is None or self.result.outcome == "error"

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right afterwards; None where that is not known."""
        if self.result is None or self.result.outcome == "error":
            return None
        return self.result.correct(self.trace.target)

    def to_json(self) -> dict[str, Json]:
        """A row of `backtracks.jsonl`."""
        body = row_of(
            self,
            "trace task agent locator location located gold correct_before correct_after",
            trace=self.trace.id,
            task=self.trace.task,
            gold=self.trace.mistake_index,
            correct_before=self.trace.correct_answer,
            correct_after=self.correct,
        )
        if self.result is None:
            return body | {"outcome": "error", "reason": self.reason}
        return body | self.result.to_json()


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
