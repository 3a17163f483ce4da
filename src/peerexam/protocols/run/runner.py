"""Running an exam from its config: the protocols `exam` and `peer_exam`.

Both are the same program over different roles. In `peer_exam` (examiner paper, §3.3) every agent
sets questions, answers all of them, and judges the others; in `exam` (§4.2) one central examiner
sets and judges alone. The questions are sealed before any answer is asked, but for those that the
pilot tries: whoever sets the others is shown no answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import BudgetReachedError, NoStandingsError
from peerexam.protocols.config.domains import domain_count
from peerexam.protocols.config.loading import dump_config, load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.exam.examination import examine
from peerexam.protocols.exam.injection_probe import probe_plan, write_probes
from peerexam.protocols.exam.late_agents import examine_with_joined, joined_late
from peerexam.protocols.questions.annotators import Annotators
from peerexam.protocols.questions.exam_questions import exam_questions
from peerexam.protocols.questions.sealing import QuestionSet, given_questions
from peerexam.protocols.run.annotating import Annotated, annotate, write_notes
from peerexam.protocols.run.finishing import finish
from peerexam.protocols.run.folder.lock import claimed
from peerexam.protocols.run.folder.setup_digest import input_digests, setup_digest
from peerexam.protocols.run.injection_gate import probe_for_fitness
from peerexam.protocols.run.loop import examine_all
from peerexam.protocols.run.pilot import check_judges
from peerexam.protocols.run.pilot import pilot as run_pilot
from peerexam.protocols.run.resume import Resume
from peerexam.protocols.run.setup import Setup, set_up
from peerexam.protocols.session import event_loop
from peerexam.protocols.session.garbage_collection import rare_collections
from peerexam.protocols.session.outcome import Outcome
from peerexam.protocols.session.progress import Progress
from peerexam.runfolder import RunFolder
from peerexam.tasks.questions.file import load_questions
from peerexam.tasks.questions.sealed import is_sealed

T = TypeVar("T")

_SEALED = (
    "the questions are those of a sealed data set: levels and references are as they came with "
    "them, and none was asked for"
)
_NOT_IN_A_NAME = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')


async def run_exam(
    config: ExamConfig,
    out: Path,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    replace: bool = False,
    pilot: bool | None = None,
) -> Outcome:
    """Run an exam, or resume one: what the ledger holds is not asked again.

    Args:
        config: The exam.
        out: The run's folder; made where it is missing.
        db: Ledger, a path or URL; by default `ledger.sqlite` in the folder.
        agents: Agents of your own by their name in the exam, in place of the config's models.
        progress: Counts the calls.
        replace: Whether results of another set-up in the folder may be replaced.
        pilot: Whether a first question goes through every role before the rest is asked; None is
            what the config says.

    Raises:
        SetupError: Something is wrong that no model need be asked to know.
        NoStandingsError: No standings could follow, by the pilot or since no examiner set a
            single question. What was answered is in the ledger.
    """
    piloted = config.pilot if pilot is None else pilot
    if piloted:
        check_judges(config)
    command = None if replace else "run"
    with claimed(Path(out), config, replaced_by=command) as folder, rare_collections():
        async with set_up(config, folder, db=db, agents=agents, progress=progress) as setup:
            # Only now: building the agents refuses a config that holds a key.
            folder.write_config(dump_config(config))
            return await _run(config, folder, setup, piloted=piloted)


async def _run(config: ExamConfig, folder: RunFolder, setup: Setup, *, piloted: bool) -> Outcome:
    progress = setup.progress
    planned = len(config.agents_in("examiner")) * domain_count(config.questions)
    planned *= config.questions.per_domain
    try:
        if piloted:
            await _pilot(config, setup)
        if config.questions.file is None:
            progress.note = "setting questions"
            questions = await exam_questions(config, list(setup.roles.examiners.values()))
        else:
            questions = given_questions(load_questions(config.questions.file))
        planned = questions.planned
        progress.note = _asked_about(setup.annotators) or progress.note
        annotated = await _annotated(questions, setup, config)
    except BudgetReachedError as reached:
        return await _before_any_question(config, folder, setup, planned, reached)
    questions = annotated.questions
    write_notes(folder, annotated.votes, annotated.references)
    if not questions.questions:
        why = "no question is left" if annotated.references else "no examiner set a single question"
        raise NoStandingsError(f"{why}:\n" + "\n".join(questions.notes))
    if probe_plan(config) is not None:
        progress.note = "probing judges"
    probed = await probe_for_fitness(config, folder, setup.roles.judges)
    progress.note = "examining"
    joined = [agent.name for agent in config.agents if agent.joined]
    questions = replace(questions, notes=(*questions.notes, *map(joined_late, joined)))
    counts = await examine_all(
        questions.questions,
        probed.gate(lambda asked: examine_with_joined(asked, setup.roles, setup.rules, joined)),
        folder,
        setup,
        Resume(
            folder.checkpoint_path,
            setup_digest(config, setup.fingerprints, questions.seal),
            setup.ledger,
        ),
    )
    annotated.count_failures(counts)
    probed.count_failures(counts)
    progress.note = "counting the votes"
    return finish(config, folder, setup.fingerprints, questions, counts, input_digests(config))


async def _pilot(config: ExamConfig, setup: Setup) -> None:
    progress = setup.progress
    progress.note = "pilot: a first question in every role"
    file = config.questions.file
    with suppress(BudgetReachedError):  # what comes next meets it, too, and keeps what is whole
        await run_pilot(config, setup, None if file is None else load_questions(file))
    if progress.planned is not None:
        progress.planned += progress.asked.done  # they pass once more, from the ledger


async def _before_any_question(
    config: ExamConfig, folder: RunFolder, setup: Setup, planned: int, reached: BudgetReachedError
) -> Outcome:
    """A run whose budget did not last until the questions were sealed; its calls are kept."""
    none = QuestionSet((), planned)
    write_notes(folder, (), ())
    write_probes(folder, ())
    # Going over the records with none of our own clears those of a config that has changed.
    counts = await examine_all(
        (), lambda question: examine(question, setup.roles, setup.rules), folder, setup
    )
    counts.stopped = str(reached)
    return finish(config, folder, setup.fingerprints, none, counts, input_digests(config))


def run(
    config: ExamConfig | Path | str | Mapping[str, Json],
    out: Path | str | None = None,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    replace: bool = False,
    pilot: bool | None = None,
) -> Outcome:
    """The same for callers without an event loop, and inside a running one (a notebook).

    Args:
        config: An `ExamConfig`, the path of an EXAM.yaml, or a dict of what would stand in one.
        out: The run's folder; by default the config's `output`, or `runs/NAME`.
        db: Ledger, a path or URL.
        agents: Agents of your own by their name in the exam; in `config` they need no `model`,
            and where it has no `agents` at all, these are they.
        replace: Whether results of another set-up in the folder may be replaced.
        pilot: See `run_exam`.
    """
    if not isinstance(config, ExamConfig):
        config = load_config(config, environ=os.environ, handed_over=tuple(agents or ()))
    folder = Path(out) if out is not None else default_folder(config)
    return in_own_loop(run_exam(config, folder, db=db, agents=agents, replace=replace, pilot=pilot))


def default_folder(config: ExamConfig) -> Path:
    """Where a run goes that was not told where."""
    return config.output or Path("runs") / folder_name(config)


def folder_name(config: ExamConfig) -> str:
    """The exam's name as any file system takes it."""
    safe = _NOT_IN_A_NAME.sub("_", config.name).strip(". ")[:100]
    return safe or "exam"


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where a loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return event_loop.run(work)
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(event_loop.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="peerexam")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


async def _annotated(questions: QuestionSet, setup: Setup, config: ExamConfig) -> Annotated:
    """With levels and references, unless the questions were sealed before and stay as they are."""
    file, asked = config.questions.file, setup.annotators
    if file is None or not is_sealed(file):
        return await annotate(questions, setup, config)
    if not asked.classifiers and not asked.authors:
        return Annotated(questions)
    return Annotated(replace(questions, notes=(*questions.notes, _SEALED)))


def _asked_about(asked: Annotators) -> str:
    """What is asked about the questions, as a phase; empty where nothing is."""
    kinds = {"levels": asked.classifiers, "references": asked.authors}
    said = " and ".join(kind for kind, who in kinds.items() if who)
    return said and f"asking for {said}"
