"""From records to standings, manifest and report: what every run ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.prompting.rubric import Rubric, load_rubric
from peerexam.protocols.config.few_shot_pairs import few_shot_pairs
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.folder.lock import settled
from peerexam.protocols.run.loop import BIGGER_BUDGET, OutcomeCounts
from peerexam.protocols.session.outcome import Outcome, Status, manifest
from peerexam.protocols.standings.judge_pools import MOST_JUDGES
from peerexam.protocols.standings.same_model import same_models
from peerexam.protocols.standings.settings import (
    BenchmarkInfo,
    ExamInfo,
    JudgeInfo,
    TallySettings,
)
from peerexam.protocols.standings.voting import tally
from peerexam.runfolder import RunFolder
from peerexam.stats.pairs.orders import Disagreement


def finish(
    config: ExamConfig,
    folder: RunFolder,
    fingerprints: Mapping[str, Mapping[str, Json]],
    questions: QuestionSet,
    counts: OutcomeCounts,
    inputs: Mapping[str, Json] | None,
) -> Outcome:
    """Count the votes of a run and write `standings.json` and `manifest.json`.

    Args:
        config: The exam.
        folder: The run's.
        fingerprints: What every agent is.
        questions: What was asked.
        counts: What came of it.
        inputs: Digests of the files behind the records; None where they are not known.
    """
    status, reason = _status(questions, counts)
    planned = {"questions": questions.planned + counts.follow_ups}
    same = _same_models(config, fingerprints)
    standings = _count(config, folder, status, reason, planned, same)
    body = manifest(
        config,
        fingerprints,
        questions.seal,
        status=status,
        reason=reason,
        notes=[*questions.notes, *_notes(config, counts)],
        counts=standings["counts"],
        inputs=inputs,
    )
    folder.write_standings(standings)
    folder.write_manifest(body)
    return Outcome(folder.path, status, reason, standings)


def tally_folder(path: Path) -> dict[str, Json]:
    """Count the votes of a folder again, an imported one's too.

    Raises:
        SetupError: The folder holds no run.
    """
    folder = RunFolder(path)
    settled(folder)
    if not folder.manifest_path.exists():
        raise SetupError(f"{path} holds no run: there is no manifest.json in it")
    held = folder.read_manifest()
    agents = held.get("agents", [])
    same = same_models(agents)
    if folder.config_path.exists():
        config = load_config(folder.config_path, environ={})
        planned = {"questions": held.get("counts", {}).get("questions", {}).get("planned", 0)}
        return _count(config, folder, held["status"], held.get("status_reason"), planned, same)
    if not any("examinee" in agent.get("roles", ()) for agent in agents):
        raise SetupError(
            f"{path} holds questions and no answers, so there is nothing to count: name "
            f"{folder.records_path('questions')} as questions.file in an EXAM.yaml, and run that"
        )
    return tally(
        exam=ExamInfo(
            str(held.get("exam") or path.name),
            held.get("protocol", "import"),
            int(held.get("seed") or 0),
            held.get("status", "complete"),
            held.get("status_reason"),
        ),
        questions=list(folder.questions()),
        answers=folder.answers(),
        marks=folder.marks(),
        verdicts=folder.verdicts(),
        rankings=folder.rankings(),
        agents=[a["name"] for a in agents if "examinee" in a.get("roles", ())],
        judges={
            a["name"]: JudgeInfo(one_order=a.get("orders") == "one")
            for a in agents
            if "judge" in a.get("roles", ())
        },
        settings=_imported_settings(held),
        variants={a["name"]: a["variant_of"] for a in agents if a.get("variant_of")},
        same=same,
    )


def _imported_settings(held: Mapping[str, Json]) -> TallySettings:
    """How an imported run is counted: as its manifest says, else as exams are by default."""
    info = BenchmarkInfo()
    if held.get("full_mark"):
        info = BenchmarkInfo(lowest=held.get("lowest_mark", 0))
    return TallySettings(
        disagreement=held.get("disagreement", "tie"),
        full_mark=float(held.get("full_mark") or 5),
        benchmark=info,
        most_judges=MOST_JUDGES,
    )


def set_disagreement(path: Path, rule: Disagreement) -> None:
    """Let an imported run be counted by another rule for orders that disagree, from now on.

    Standings that were counted by another rule are removed, so that they are counted again.

    Raises:
        SetupError: The folder holds no run, or an exam, whose file says the rule.
    """
    folder = RunFolder(path)
    if not folder.manifest_path.exists():
        raise SetupError(f"{path} holds no run: there is no manifest.json in it")
    if folder.config_path.exists():
        raise SetupError(
            f"{path} holds an exam, whose rule is judging.disagreement in its EXAM.yaml: change it "
            "there, and `peerexam run` counts again without asking anything twice"
        )
    held = folder.read_manifest()
    if held.get("disagreement", "tie") != rule:
        folder.standings_path.unlink(missing_ok=True)
        folder.write_manifest({**held, "disagreement": rule})


def _count(
    config: ExamConfig,
    folder: RunFolder,
    status: Status,
    reason: str | None,
    planned: Mapping[str, int],
    same: Sequence[tuple[str, ...]],
) -> dict[str, Json]:
    return tally(
        exam=ExamInfo(config.name, config.protocol, config.seed, status, reason, planned),
        questions=list(folder.questions()),
        answers=folder.answers(),
        marks=folder.marks(),
        verdicts=folder.verdicts(),
        rankings=folder.rankings(),
        agents=[agent.name for agent in config.agents_in("examinee")],
        judges={agent.name: JudgeInfo(agent.judge.by) for agent in config.agents_in("judge")},
        settings=_settings(config),
        variants={a.name: a.variant_of for a in config.agents if a.variant_of},
        same=same,
        probes=folder.probes(),
    )


def _same_models(
    config: ExamConfig, fingerprints: Mapping[str, Mapping[str, Json]]
) -> list[tuple[str, ...]]:
    """As the manifest will say."""
    agents = [
        {
            "name": agent.name,
            "variant_of": agent.variant_of,
            "fingerprint": fingerprints.get(agent.name, {}),
        }
        for agent in config.agents
    ]
    return same_models(agents)


def _settings(config: ExamConfig) -> TallySettings:
    voting, judging = config.voting, config.judging
    rubric = load_rubric(judging.rubric) if judging.rubric else Rubric()
    return TallySettings(
        method=voting.method,
        rounds=voting.rounds,
        confidence=voting.confidence,
        cluster_judges=voting.cluster_judges,
        disagreement=judging.disagreement,
        quorum=judging.quorum,
        fitness=judging.fitness,
        full_mark=float(rubric.full_mark),
        benchmark=_benchmark(config, rubric),
    )


def _benchmark(config: ExamConfig, rubric: Rubric) -> BenchmarkInfo:
    return BenchmarkInfo(
        {name: (one.low, one.high) for name, one in rubric.dimensions.items()},
        rubric.overall[0],
        few_shot_pairs(config),
        config.follow_ups.rounds,
        config.follow_ups.sample,
        config.follow_ups.share,
    )


def _status(questions: QuestionSet, counts: OutcomeCounts) -> tuple[Status, str | None]:
    reasons = [] if counts.inherited is None else [counts.inherited]
    if counts.stopped is not None:
        whole = len(questions.questions)
        so_far = f"{counts.examined} of {whole} questions completed"
        state = so_far if whole else "no question is sealed yet"
        reasons.append(f"{counts.stopped}; {state}; {BIGGER_BUDGET}")
    papers = {f"{who} as examiner": times for who, times in questions.failures.items()}
    failed = {who: times for who, times in (counts.failures + Counter(papers)).items() if times}
    reasons += _failed(failed, counts) + _too_long(counts)
    return ("partial", ". ".join(reasons)) if reasons else ("complete", None)


def _failed(failed: Mapping[str, int], counts: OutcomeCounts) -> list[str]:
    reasons = [
        f"agent '{name}' was disabled ({_clipped(why)}): fix it and {counts.retry}"
        for name, why in sorted(counts.lost.items())
    ]
    if failed:
        whose = []
        for who, times in sorted(failed.items()):
            agent, _, _ = who.rpartition(" as ")
            # Where the agent was disabled, that says why.
            why = None if agent in counts.lost else counts.why.get(who)
            whose.append(f"{who} ({times}{'' if why is None else f', first: {_clipped(why)}'})")
        reasons.append(f"calls failed: {', '.join(whose)}; {counts.retry}")
    return reasons


def _too_long(counts: OutcomeCounts) -> list[str]:
    if not counts.too_long:
        return []
    by_whom = ", ".join(f"{who} ({times})" for who, times in sorted(counts.too_long.items()))
    return [
        f"answers did not fit into the context of {by_whom}: nothing was cut, and these judgements "
        "are missing; give a judge with a longer context the role, or ask for shorter answers"
    ]


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:160]}{'…' if len(line) > 160 else ''}"


def _notes(config: ExamConfig, counts: OutcomeCounts) -> Iterator[str]:
    if counts.lost_follow_ups:
        times = counts.lost_follow_ups
        lost = "1 follow-up question" if times == 1 else f"{times} follow-up questions"
        yield f"{lost} could not be generated"
    for (name, reason), times in sorted(counts.odd_endings.items()):
        replies = "1 reply" if times == 1 else f"{times} replies"
        yield (
            f"{replies} of {name} ended with the finish reason {reason!r}, which is unknown; "
            "counted as complete"
        )
    for agent in config.agents_in("judge"):
        if agent.judge.by == "likelihood":
            yield (
                f"{agent.name} judges by likelihood: by how much the question makes an answer "
                "more likely to it; no preference for a place, no calibration, and its marks are "
                "bins of that gain"
            )
    for agent in config.agents:
        if agent.variant_of:
            yield f"{agent.name} is a variant of {agent.variant_of}, not an independent model"
