"""Letting examiners set a data set of questions, without anybody answering them.

Examiner paper, §3.1: questions, their cognitive levels, and their authors' own answers. The
questions are sealed when they are complete; a run of them checks the seal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import BudgetReachedError, PeerexamError
from peerexam.protocols.config.loading import dump_config, without_file
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.call_counts import Task
from peerexam.protocols.planning.plan import Plan, plan
from peerexam.protocols.questions.exam_questions import exam_questions
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.annotating import Annotated, annotate, write_notes
from peerexam.protocols.run.folder.dataset_manifest import (
    begun_manifest,
    dataset_manifest,
    first_date,
    parts_of,
    replaced_seal,
)
from peerexam.protocols.run.folder.lock import claimed
from peerexam.protocols.run.loop import BIGGER_BUDGET, RETRY, OutcomeCounts
from peerexam.protocols.run.runner import folder_name
from peerexam.protocols.run.setup import Setup, set_up
from peerexam.protocols.session.garbage_collection import rare_collections
from peerexam.protocols.session.outcome import Status
from peerexam.protocols.session.progress import Progress
from peerexam.runfolder import RunFolder

DATA = "data"
"""Folder of the records within that of the data set."""

_TASKS: frozenset[Task] = frozenset({"questions", "levels", "references", "agreement checks"})
"""What is asked for the sake of the questions alone."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A data set that was set.

    Attributes:
        folder: Where it is.
        status: `partial` where a budget ended it or calls failed.
        reason: Why it is partial.
        questions: With all that is noted on them; their seal is that of the data set.
        manifest: The content of `manifest.json`.
        replaced: The seal of other questions that stood whole in the folder before.
    """

    folder: Path
    status: Status
    reason: str | None
    questions: QuestionSet
    manifest: Mapping[str, Json]
    replaced: str | None = None


def default_dataset_folder(config: ExamConfig) -> Path:
    """Where a data set goes that was not told where."""
    return Path("datasets") / folder_name(config)


def plan_setting(config: ExamConfig) -> Plan:
    """What setting the questions of an exam takes, the examination itself left out.

    Raises:
        ConfigError: It says nothing about what questions are to be set.
    """
    whole = plan(without_file(config))
    lines = tuple(line for line in whole.lines if line.task in _TASKS)
    asked = {line.agent for line in lines}
    return replace(
        whole,
        lines=lines,
        prices={name: quote for name, quote in whole.prices.items() if name in asked},
        assumptions=(
            "a call that fails in transit and is sent again counts once",
            "expected: every set of questions comes complete at once, without duplicates; most: "
            "every attempt is needed",
            "tokens: 4 characters each",
        ),
        hints=(),
    )


async def generate(
    config: ExamConfig,
    out: Path,
    *,
    today: str,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    replace: bool = False,
) -> Generated:
    """Set the questions of an exam, or go on with that: what the ledger holds is not asked again.

    It leaves `data/questions.jsonl` (with `levels` and `references` where they were asked for),
    `manifest.json` and `exam.yaml`. Where a budget ends it, what is whole is left. The manifest
    says from the beginning that the folder is a data set's, so that no run takes it for its own.

    Args:
        config: The exam; only its examiners, classifiers and checkers are built.
        out: The data set's folder; made where it is missing.
        today: The date that the manifest names, unless the same questions have one already.
        db: Ledger, a path or URL; by default `ledger.sqlite` in the folder.
        agents: Agents of your own by their name in the exam, in place of the config's models.
        progress: Counts the calls.
        replace: Whether questions of another set-up in the folder may be replaced.

    Raises:
        SetupError: Something is wrong that no model need be asked to know.
        PeerexamError: No examiner set a single question.
    """
    config = without_file(config)
    parts = parts_of(config)
    command = None if replace else "generate"
    with claimed(Path(out), config, "dataset", replaced_by=command) as folder, rare_collections():
        async with set_up(
            config, folder, db=db, agents=agents, progress=progress, only=parts
        ) as setup:
            # Only now: building the agents refuses a config that holds a key.
            if not folder.manifest_path.exists():
                folder.write_manifest(begun_manifest(config))
            folder.write_config(dump_config(config))
            found, counts = await _set(config, setup)
            counts.lost = setup.lost()
        return _write(config, folder, found, counts, setup, today)


async def _set(config: ExamConfig, setup: Setup) -> tuple[Annotated, OutcomeCounts]:
    setup.progress.note = "setting questions"
    counts = OutcomeCounts()
    questions = await exam_questions(config, list(setup.roles.examiners.values()), partial=True)
    if not questions.questions and questions.stopped is None:
        raise PeerexamError("no examiner set a single question:\n" + "\n".join(questions.notes))
    found, counts.stopped = Annotated(questions), questions.stopped
    if questions.stopped is None:
        setup.progress.note = "asking for levels and references"
        try:
            found = await annotate(questions, setup, config)
        except BudgetReachedError as reached:
            counts.stopped = f"{reached}; levels and references are missing"
    counts.failures.update(
        {f"{who} as examiner": times for who, times in questions.failures.items()}
    )
    found.count_failures(counts)
    return found, counts


def _write(
    config: ExamConfig,
    folder: RunFolder,
    found: Annotated,
    counts: OutcomeCounts,
    setup: Setup,
    today: str,
) -> Generated:
    data = RunFolder(folder.path / DATA)
    with data.writer("questions") as writer:
        for question in found.questions.questions:
            writer.emit(question)
    write_notes(data, found.votes, found.references)
    reason = _why_partial(found.questions, counts)
    status: Status = "complete" if reason is None else "partial"
    body = dataset_manifest(
        config,
        setup.fingerprints,
        found,
        status=status,
        reason=reason,
        generated=first_date(folder, found.questions.seal) or today,
    )
    replaced = replaced_seal(folder, found.questions.seal)
    folder.write_manifest(body)
    return Generated(folder.path, status, reason, found.questions, body, replaced)


def _why_partial(questions: QuestionSet, counts: OutcomeCounts) -> str | None:
    reasons = []
    if counts.stopped is not None:
        reasons.append(
            f"{counts.stopped}; {len(questions.questions)} of {questions.planned} questions are "
            f"set; {BIGGER_BUDGET}"
        )
    for name, why in sorted(counts.lost.items()):
        reasons.append(
            f"agent '{name}' was disabled ({' '.join(why.split())[:160]}): fix it and {RETRY}"
        )
    failed = {who: times for who, times in sorted(counts.failures.items()) if times}
    if failed:
        by_whom = ", ".join(f"{who} ({times})" for who, times in failed.items())
        reasons.append(f"calls failed: {by_whom}; {RETRY}")
    return ". ".join(reasons) or None
