"""What an exam's folder holds for self-bias: three roles' tables, scores to decompose, sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.exam.comparing import Disagreement
from peerexam.protocols.run.folder.lock import settled
from peerexam.protocols.standings.columns import Gathered, gather
from peerexam.protocols.standings.same_model import same_models
from peerexam.records import Question
from peerexam.runfolder import RunFolder
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Comparisons, Floats, Ints, Marks
from peerexam.stats.judges.peer_points import any_sorted
from peerexam.stats.judges.self_preference import SelfPreference
from peerexam.stats.pairs.both_orders import fold_orders
from peerexam.stats.pairs.orders import rows_where
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable
from peerexam.stats.self_bias.role_tables import (
    author_table,
    both_table,
    evaluator_table,
    losses_of_marks,
    losses_of_rankings,
    losses_of_verdicts,
)


@dataclass(frozen=True, slots=True)
class RunTables:
    """A run, as self-bias sees it: questions that everybody was asked.

    Attributes:
        agents: Examinees.
        judges: Names.
        authors: Of the questions, those that are known; one empty name where none is.
        author: Per question, the number of its author; -1 is unknown.
        roles: Tables by role, those that the run can fill.
        marks: Shape questions × judges × examinees, NaN where there is none; None without marks.
        points: Shape questions × judges × examinees × examinees; None without verdicts.
        sources: Author to the texts of its questions.
        verdicts: Of the questions that count.
        rule: For orders that disagree.
        orderless: Judges that see no order.
        notes: How the tables were made.
        missing: Role to why there is no table.
        same: Groups of names that are one model each, as the manifest tells.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    authors: tuple[str, ...]
    author: Ints
    roles: Mapping[str, BenchmarkTable]
    marks: Floats | None
    points: Floats | None
    sources: Mapping[str, Sequence[str]]
    verdicts: Comparisons
    rule: Disagreement
    orderless: frozenset[str]
    notes: tuple[str, ...]
    missing: Mapping[str, str]
    same: tuple[tuple[str, ...], ...] = ()


def read_run(path: Path, evaluator: str | None = None) -> RunTables:
    """Read a run's folder, an imported one's too.

    Args:
        path: The folder.
        evaluator: For the role of test set, one judge in place of all.

    Raises:
        SetupError: The folder holds no run with answers, or there is no such judge.
    """
    folder = RunFolder(path)
    settled(folder)
    if not folder.manifest_path.exists():
        raise SetupError(f"{path} holds no run: there is no manifest.json in it")
    agents, judges, rule, orderless = _players(folder)
    if evaluator is not None and evaluator not in judges:
        raise SetupError(f"no judge '{evaluator}' in {path}: there are {', '.join(judges)}")
    questions = list(folder.questions())
    gathered = gather(
        questions=questions,
        answers=(),
        marks=folder.marks(),
        verdicts=folder.verdicts(),
        rankings=folder.rankings(),
        agents=agents,
        judges=judges,
    )
    tables = _tables(gathered, questions, (agents, judges, rule, orderless), evaluator)
    return replace(tables, same=tuple(same_models(folder.read_manifest().get("agents", []))))


def held_self_preference(
    path: Path, judges: Sequence[str], same: Sequence[Sequence[str]]
) -> list[SelfPreference | None] | None:
    """The standings' own estimates, so that a run has one number for one thing.

    Args:
        path: The run's folder.
        judges: Whose, in this order.
        same: Groups of names that are one model each, as the estimates are to take them.

    Returns:
        None where there are no standings, or where they take other agents for one model.
    """
    folder = RunFolder(path)
    if not folder.standings_path.exists():
        return None
    standings = folder.read_standings()
    if standings.get("same_model") != [list(group) for group in same]:
        return None
    rows = {row["agent"]: row.get("self_preference") for row in standings.get("judges", [])}
    held = [rows.get(name) for name in judges]
    return [None if one is None else _self_preference(one) for one in held]


def _self_preference(held: Mapping[str, Json]) -> SelfPreference:
    return SelfPreference(
        **{
            name: Estimate(**held[name], method="as in the standings")
            for name in ("win_rate", "rank_bias", "third_party")
        }
    )


_Players = tuple[tuple[str, ...], tuple[str, ...], Disagreement, frozenset[str]]


def _players(folder: RunFolder) -> _Players:
    if folder.config_path.exists():
        config = load_config(folder.config_path, environ={})
        judges = config.agents_in("judge")
        return (
            tuple(agent.name for agent in config.agents_in("examinee")),
            tuple(judge.name for judge in judges),
            config.judging.disagreement,
            frozenset(one.name for one in judges if one.judge.by == "likelihood"),
        )
    held = folder.read_manifest()
    rows = held.get("agents", [])
    agents = tuple(row["name"] for row in rows if "examinee" in row.get("roles", ()))
    judging = [row for row in rows if "judge" in row.get("roles", ())]
    if not agents or not judging:
        raise SetupError(
            f"{folder.path} holds no answers that were judged, so nobody can be biased in it"
        )
    one = frozenset(row["name"] for row in judging if row.get("orders") == "one")
    return agents, tuple(row["name"] for row in judging), held.get("disagreement", "tie"), one


def _tables(
    gathered: Gathered, questions: Sequence[Question], players: _Players, evaluator: str | None
) -> RunTables:
    agents, judges, rule, orderless = players
    listed = gathered.questions
    first = listed.first_round
    written = tuple(
        name if is_first else None
        for name, is_first in zip(listed.authors, first.tolist(), strict=True)
    )
    verdicts = gathered.verdicts
    verdicts = rows_where(verdicts, np.asarray(first[verdicts.question]))
    notes: list[str] = []
    roles, missing = _roles(gathered, verdicts, written, players, evaluator, notes)
    authors = tuple(dict.fromkeys(name for name in written if name is not None))
    place = {name: at for at, name in enumerate(authors)}
    author = np.array([-1 if name is None else place[name] for name in written], dtype=np.int64)
    if not authors:
        authors, author = ("",), np.where(first, 0, -1)
    texts: dict[str, list[str]] = {}
    for question in questions:
        if question.round == 1 and question.author is not None:
            texts.setdefault(question.author, []).append(question.text)
    return RunTables(
        agents,
        judges,
        authors,
        author,
        roles,
        _marks(gathered.marks, len(listed.ids)),
        _points(verdicts, rule, orderless),
        texts,
        verdicts,
        rule,
        orderless,
        tuple(notes),
        missing,
    )


def _roles(
    gathered: Gathered,
    verdicts: Comparisons,
    authors: Sequence[str | None],
    players: _Players,
    evaluator: str | None,
    notes: list[str],
) -> tuple[dict[str, BenchmarkTable], dict[str, str]]:
    agents, _, rule, orderless = players
    roles: dict[str, BenchmarkTable] = {}
    missing: dict[str, str] = {}
    if any(name is not None for name in authors):
        roles["test set"] = _test_set(gathered, verdicts, authors, players, evaluator, notes)
    else:
        missing["test set"] = missing["both"] = "no question has an author: they were not set here"
    if not len(verdicts.points):
        missing["evaluator"] = missing["both"] = "there are no verdicts"
        return roles, missing
    judged = evaluator_table(verdicts, rule, orderless)
    if not set(judged.benchmarks) & set(agents):
        missing["evaluator"] = "no judge compared its own answers (judging.self_preference)"
        missing.setdefault("both", missing["evaluator"])
        return roles, missing
    notes.append(
        "evaluator and both: nobody marks its own answer, so a segment's score is win points in "
        "direct comparisons, own answers included"
    )
    if any_sorted(verdicts):
        notes.append(
            "evaluator and both: judges sorted, so a rank is 1 plus the rivals that won, as far as "
            "pairs were compared; with judging.ranking: round_robin all are"
        )
    roles["evaluator"] = judged
    if "both" not in missing:
        roles["both"] = both_table(judged, authors)
    return roles, missing


def _test_set(
    gathered: Gathered,
    verdicts: Comparisons,
    authors: Sequence[str | None],
    players: _Players,
    evaluator: str | None,
    notes: list[str],
) -> BenchmarkTable:
    agents, judges, rule, orderless = players
    chosen = range(len(judges)) if evaluator is None else [judges.index(evaluator)]
    n = len(authors)
    if len(gathered.positions.question):
        losses = [losses_of_rankings(gathered.positions, judge, n) for judge in chosen]
        by = "rankings"
    elif len(verdicts.points):
        every = losses_of_verdicts(verdicts, rule, orderless)
        losses, by = [every[judge] for judge in chosen], "direct comparisons"
    else:
        losses = [losses_of_marks(gathered.marks, judge, n) for judge in chosen]
        by = "marks"
    if evaluator is None:
        who = "each pair of answers by all judges that wrote neither"
    else:
        who = f"by {evaluator}, whose own answers and questions are left out"
    notes.append(f"test set: ranks from the judges' {by}, {who}")
    kept = [at for at, name in enumerate(agents) if evaluator is None or name != evaluator]
    losses = [one[:, kept][:, :, kept] for one in losses]
    written = [None if name is not None and name == evaluator else name for name in authors]
    return author_table(losses, tuple(agents[at] for at in kept), written)


def _marks(marks: Marks, questions: int) -> Floats | None:
    table = np.full((questions, len(marks.judges), len(marks.agents)), np.nan)
    table[marks.question, marks.judge, marks.examinee] = marks.overall
    return None if bool(np.isnan(table).all()) else table


def _points(verdicts: Comparisons, rule: Disagreement, orderless: frozenset[str]) -> Floats | None:
    points = [orders.points for orders in fold_orders(verdicts, rule, orderless)]
    if not points or all(bool(np.isnan(one).all()) for one in points):
        return None
    return np.stack(points, axis=1)
