"""Self-bias of models as test setters, as evaluators, and as both, and what a score is made of.

Paper 004 (When LLMs Benchmark Themselves), §2, Eq. 1, by role; beside it the third-party estimate
(`stats.self_bias`) and the decomposition of scores (`stats.decomposition`). Nothing is asked: it
starts from a run's records, or from scores of any origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.standings.same_model import joined, within
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.protocols.studies.self_bias.as_json import (
    bias_measures,
    decomposition_json,
    decomposition_measures,
    diversity_json,
    table_json,
    win_rate_measures,
)
from peerexam.protocols.studies.self_bias.run_tables import (
    RunTables,
    held_self_preference,
    read_run,
)
from peerexam.stats.core.all_alike import QUESTIONS_ALIKE
from peerexam.stats.core.tables import Ints
from peerexam.stats.judges.self_preference import self_preference
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable, Orientation, table_from_scores
from peerexam.stats.self_bias.decomposition import (
    Decomposition,
    decompose_comparisons,
    decompose_scores,
)
from peerexam.stats.self_bias.nested import SOME_ALIKE
from peerexam.stats.self_bias.rank_bias import ALL_ALIKE, self_bias
from peerexam.tasks.self_bias.score_file import Role, RoleScores, read_scores
from peerexam.tasks.self_bias.source_diversity import source_diversity

ROLES: tuple[Role, ...] = ("test set", "evaluator", "both", "")
"""In the order in which they are shown; the last is a file of scores that does not say."""

CONSENSUS = "peers' consensus is no truth: a model that knows better than its peers reads as biased"
AGREED = (
    "where all segments agree there is nothing to resample: the interval says how far the value is "
    "off if as many segments differ as could without any of them being seen"
)
ALIKE_ENDS = (ALL_ALIKE, SOME_ALIKE, QUESTIONS_ALIKE)
"""How the method of an estimate ends that rests on segments, or questions, that are all alike."""

TIES = "ties get average ranks, which the paper leaves open"


def study_self_bias(
    path: Path,
    *,
    orientation: Orientation = "higher",
    rounds: int = 10_000,
    seed: int = 0,
    evaluator: str | None = None,
    same: Sequence[Sequence[str]] = (),
) -> StudyResult:
    """Measure self-bias in a run's folder, or in a CSV file of scores.

    Args:
        path: The folder, or the file (`tasks.score_file`).
        orientation: Which scores of a file are better (MetricX: lower).
        rounds: Of every bootstrap and test, the decomposition's too.
        seed: Of both.
        evaluator: For the role of test set in a run: one judge in place of all.
        same: Groups of names that are one model each, beside those that a run's manifest tells of:
            none of a group is a third party where another is the model or its rival.

    Raises:
        SetupError: There is nothing to read, or a setting makes no sense.
        RecordFileError: A line cannot be read.
    """
    if seed < 0:
        raise SetupError(f"--seed is a whole number, 0 or more, not {seed}")
    if rounds < 1:
        raise SetupError(f"--rounds is a number of rounds, 1 or more, not {rounds}")
    if path.is_dir():
        if orientation != "higher":
            raise SetupError("--orientation is for a file of scores: in a run more is better")
        return _of_run(path, read_run(path, evaluator), rounds, seed, same)
    if evaluator is not None:
        raise SetupError("--evaluator is a judge of a run, and a file of scores has none")
    return _of_file(path, read_scores(path), orientation, rounds, seed, same)


def _rng(seed: int, *place: int) -> np.random.Generator:
    """Draws of its own for each part, so that no part moves another's."""
    return np.random.default_rng([seed, *place])


def _of_run(
    path: Path, run: RunTables, rounds: int, seed: int, same: Sequence[Sequence[str]]
) -> StudyResult:
    names = dict.fromkeys(name for name in (*run.agents, *run.judges, *run.authors) if name)
    groups = joined(tuple(names), [*within(run.same, names), *same])
    measures, tables = _by_role(run.roles, rounds, seed, groups)
    if "evaluator" in run.roles:
        found = held_self_preference(path, run.judges, groups) or self_preference(
            run.verdicts,
            rule=run.rule,
            orderless=run.orderless,
            same=groups,
            rounds=rounds,
            rng=_rng(seed, 9),
        )
        measures += win_rate_measures(run.judges, found)
    parts = dict(_run_parts(run, rounds, seed))
    for name, part in parts.items():
        measures += decomposition_measures(name, part)
    tables["decomposition"] = {name: decomposition_json(one) for name, one in parts.items()}
    tables["sources"] = diversity_json(source_diversity(run.sources, seed=seed), seed)
    tables["missing_roles"] = dict(run.missing)
    notes = [*run.notes, *_about_twins(groups, tables)]
    notes += [*(f"no {role}: {why}" for role, why in run.missing.items())]
    return _result(path, measures, tables, notes, rounds, seed, None)


def _of_file(
    path: Path,
    scores: Mapping[Role, RoleScores],
    orientation: Orientation,
    rounds: int,
    seed: int,
    same: Sequence[Sequence[str]],
) -> StudyResult:
    roles: dict[str, BenchmarkTable] = {}
    parts: dict[str, Decomposition] = {}
    texts: dict[str, Sequence[str]] = {}
    notes = []
    for role in ROLES:
        one = scores.get(role)
        if one is None:
            continue
        if len(one.targets) < 2:
            raise SetupError(f"{path} has scores of {one.targets[0]} alone: a rank takes rivals")
        paired = role == "evaluator" or (role == "" and one.shared)
        roles[role] = _file_table(one, orientation, paired)
        parts |= _file_parts(role, one, orientation, paired, rounds, seed)
        if not paired:
            texts |= one.sources
            if one.shared:
                notes.append(f"{role}: segments of one name under two authors are two segments")
    names = dict.fromkeys(n for one in scores.values() for n in (*one.targets, *one.benchmarks))
    groups = joined(tuple(names), same)
    measures, tables = _by_role(roles, rounds, seed, groups)
    notes += _about_twins(groups, tables)
    for name, part in parts.items():
        measures += decomposition_measures(name, part)
    tables["decomposition"] = {name: decomposition_json(one) for name, one in parts.items()}
    tables["sources"] = diversity_json(source_diversity(texts, seed=seed), seed)
    if orientation == "lower" and parts:
        notes.append("decomposition: scores with their sign turned, so that more is better")
    return _result(path, measures, tables, notes, rounds, seed, orientation)


def _file_table(one: RoleScores, orientation: Orientation, paired: bool) -> BenchmarkTable:
    return table_from_scores(
        one.scores,
        one.segment if paired else np.arange(len(one.segment)),
        one.benchmark,
        one.targets,
        one.benchmarks,
        orientation=orientation,
        paired=paired,
    )


def _by_role(
    roles: Mapping[str, BenchmarkTable],
    rounds: int,
    seed: int,
    same: Sequence[Sequence[str]],
) -> tuple[list[Measure], dict[str, Json]]:
    measures: list[Measure] = []
    tables: dict[str, Json] = {"theta": {}, "third_parties": {}}
    tables["same_model"] = [list(group) for group in same]
    stands = next((role for role in ("both", "evaluator", "test set", "") if role in roles), None)
    for role in ROLES:
        if role in roles:
            rng = _rng(seed, ROLES.index(role))
            found = self_bias(roles[role], same=same, rounds=rounds, rng=rng)
            measures += bias_measures(role, found, headline=role == stands)
            tables["theta"][role or "scores"] = table_json(roles[role], found)
            left = dict(zip(found.agents, found.third_parties, strict=True))
            tables["third_parties"][role or "scores"] = left
    return measures, tables


def _about_twins(groups: Sequence[Sequence[str]], tables: Mapping[str, Json]) -> Iterator[str]:
    """Which agents are one model, and how many third parties that leaves."""
    for group in groups:
        yield (
            f"third parties: {' and '.join(group)} are one model, so that none of them is a third "
            "party where another is the model or its rival"
        )
    for role, left in tables["third_parties"].items() if groups else ():
        counts = ", ".join(f"{agent} {count}" for agent, count in left.items())
        yield f"third parties left, {role}: {counts}"


def _run_parts(run: RunTables, rounds: int, seed: int) -> Iterator[tuple[str, Decomposition]]:
    known = run.author >= 0
    parts = (
        ("marks", run.marks, decompose_scores),
        ("comparisons", run.points, decompose_comparisons),
    )
    for at, (name, values, decompose) in enumerate(parts):
        if values is not None and not bool(np.isnan(values[known]).all()):
            yield (
                name,
                decompose(
                    values,
                    run.author,
                    authors=run.authors,
                    judges=run.judges,
                    examinees=run.agents,
                    rounds=rounds,
                    rng=_rng(seed, 10 + at),
                ),
            )


def _file_parts(
    role: str, one: RoleScores, orientation: Orientation, paired: bool, rounds: int, seed: int
) -> dict[str, Decomposition]:
    """Evaluators on shared segments, or authors; where a benchmark is both, the two are one."""
    if role == "both" or bool(np.isnan(one.scores).all()):
        return {}
    sign = 1.0 if orientation == "higher" else -1.0
    authors: tuple[str, ...] = ("",)
    judges: tuple[str, ...] = ("",)
    if paired:
        scores = np.full((len(one.segments), len(one.benchmarks), len(one.targets)), np.nan)
        scores[one.segment, one.benchmark] = sign * one.scores
        author: Ints = np.zeros(len(scores), dtype=np.int64)
        judges = one.benchmarks
    elif role == "test set":
        scores = sign * one.scores[:, None, :]
        author, authors = one.benchmark, one.benchmarks
    else:
        return {}
    found = decompose_scores(
        scores,
        author,
        authors=authors,
        judges=judges,
        examinees=one.targets,
        rounds=rounds,
        rng=_rng(seed, 12),
    )
    return {f"scores, {role}" if role else "scores": found}


def _result(
    path: Path,
    measures: Sequence[Measure],
    tables: Mapping[str, Json],
    notes: Sequence[str],
    rounds: int,
    seed: int,
    orientation: Orientation | None,
) -> StudyResult:
    if not any(one.estimate.value is not None for one in measures):
        why = "; ".join(notes) or "no model is both target and benchmark"
        raise SetupError(f"self-bias cannot be told from {path}: {why}")
    if any(one.estimate.method.endswith(ALIKE_ENDS) for one in measures):
        notes = [*notes, AGREED]
    about: dict[str, Json] = {"source": path.name, "rounds": rounds, "seed": seed}
    if orientation is not None:
        about["better_scores"] = orientation
    agents: dict[str, dict[str, Json]] = {one.agent: {} for one in measures if one.agent}
    return StudyResult("self-bias", about, agents, measures, tables, [TIES, *notes, CONSENSUS])
