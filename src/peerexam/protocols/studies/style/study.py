"""A style probe from agents to files: rewriter, checker and judges on a stage of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.style import ModelContentChecker, ModelRewriter
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.models import AgentConfig, ExamConfig, Questions
from peerexam.protocols.run.setup import Setup, set_up
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.base import Progressed
from peerexam.protocols.studies.style.protocol import Sample, StyleTrial, probe_style
from peerexam.protocols.studies.style.records import (
    failed_calls,
    rewrite_rows,
    style_figures,
    verdict_rows,
)
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_object, write_rows

RESULT, REWRITES, VERDICTS = "style.json", "rewrites.jsonl", "verdicts.jsonl"


@dataclass(frozen=True, slots=True)
class StyleCast:
    """Who does what.

    Attributes:
        agents: All of them, judges with the role of a judge and no others.
        judges: Names, in the order of the table.
    """

    agents: tuple[AgentConfig, ...]
    rewriter: str
    checker: str
    judges: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Calls for one sample that is kept, judges by likelihood counted as if they were asked."""
        played = {one.name for one in self.agents if _is_simulated(one)}
        return 2 + 2 * len(set(self.judges) - played)


def style_cast(
    agents: Sequence[AgentConfig],
    rewriter: str,
    checker: str | None = None,
    judges: Sequence[str] | None = None,
) -> StyleCast:
    """Choose who does what, before any model is asked.

    Args:
        agents: Those there are.
        rewriter: Name of the one that rewrites.
        checker: Of the one that checks; by default the first model that is not the rewriter.
        judges: Of those that compare; by default all that have the role of a judge.

    Raises:
        SetupError: A name is not among the agents, is to do what it cannot, or nobody is left to
            check.
    """
    by_name = {agent.name: agent for agent in agents}
    for what, name in [("--rewriter", rewriter), ("--checker", checker)]:
        if name is not None:
            _must_be_asked(what, name, by_name)
    if checker == rewriter:
        raise SetupError(
            f"--checker {checker} would vouch for its own rewriting: name another agent"
        )
    if checker is None:
        checker = next(
            (a.name for a in agents if a.name != rewriter and not _is_simulated(a)), None
        )
    if checker is None:
        raise SetupError(
            f"nobody but the rewriter '{rewriter}' could check that the content was kept: add a "
            "second model to the agents, and name it by --checker"
        )
    named = list(judges) if judges else [a.name for a in agents if "judge" in a.roles]
    for name in named:
        _must_be_there("--judges", name, by_name)
    if not named:
        raise SetupError("none of the agents is a judge: name some by --judges")
    chosen = tuple(dict.fromkeys(named))
    playing = {rewriter, checker, *chosen}
    return StyleCast(
        tuple(
            agent.model_copy(update={"roles": ("judge",) if agent.name in chosen else ()})
            for agent in agents
            if agent.name in playing
        ),
        rewriter,
        checker,
        chosen,
    )


def _must_be_there(what: str, name: str, agents: Mapping[str, AgentConfig]) -> None:
    if name not in agents:
        raise SetupError(f"{what} {name}: the agents are {', '.join(agents)}")


def _must_be_asked(what: str, name: str, agents: Mapping[str, AgentConfig]) -> None:
    _must_be_there(what, name, agents)
    if _is_simulated(agents[name]):
        raise SetupError(f"{what} {name} is a simulated participant and writes no text")


def _is_simulated(agent: AgentConfig) -> bool:
    return agent.model.startswith(f"{PLAYS_DIRECTLY}/")


@dataclass(frozen=True, slots=True)
class StyleResult:
    """What came of it.

    Attributes:
        body: As it stands in `style.json`.
        failed: What calls that failed said.
        stopped: Which budget ended it.
    """

    body: dict[str, Json]
    failed: Sequence[str]
    stopped: str | None

    @property
    def is_complete(self) -> bool:
        """Whether everything that was to be asked has been answered."""
        return self.stopped is None and not self.failed


async def study_style(
    samples: Sequence[Sample],
    cast: StyleCast,
    out: Path,
    *,
    seed: int = 0,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    confidence: float = 0.95,
) -> StyleResult:
    """Run a style probe, and leave its records in a folder.

    Args:
        samples: See `style_probe.draw_samples`.
        cast: Who does what.
        out: The folder; the ledger is there by default, and the same call goes on with it.
        seed: Of the fences, and of simulated judges.
        db: Another ledger, a path or URL.
        agents: Agents of your own by name, in place of the cast's models.
        progress: Counters to feed.
        confidence: Of the intervals.

    Raises:
        SetupError: The folder holds a run, or an agent cannot be built.
    """
    folder = RunFolder(out)
    if folder.manifest_path.exists() or folder.config_path.exists():
        raise SetupError(
            f"{out} holds a run, and its verdicts would be replaced: choose another --out "
            f"(--db {folder.ledger_path} shares its ledger)"
        )
    config = ExamConfig(
        name="style", seed=seed, agents=cast.agents, questions=Questions(domains=("style",))
    )
    folder.create()
    async with set_up(config, folder, db=db, agents=agents, progress=progress) as scene:
        trials = await probe_style(
            samples,
            ModelRewriter(scene.agents[cast.rewriter], scene.prompts, seed),
            ModelContentChecker(scene.agents[cast.checker], scene.prompts, seed),
            {name: scene.roles.judges[name] for name in cast.judges},
            scene.window,
        )
        own = _with_the_rewriters_model(scene, cast)
    return _left(trials, cast, own, out, seed, confidence)


def _with_the_rewriters_model(scene: Setup, cast: StyleCast) -> list[str]:
    """Judges that are the rewriter, or its model under another name."""
    rewriter = scene.fingerprints[cast.rewriter]
    return [
        name
        for name in cast.judges
        if name == cast.rewriter or scene.fingerprints.get(name) == rewriter
    ]


def _left(
    trials: Progressed[StyleTrial],
    cast: StyleCast,
    own: Iterable[str],
    out: Path,
    seed: int,
    confidence: float,
) -> StyleResult:
    failed = failed_calls(trials.found)
    body: dict[str, Json] = {
        "schema": SCHEMA_VERSION,
        "status": "partial" if failed or trials.stopped else "complete",
        "status_reason": trials.stopped,
        "failed_calls": len(failed),
        "rewriter": cast.rewriter,
        "checker": cast.checker,
        "seed": seed,
        "confidence": confidence,
        **style_figures(trials.found, cast.judges, own, confidence),
    }
    write_rows(out / REWRITES, rewrite_rows(trials.found))
    write_rows(out / VERDICTS, verdict_rows(trials.found))
    write_object(out / RESULT, body)
    return StyleResult(body, failed, trials.stopped)
