"""The voting coordinator: a run's records in, the content of `standings.json` out.

Every (question, judge) is a ballot (its ranking, or its direct verdicts where it has none, or its
marks where a run has neither), and a voting rule makes scores of them (examiner paper, §3.3 and
§4.3). A judge never counts on its own answers, and an unfit judge loses its vote. Beside the
standings stands what they rest on. `docs/standings-format.md` has the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.standings.as_json import (
    agreement_rows,
    counts_of,
    depth_rows,
    estimate_json,
    full_mark_tables,
    plain,
    planned_and_ok,
    win_rate_tables,
)
from peerexam.protocols.standings.benchmarking import Benchmark
from peerexam.protocols.standings.columns import Gathered, gather
from peerexam.protocols.standings.judge_pools import Pools, one_voice, pooled
from peerexam.protocols.standings.judges import JudgeSheet, judge_sheets
from peerexam.protocols.standings.same_model import third_parties, within
from peerexam.protocols.standings.settings import ExamInfo, JudgeInfo, TallySettings
from peerexam.records import Answer, Mark, Probe, Question, Ranking, Verdict
from peerexam.stats.benchmarks.depth import DepthRound, depth_by_round
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Comparisons, Floats, Ints, Marks
from peerexam.stats.judges.fullmarks import FullMarks, avg, avg_weight, full_marks
from peerexam.stats.judges.home_advantage import home_advantage
from peerexam.stats.pairs.orders import Mask, Pairs, combine_orders, on_own_answer, rows_where
from peerexam.stats.pairs.wins import mean_win_rate
from peerexam.stats.ranking.ballots import ballots_from, positions_by_marks
from peerexam.stats.ranking.ranks import competition_ranks
from peerexam.stats.ranking.ratings import rate
from peerexam.stats.ranking.vote_count import VoteCount, count_votes, within_groups
from peerexam.stats.ranking.votes import METHODS, PRIOR

__all__ = ["ExamInfo", "JudgeInfo", "TallySettings", "tally"]

SCHEMA = 1
"""Of `standings.json`."""

_DEFAULT = TallySettings()


def tally(
    *,
    exam: ExamInfo,
    questions: Sequence[Question],
    answers: Iterable[Answer],
    marks: Iterable[Mark],
    verdicts: Iterable[Verdict],
    rankings: Iterable[Ranking],
    agents: Sequence[str],
    judges: Mapping[str, JudgeInfo],
    settings: TallySettings = _DEFAULT,
    variants: Mapping[str, str] | None = None,
    same: Sequence[Collection[str]] = (),
    probes: Iterable[Probe] = (),
) -> dict[str, Json]:
    """Count the votes.

    Each stream is read once and only numbers are kept of it. Follow-ups count for depth alone:
    they are asked of one examinee each, after answers that were already good.

    Args:
        exam: The run.
        questions: All of them, follow-ups too.
        answers: One record each planned answer.
        marks: One record each planned mark.
        verdicts: One record each planned verdict, one order each.
        rankings: Rankings, where judges ranked.
        agents: The examinees.
        judges: The judges, by name.
        settings: How to count.
        variants: Examinee to the name of the agent it is a variant of.
        same: Groups of agents that are one model each, as `same_model.same_models` has them: none
            of a group is a third party where another of it wrote one of the answers.
        probes: What judges made of answers that ordered them about, where they were probed.

    Returns:
        The content of `standings.json`: equal records, settings and seed give equal content,
        whatever order the records come in.
    """
    gathered = gather(
        questions=questions,
        answers=answers,
        marks=marks,
        verdicts=verdicts,
        rankings=rankings,
        agents=agents,
        judges=tuple(judges),
        dimensions=tuple(settings.benchmark.scales),
    )
    pools = pooled(gathered, judges, settings.most_judges)
    table, judges = pools.table, pools.judges
    orderless = [name for name, info in judges.items() if info.one_verdict_is_enough]
    peers = rows_where(table.verdicts, ~on_own_answer(table.verdicts))
    pairs = combine_orders(peers, settings.disagreement, orderless)
    same = within(same, dict.fromkeys((*agents, *judges)))
    sheets = judge_sheets(pools, pairs, settings, exam.seed, probes, same)
    fit = [place for place, sheet in enumerate(sheets) if sheet.counts]
    quorum_met = sum(sheets[place].stands_for for place in fit) >= settings.quorum
    counted = fit if quorum_met else []
    first = _first_round(table.marks, table)
    alone = [place for place, name in enumerate(pools.judges) if pools.stands_for[name] == 1]
    vote, ballots = _count(pools, pairs, first, counted, settings, exam.seed)
    marked = full_marks(first, settings.full_mark)
    rows = _standings(vote, marked, counted, agents, variants or {})
    content = {
        "schema": SCHEMA,
        "exam": exam.name,
        "protocol": exam.protocol,
        "seed": exam.seed,
        "status": exam.status,
        "status_reason": exam.status_reason,
        "same_model": same,
        "standings": rows,
        "no_standings": None
        if rows or _has_none_to_give(table, agents, counted)
        else _no_standings(table, sheets, len(fit), settings.quorum),
        "voting": {
            **_voting(vote, sheets, fit, settings, agents),
            "judges_counted": [sheets[place].agent for place in counted],
            "ballots": ballots,
            "uncompared": _uncompared(vote, agents),
            "pairs_without_result": {"one_order": pairs.one_order, "no_order": pairs.no_order},
        },
        "judges": [sheet.to_json() for sheet in sheets],
        "win_rates": win_rate_tables(table.positions, pairs, counted),
        "full_marks": full_mark_tables(marked, agents, tuple(judges)),
        "home_advantage": _home_advantage(table, peers, counted, settings, exam.seed, same),
        "depth": depth_rows(_depth(pools.by_question, counted, settings)),
        "agreement": agreement_rows(table, pairs, alone),
        "benchmark": Benchmark(
            pools.by_question, questions, counted, settings, exam.seed
        ).to_json(),
        "cut_answers": _cut_answers(table, agents),
        "counts": counts_of(table, len(questions), exam.planned),
    }
    ready: dict[str, Json] = plain(content)
    return ready


def _first_round(marks: Marks, table: Gathered) -> Marks:
    keep = table.questions.first_round[marks.question]
    return replace(
        marks,
        question=marks.question[keep],
        judge=marks.judge[keep],
        examinee=marks.examinee[keep],
        overall=marks.overall[keep],
        scores=marks.scores[keep],
    )


def _count(
    pools: Pools,
    pairs: Pairs,
    marks: Marks,
    counted: Sequence[int],
    settings: TallySettings,
    seed: int,
) -> tuple[VoteCount, str]:
    """The vote, and what the ballots were made of."""
    positions, made_of = pools.table.positions, "rankings"
    if bool(np.isnan(positions.rank).all()):  # nobody was placed anywhere
        made_of = "verdicts"
        if not len(pairs.question):
            positions, made_of = positions_by_marks(marks), "marks"
    origin = pools.origin
    if not settings.cluster_judges:  # nothing then needs the judges apart
        voice = one_voice(positions, pairs, counted)
        positions, pairs, counted = voice.positions, voice.pairs, [0]
        origin = origin[voice.origin]
    ballots, stands = ballots_from(positions, pairs)
    vote = count_votes(
        ballots,
        _on_questions(stands, origin),
        counted,
        method=settings.method,
        rounds=settings.rounds,
        confidence=settings.confidence,
        cluster_judges=settings.cluster_judges,
        rng=np.random.default_rng([seed, 0]),
    )
    return vote, made_of


def _on_questions(stands: Mask, origin: Ints) -> Mask:
    """Who stands on a ballot, by question instead of by a voter's part of it."""
    merged = np.zeros((int(origin.max(initial=-1)) + 1, *stands.shape[1:]), dtype=np.bool_)
    question, judge, agent = np.nonzero(stands)
    merged[origin[question], judge, agent] = True
    return merged


def _standings(
    vote: VoteCount,
    marked: FullMarks,
    counted: Sequence[int],
    agents: Sequence[str],
    variants: Mapping[str, str],
) -> list[Json]:
    """The agents that have a score, by group, best first; equal ranks in the order of names."""
    percent = marked.percent[:, list(counted)]
    means, weighted = avg(percent), avg_weight(percent)
    rates = mean_win_rate(vote.total.wins)
    rows: list[dict[str, Json]] = []
    for item, (name, place) in enumerate(zip(agents, vote.places, strict=True)):
        if place is not None:
            rows.append(
                {
                    "agent": name,
                    "group": place.group,
                    "rank": place.rank,
                    "rank_low": place.low,
                    "rank_high": place.high,
                    "tier": place.tier,
                    "score": vote.scores[item],
                    "score_low": vote.low[item],
                    "score_high": vote.high[item],
                    "full_mark": means[item],
                    "avg": means[item],
                    "avg_weight": weighted[item],
                    "win_rate": rates[item],
                    "questions": int(vote.questions[item]),
                    "variant_of": variants.get(name),
                }
            )
    return sorted(rows, key=_by_group_and_rank)


def _by_group_and_rank(row: Mapping[str, Json]) -> tuple[int, int, str]:
    return row["group"], row["rank"], row["agent"]


def _cut_answers(table: Gathered, agents: Sequence[str]) -> list[Json]:
    """Agents with answers that were cut at the length limit: how many, of how many."""
    return [
        {"agent": name, "cut": cut, "of": planned_and_ok(table.answers_seen, name)["planned"]}
        for name in agents
        if (cut := table.answers_cut[name])
    ]


def _has_none_to_give(table: Gathered, agents: Sequence[str], counted: Sequence[int]) -> bool:
    """Whether it has what it was for: answers that nobody was to judge, or one agent's marks."""
    answered = any(state == "ok" for _, state in table.answers_seen)
    if answered and not (table.marks_seen or table.verdicts_seen or table.rankings_seen):
        return True
    judges = [table.marks.judges[place] for place in counted]
    return len(agents) == 1 and any(table.marks_seen[name, "ok"] for name in judges)


def _no_standings(table: Gathered, sheets: Sequence[JudgeSheet], fit: int, quorum: int) -> str:
    """Why nothing may be concluded, as the second half of a sentence."""
    if not any(state == "ok" for _, state in table.answers_seen):
        if table.answers_seen:
            return "no agent gave an answer that could be judged"
        if not (table.marks_seen or table.verdicts_seen):
            return "no question has been examined"
    if fit < quorum:
        asked = f"only {fit} of the {quorum} judges that the exam asks for may vote"
        left = "; ".join(f"{one.agent}: {one.why_left_out}" for one in sheets if not one.counts)
        return f"{asked} ({left})" if left else asked
    return "no judge that may vote compared or marked two agents on one question"


def _voting(
    vote: VoteCount,
    sheets: Sequence[JudgeSheet],
    fit: Sequence[int],
    settings: TallySettings,
    agents: Sequence[str],
) -> dict[str, Json]:
    voters = sum(sheets[place].stands_for for place in fit)
    quorum_met = voters >= settings.quorum
    unplaced = [
        {"agent": name, "why": _why_unplaced(name, sheets, fit, settings.quorum)}
        for name, place in zip(agents, vote.places, strict=True)
        if place is None
    ]
    return {
        "method": settings.method,
        "rounds": settings.rounds,
        "confidence": settings.confidence,
        "cluster_judges": settings.cluster_judges,
        "disagreement": settings.disagreement,
        "bradley_terry_prior": PRIOR,
        "judges_left_out": [
            {"agent": sheet.agent, "why": sheet.why_left_out}
            for sheet in sheets
            if not sheet.counts
        ],
        "quorum": settings.quorum,
        "quorum_met": quorum_met,
        "unplaced": unplaced,
        "groups": _groups(vote, agents),
        "questions": vote.all_questions,
        "note": " ".join(_notes(voters, settings, vote, agents)) or None,
        "by_method": {
            name: _ranked(within_groups(rule, vote.groups)(vote.total), vote, agents)
            for name, rule in METHODS.items()
        },
    }


def _uncompared(vote: VoteCount, agents: Sequence[str]) -> list[Json]:
    """Pairs of a group that no ballot which counts holds together."""
    met = vote.total.wins + vote.total.wins.T > 0
    placed = [at for at, place in enumerate(vote.places) if place is not None]
    return [
        [agents[i], agents[j]]
        for i, j in combinations(placed, 2)
        if vote.groups[i] == vote.groups[j] and not met[i, j]
    ]


def _why_unplaced(name: str, sheets: Sequence[JudgeSheet], fit: Sequence[int], quorum: int) -> str:
    voters = [sheets[place].agent for place in fit]
    if not voters:
        return "no judge has a vote"
    if len(voters) < quorum:
        return f"fewer judges than the quorum of {quorum} have a vote"
    if voters == [name]:
        return "the only judge that counts is the agent itself, and nobody votes on its own answers"
    return "no ballot holds it together with another agent"


def _groups(vote: VoteCount, agents: Sequence[str]) -> list[list[str]]:
    """Agents that met, directly or through others; each group sorted."""
    return [
        sorted(agents[item] for item in np.flatnonzero(vote.groups == number).tolist())
        for number in range(int(vote.groups.max(initial=-1)) + 1)
    ]


def _notes(
    fit: int, settings: TallySettings, vote: VoteCount, agents: Sequence[str]
) -> Iterator[str]:
    """What a reader of the standings must know first, a sentence or two each."""
    if fit < settings.quorum:
        yield (
            f"Only {fit} of the {settings.quorum} judges that the exam asks for may vote, so there "
            "are no standings."
        )
    groups = _groups(vote, agents)
    if len(groups) > 1:
        names = "; ".join(f"group {at} ({', '.join(one)})" for at, one in enumerate(groups, 1))
        yield (
            f"No verdict compares {names}, directly or through other agents: scores, ranks and "
            "tiers hold within a group, and nothing is known between groups. Comparisons that link "
            "the groups would change that."
        )
    if settings.method == "bradley_terry":
        yield from _infinite(vote, agents)
    most = int(vote.questions.max(initial=0))
    fewer = [
        f"{name} ({int(number)})"
        for name, number in zip(agents, vote.questions, strict=True)
        if 0 < number < most
    ]
    if fewer:
        yield (
            f"Ballots hold some agents on fewer than {most} questions: {', '.join(sorted(fewer))}. "
            "Answers or verdicts are missing there, or the agent itself was the only judge; that "
            "is neither good nor bad, and their scores rest on the other questions."
        )


def _infinite(vote: VoteCount, agents: Sequence[str]) -> Iterator[str]:
    """Where the likelihood of a Bradley–Terry model has no maximum."""
    sides = rate(vote.total.wins).group
    names = [
        agents[item]
        for item in np.flatnonzero(vote.groups >= 0).tolist()
        if (sides[vote.groups == vote.groups[item]] != sides[item]).any()
    ]
    if names:
        yield (
            f"Bradley–Terry has no finite ratings for {', '.join(sorted(names))}: wins between "
            f"some of them go one way only. A prior of {PRIOR:g} drawn comparisons a pair keeps "
            "their scores finite; how far apart these are rests on that prior."
        )


def _ranked(scores: Floats, vote: VoteCount, agents: Sequence[str]) -> list[Json]:
    rows = []
    for number in range(int(vote.groups.max(initial=-1)) + 1):
        members = np.flatnonzero(vote.groups == number)
        for item, rank in zip(members.tolist(), competition_ranks(scores[members]), strict=True):
            row = {"agent": agents[item], "group": number + 1, "score": scores[item], "rank": rank}
            rows.append(row)
    return sorted(rows, key=_by_group_and_rank)


def _home_advantage(
    table: Gathered,
    peers: Comparisons,
    counted: Sequence[int],
    settings: TallySettings,
    seed: int,
    same: Sequence[Collection[str]],
) -> list[Json]:
    """Per agent; empty where no question has an author among the agents."""
    authors = dict(zip(table.questions.ids, table.questions.authors, strict=True))
    if not set(authors.values()) & set(peers.agents):
        return []
    keep = table.questions.first_round[peers.question] & np.isin(peers.judge, list(counted))
    heard = rows_where(peers, keep)
    found: list[Estimate] = home_advantage(
        heard,
        authors,
        rule=settings.disagreement,
        same=same,
        rounds=settings.rounds,
        rng=np.random.default_rng([seed, 2]),
        confidence=settings.confidence,
    )
    others = third_parties(heard, same)
    return [
        {"agent": name, **estimate_json(estimate), "third_parties": others[name]}
        for name, estimate in zip(peers.agents, found, strict=True)
    ]


def _depth(table: Gathered, counted: Sequence[int], settings: TallySettings) -> list[DepthRound]:
    return depth_by_round(
        table.marks,
        table.questions.rounds,
        table.questions.authors,
        full=settings.full_mark,
        counted=counted,
        confidence=settings.confidence,
    )
