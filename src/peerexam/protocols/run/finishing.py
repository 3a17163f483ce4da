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
from peerexam.protocols.config.models import ExamConfig, Fitness
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.folder.lock import settled
from peerexam.protocols.run.loop import Tally
from peerexam.protocols.session.outcome import Outcome, Status, manifest
from peerexam.protocols.standings.judge_pools import MOST_JUDGES
from peerexam.protocols.standings.same_model import same_models
from peerexam.protocols.standings.settings import (
    BenchmarkInfo,
    ExamInfo,
    FitnessLimits,
    JudgeInfo,
    TallySettings,
)
from peerexam.protocols.standings.voting import tally as count_votes
from peerexam.runfolder import RunFolder
from peerexam.stats.pairs.orders import Disagreement


def finish(
    config: ExamConfig,
    folder: RunFolder,
    fingerprints: Mapping[str, Mapping[str, Json]],
    questions: QuestionSet,
    tally: Tally,
    inputs: Mapping[str, Json] | None,
) -> Outcome:
    """Count the votes of a run and write `standings.json` and `manifest.json`.

    Args:
        config: The exam.
        folder: The run's.
        fingerprints: What every agent is.
        questions: What was asked.
        tally: What came of it.
        inputs: Digests of the files behind the records; None where they are not known.
    """
    status, reason = _status(questions, tally)
    planned = {"questions": questions.planned + tally.follow_ups}
    same = _same_models(config, fingerprints)
    standings = _count(config, folder, status, reason, planned, same)
    body = manifest(
        config,
        fingerprints,
        questions.seal,
        status=status,
        reason=reason,
        notes=[*questions.notes, *_notes(config, tally)],
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
    return count_votes(
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
    return count_votes(
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
    """As the manifest will tell."""
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
        fitness=_fitness(judging.fitness),
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


def _fitness(fitness: Fitness) -> FitnessLimits:
    return FitnessLimits(
        fitness.min_swap_consistency,
        fitness.max_invalid_rate,
        fitness.max_first_preference,
        fitness.max_attack_success,
    )


def _status(questions: QuestionSet, tally: Tally) -> tuple[Status, str | None]:
    reasons = [] if tally.inherited is None else [tally.inherited]
    if tally.stopped is not None:
        whole = len(questions.questions)
        so_far = f"{tally.examined} of {whole} questions are whole"
        state = so_far if whole else "no question is sealed yet"
        mend = "the same command goes on, with a bigger budget (one of seconds counts anew)"
        reasons.append(f"{tally.stopped}; {state}; {mend}")
    papers = {f"{who} as examiner": times for who, times in questions.failures.items()}
    failed = {who: times for who, times in (tally.failures + Counter(papers)).items() if times}
    reasons += _failed(failed, tally) + _too_long(tally)
    return ("partial", ". ".join(reasons)) if reasons else ("complete", None)


def _failed(failed: Mapping[str, int], tally: Tally) -> list[str]:
    reasons = [
        f"agent '{name}' was given up ({_clipped(why)}): mend it, and {tally.again}"
        for name, why in sorted(tally.lost.items())
    ]
    if failed:
        by_whom = ", ".join(
            f"{who} ({times}{_first_reason(_unsaid(who, tally))})"
            for who, times in sorted(failed.items())
        )
        reasons.append(f"calls failed: {by_whom}; {tally.again}")
    return reasons


def _unsaid(who: str, tally: Tally) -> str | None:
    """Why somebody's calls failed, unless the agent was given up, which says it."""
    agent, _, _ = who.rpartition(" as ")
    return None if agent in tally.lost else tally.why.get(who)


def _too_long(tally: Tally) -> list[str]:
    if not tally.too_long:
        return []
    by_whom = ", ".join(f"{who} ({times})" for who, times in sorted(tally.too_long.items()))
    return [
        f"answers did not fit into the context of {by_whom}: nothing was cut, and these judgements "
        "are missing; give a judge with a longer context the role, or ask for shorter answers"
    ]


def _first_reason(reason: str | None) -> str:
    if reason is None:
        return ""
    return f", first: {_clipped(reason)}"


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:160]}{'…' if len(line) > 160 else ''}"


def _notes(config: ExamConfig, tally: Tally) -> Iterator[str]:
    if tally.lost_follow_ups:
        yield f"{tally.lost_follow_ups} follow-ups were due and could not be had"
    for (name, reason), times in sorted(tally.odd_endings.items()):
        replies = "1 reply" if times == 1 else f"{times} replies"
        yield (
            f"{replies} of {name} ended with the finish reason {reason!r}, which is not known, and "
            "counted as whole"
        )
    for agent in config.agents_in("judge"):
        if agent.judge.by == "likelihood":
            yield (
                f"{agent.name} judges by likelihood: how much likelier the question makes an "
                "answer in its own eyes; no place to prefer, no calibration, and its marks are "
                "bins of that gain"
            )
    for agent in config.agents:
        if agent.variant_of:
            yield f"{agent.name} is a variant of {agent.variant_of}, not an independent model"
