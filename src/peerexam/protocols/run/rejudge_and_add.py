"""More from a finished exam: new judges on old answers, or one more agent.

Neither asks again for what is there. The exam stays frozen: its questions are those that were
sealed, and an agent that joins later sets none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import BudgetReachedError, SetupError
from peerexam.protocols.config.checks import identity
from peerexam.protocols.config.loading import dump_config, load_config
from peerexam.protocols.config.models import AgentConfig, ExamConfig, Questions, RoleName
from peerexam.protocols.exam.archive import Archive, read_archive
from peerexam.protocols.exam.examination import QuestionRecords, Roles, Rules, judge_answers
from peerexam.protocols.exam.late_agents import join, joined_late
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.annotating import write_notes
from peerexam.protocols.run.finishing import finish
from peerexam.protocols.run.folder.lock import claimed, settled
from peerexam.protocols.run.folder.setup_digest import QUESTIONS, file_digests
from peerexam.protocols.run.folder.swap import adopt, workshop_of
from peerexam.protocols.run.injection_gate import probe_for_fitness
from peerexam.protocols.run.loop import BIGGER_BUDGET, examine_all
from peerexam.protocols.run.pilot import check_judges, pilot_of_judges, pilot_of_newcomer
from peerexam.protocols.run.setup import set_up
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.session.outcome import Outcome, outcome_of
from peerexam.protocols.session.progress import Progress
from peerexam.records import Question
from peerexam.runfolder import RunFolder

_OTHER_ROLES: tuple[RoleName, ...] = ("examiner", "examinee")


async def rejudge(
    folder: Path,
    judges: Sequence[AgentConfig],
    out: Path,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    replaces: bool = False,
    pilot: bool | None = None,
) -> Outcome:
    """Let new judges judge the answers of a run, in a folder of its own.

    Args:
        folder: The run whose questions and answers are taken as they are.
        judges: Who judges; the old judges' records stay in the old folder.
        out: The new folder.
        db: Ledger; by default in the new folder.
        agents: Agents by name, in place of the judges' models.
        progress: Counts the calls.
        replaces: Whether judgements by other judges in `out` may be replaced.
        pilot: Whether the judges see a first question before the rest is asked; None is what the
            run's config says.

    Raises:
        SetupError: The folder holds no run, or `out` is that folder, or holds other judgements.
        NoStandingsError: No standings could follow.
    """
    settled(RunFolder(Path(folder)))
    source, target = RunFolder(Path(folder)), RunFolder(Path(out))
    if source.path.resolve() == target.path.resolve():
        raise SetupError("the new judgements need a folder of their own: choose another --out")
    config = _with_judges(_config_of(source), judges)
    archive = read_archive(source)
    held = source.read_manifest()
    note = f"answers are those of the run '{held.get('exam')}'"
    piloted = config.pilot if pilot is None else pilot
    if piloted:
        check_judges(config)
    _check_judged_again(target, note)
    with claimed(target.path, config, replaced_by=None if replaces else "rejudge"):
        target.write_config(dump_config(config))
        write_notes(target, source.levels(), source.references())
        names = [judge.name for judge in judges]
        async with set_up(
            config, target, db=db, agents=agents, progress=progress, only=names
        ) as setup:
            rules = replace(setup.rules, rounds=0)
            if piloted:
                with suppress(BudgetReachedError):  # whoever asks next comes upon it, too
                    await pilot_of_judges(config, setup, archive)
            probed = await probe_for_fitness(config, target, setup.roles.judges)

            def examine(question: Question) -> Awaitable[QuestionRecords]:
                return _judge_again(question, archive, setup.roles, rules)

            counts = await examine_all(archive.roots, probed.gate(examine), target, setup)
            probed.count_failures(counts)
            counts.inherited = _unfinished(archive, held)
            questions = _sealed(archive, held, note)
            old = {row["name"]: row.get("fingerprint", {}) for row in held.get("agents", ())}
            # The questions are those of the run; what judges with them is new.
            inputs = {k: one for k, one in held.get("inputs", {}).items() if k == QUESTIONS}
            inputs |= file_digests(config)
            return finish(config, target, {**old, **setup.fingerprints}, questions, counts, inputs)


def _check_judged_again(target: RunFolder, note: str) -> None:
    if target.manifest_path.exists() and note not in target.read_manifest().get("notes", ()):
        raise SetupError(
            f"{target.path} holds a run of its own, and new judgements would replace it: choose "
            "another folder with --out"
        )


async def add(
    folder: Path,
    agent: AgentConfig,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    pilot: bool | None = None,
) -> Outcome:
    """Let one more agent join a finished run: only what is missing is asked.

    It answers the sealed questions, the judges mark its answers and find its place in their
    rankings by binary search, and where it has the role it judges the others. It sets no
    questions. The folder's files are replaced only once all is done.

    Args:
        folder: The run.
        agent: Who joins.
        db: Ledger; by default the folder's.
        agents: Agents by name, in place of the config's models.
        progress: Counts the calls.
        pilot: Whether it is tried on a first question before the rest is asked; None is what the
            run's config says.

    Raises:
        NoStandingsError: Nothing that it did with the first questions can be used.
        SetupError: The folder holds no run that can be gone on with, or one that has questions
            without answers, or the name is taken.
        BudgetReachedError: The budget ended it; the folder is left as it was.
    """
    source = RunFolder(Path(folder))
    settled(source)
    before = _config_of(source)
    joining = agent.model_copy(
        update={
            "roles": tuple(role for role in agent.roles if role != "examiner"),
            "joined": True,
        }
    )
    if joining.model_dump() in [other.model_dump() for other in before.agents]:
        return outcome_of(source)  # it has joined, be it by what a killed process left to finish
    if agent.name in [other.name for other in before.agents]:
        raise SetupError(f"the run already has an agent '{agent.name}': choose another name")
    config = before.model_copy(update={"agents": (*before.agents, joining)})
    piloted = config.pilot if pilot is None else pilot
    if piloted:
        check_judges(config)
    with claimed(source.path, config):
        return await _add(
            source, config, agent.name, db=db, agents=agents, progress=progress, piloted=piloted
        )


async def _add(
    source: RunFolder,
    config: ExamConfig,
    name: str,
    *,
    db: str | None,
    agents: Mapping[str, Agent] | None,
    progress: Progress | None,
    piloted: bool,
) -> Outcome:
    archive = read_archive(source)
    held = source.read_manifest()
    unfinished = _unfinished(archive, held)
    if unfinished is not None:
        raise SetupError(f"{unfinished}: finish it with peerexam run, then add")
    workshop = workshop_of(source)
    workshop.create()
    where = db if db is not None else str(source.ledger_path)
    async with set_up(config, workshop, db=where, agents=agents, progress=progress) as setup:
        if piloted:
            with suppress(BudgetReachedError):
                await pilot_of_newcomer(config, setup, archive, name)
        probed = await probe_for_fitness(config, workshop, setup.roles.judges, source.probes())

        def examine(question: Question) -> Awaitable[QuestionRecords]:
            return join(name, archive.of(question), setup.roles, setup.rules)

        counts = await examine_all(archive.roots, probed.gate(examine), workshop, setup)
        probed.count_failures(counts)
        again = "run `peerexam run` with the exam.yaml and --out of this folder"
        counts.retry = f"{again}: failed calls are retried"
        questions = _sealed(archive, held, joined_late(name))
        if counts.stopped is not None:
            raise BudgetReachedError(
                f"{counts.stopped}: {source.path} is left as it was; {BIGGER_BUDGET}"
            )
        workshop.write_config(dump_config(config))
        inputs = held.get("inputs")
        outcome = finish(config, workshop, setup.fingerprints, questions, counts, inputs)
    adopt(source)
    return replace(outcome, folder=source.path)


async def _judge_again(
    question: Question, archive: Archive, roles: Roles, rules: Rules
) -> QuestionRecords:
    records = await judge_answers(question, archive.answers.get(question.id, ()), roles, rules)
    children = archive.children.get(question.id, ())
    deeper = await together(_judge_again(child, archive, roles, rules) for child in children)
    return replace(records, follow_ups=deeper)


def _config_of(folder: RunFolder) -> ExamConfig:
    if folder.config_path.exists():
        return load_config(folder.config_path, environ={})
    if not folder.manifest_path.exists():
        raise SetupError(f"{folder.path} holds no run: there is no manifest.json in it")
    return _config_of_imported(folder)


def _config_of_imported(folder: RunFolder) -> ExamConfig:
    """Examinees with recorded answers, for a folder that an importer made."""
    held = folder.read_manifest()
    answers = folder.records_path("answers").resolve()
    return ExamConfig(
        name=str(held.get("exam") or folder.path.name),
        agents=tuple(
            AgentConfig(
                name=row["name"],
                model=f"file/{answers}?examinee={quote(row['name'], safe='')}",
                roles=("examinee",),
            )
            for row in held.get("agents", ())
            if "examinee" in row.get("roles", ())
        ),
        questions=Questions(file=folder.records_path("questions").resolve()),
    )


def _with_judges(config: ExamConfig, judges: Sequence[AgentConfig]) -> ExamConfig:
    """The exam with these judges in place of its own."""
    by_name = {judge.name: judge for judge in judges}
    levels, references = config.questions.levels, config.questions.references
    asked = {*levels.classifiers, references.checker}  # they stay named, and are asked no more
    kept = []
    for agent in config.agents:
        # What it was, which its roles alone do not say under a central examiner.
        roles = tuple(r for r in _OTHER_ROLES if agent in config.agents_in(r))
        if agent.name in by_name:
            new = by_name.pop(agent.name)
            # Of recorded answers nobody knows the model, so their name is taken at its word.
            recorded = agent.model.startswith("file/")
            if "examinee" in roles and not recorded and identity(new) != identity(agent):
                raise SetupError(
                    f"the run's answers by '{agent.name}' are another model's, or one with other "
                    "settings: give the judge a name of its own"
                )
            kept.append(new.model_copy(update={"roles": (*roles, "judge")}))
        elif roles or agent.name in asked:
            kept.append(agent.model_copy(update={"roles": roles}))
    judging = config.judging.model_copy(
        # The author of a question may be no judge here, and votes are only as many as judges.
        update={"panel": "all", "quorum": min(config.judging.quorum, len(judges))}
    )
    added = [judge.model_copy(update={"roles": ("judge",)}) for judge in by_name.values()]
    return config.model_copy(
        update={
            "agents": (*kept, *added),
            "protocol": "peer_exam",
            "examiner": None,
            "judging": judging,
        }
    )


def _sealed(archive: Archive, held: Mapping[str, Json], note: str) -> QuestionSet:
    deeper = sum(len(children) for children in archive.children.values())
    counts = held.get("counts", {}).get("questions", {})
    # Follow-ups that are there are counted once more as they are judged.
    planned = counts.get("planned", len(archive.roots) + deeper) - deeper
    # The follow-ups that were had are counted again as they are gone over.
    planned = max(len(archive.roots), planned - sum(map(len, archive.children.values())))
    return QuestionSet(tuple(archive.roots), planned, (*map(str, held.get("notes", ())), note))


def _unfinished(archive: Archive, held: Mapping[str, Json]) -> str | None:
    without = sum(question.id not in archive.answers for question in archive.roots)
    if not without and archive.roots:
        return None
    return (
        f"the run '{held.get('exam')}' is not finished: {without} of its {len(archive.roots)} "
        "questions have no answers"
    )
