"""The voting coordinator: a run's records in, the content of `standings.json` out.

Every (question, judge) is a ballot (its ranking, or its direct verdicts where it has none, or its
marks where a run has neither), and a voting rule makes scores of them (examiner paper, §3.3 and
§4.3). A judge never counts on its own answers, and an unfit judge loses its vote. Beside the
standings stands what they rest on. `docs/standings-format.md` has the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.benchmarking import Benchmark
from peerexam.protocols.gathering import Gathered, gather
from peerexam.protocols.judge_sheets import JudgeSheet, judge_sheets
from peerexam.protocols.same_model import within
from peerexam.protocols.standings_json import (
    agreement_rows,
    counts_of,
    depth_rows,
    estimate_json,
    full_mark_tables,
    plain,
    win_rate_tables,
)
from peerexam.protocols.tally_settings import ExamInfo, FitnessLimits, JudgeInfo, TallySettings
from peerexam.protocols.third_parties import third_parties
from peerexam.records import Answer, Mark, Probe, Question, Ranking, Verdict
from peerexam.stats.ballots import ballots_from, positions_by_marks
from peerexam.stats.depth import DepthRound, depth_by_round
from peerexam.stats.estimate import Estimate
from peerexam.stats.fullmarks import FullMarks, avg, avg_weight, full_marks
from peerexam.stats.home_advantage import home_advantage
from peerexam.stats.orders import Pairs, combine_orders, on_own_answer, rows_where
from peerexam.stats.ranks import competition_ranks
from peerexam.stats.tables import Comparisons, Floats, Marks
from peerexam.stats.vote_count import VoteCount, count_votes
from peerexam.stats.votes import METHODS, PRIOR
from peerexam.stats.wins import mean_win_rate

__all__ = ["ExamInfo", "FitnessLimits", "JudgeInfo", "TallySettings", "tally"]

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
    table = gather(
        questions=questions,
        answers=answers,
        marks=marks,
        verdicts=verdicts,
        rankings=rankings,
        agents=agents,
        judges=tuple(judges),
        dimensions=tuple(settings.benchmark.scales),
    )
    orderless = [name for name, info in judges.items() if info.one_verdict_is_enough]
    peers = rows_where(table.verdicts, ~on_own_answer(table.verdicts))
    pairs = combine_orders(peers, settings.disagreement, orderless)
    twins = within(same, dict.fromkeys((*agents, *judges)))
    sheets = judge_sheets(table, pairs, judges, settings, exam.seed, probes, twins)
    fit = [place for place, sheet in enumerate(sheets) if sheet.counts]
    counted = fit if len(fit) >= settings.quorum else list(range(len(sheets)))
    first = _first_round(table.marks, table)
    vote, ballots = _count(table, pairs, first, counted, settings, exam.seed)
    marked = full_marks(first, settings.full_mark)
    content = {
        "schema": SCHEMA,
        "exam": exam.name,
        "protocol": exam.protocol,
        "seed": exam.seed,
        "status": exam.status,
        "status_reason": exam.status_reason,
        "same_model": twins,
        "standings": _standings(vote, marked, counted, agents, variants or {}),
        "voting": {
            **_voting(vote, sheets, fit, settings, agents),
            "ballots": ballots,
            "uncompared": _uncompared(vote, agents),
            "pairs_without_result": {"one_order": pairs.one_order, "no_order": pairs.no_order},
        },
        "judges": [sheet.to_json() for sheet in sheets],
        "win_rates": win_rate_tables(table.positions, pairs, counted),
        "full_marks": full_mark_tables(marked, agents, tuple(judges)),
        "home_advantage": _home_advantage(table, peers, counted, settings, exam.seed, twins),
        "depth": depth_rows(_depth(table, counted, settings)),
        "agreement": agreement_rows(table, pairs),
        "benchmark": Benchmark(table, questions, counted, settings, exam.seed).to_json(),
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
    table: Gathered,
    pairs: Pairs,
    marks: Marks,
    counted: Sequence[int],
    settings: TallySettings,
    seed: int,
) -> tuple[VoteCount, str]:
    """The vote, and what the ballots were made of."""
    positions, made_of = table.positions, "rankings"
    if bool(np.isnan(positions.rank).all()):  # nobody was placed anywhere
        made_of = "verdicts"
        if not len(pairs.question):
            positions, made_of = positions_by_marks(marks), "marks"
    ballots, stands = ballots_from(positions, pairs)
    vote = count_votes(
        ballots,
        stands,
        counted,
        method=settings.method,
        rounds=settings.rounds,
        confidence=settings.confidence,
        cluster_judges=settings.cluster_judges,
        rng=np.random.default_rng([seed, 0]),
    )
    return vote, made_of


def _standings(
    vote: VoteCount,
    marked: FullMarks,
    counted: Sequence[int],
    agents: Sequence[str],
    variants: Mapping[str, str],
) -> list[Json]:
    """The agents that have a score, best first; equal ranks in the order of names."""
    percent = marked.percent[:, list(counted)]
    means, weighted = avg(percent), avg_weight(percent)
    rates = mean_win_rate(vote.total.wins)
    rows: list[dict[str, Json]] = []
    for item, (name, place) in enumerate(zip(agents, vote.places, strict=True)):
        if place is not None:
            rows.append(
                {
                    "agent": name,
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
    return sorted(rows, key=lambda row: (row["rank"], row["agent"]))


def _voting(
    vote: VoteCount,
    sheets: Sequence[JudgeSheet],
    fit: Sequence[int],
    settings: TallySettings,
    agents: Sequence[str],
) -> dict[str, Json]:
    quorum_met = len(fit) >= settings.quorum
    unplaced = [
        {"agent": name, "why": _why_unplaced(name, sheets, fit, quorum_met)}
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
        "judges_counted": [sheets[place].agent for place in fit],
        "judges_left_out": [
            {"agent": sheet.agent, "why": sheet.why_left_out}
            for sheet in sheets
            if not sheet.counts
        ],
        "quorum": settings.quorum,
        "quorum_met": quorum_met,
        "unplaced": unplaced,
        "note": _note(len(fit), settings.quorum, vote, agents),
        "by_method": {name: _ranked(rule(vote.total), agents) for name, rule in METHODS.items()},
    }


def _uncompared(vote: VoteCount, agents: Sequence[str]) -> list[Json]:
    """Pairs with a place each that no ballot which counts holds together."""
    met = vote.total.wins + vote.total.wins.T > 0
    placed = [at for at, place in enumerate(vote.places) if place is not None]
    return [[agents[i], agents[j]] for i, j in combinations(placed, 2) if not met[i, j]]


def _why_unplaced(
    name: str, sheets: Sequence[JudgeSheet], fit: Sequence[int], quorum_met: bool
) -> str:
    voters = [sheets[place].agent for place in fit] if quorum_met else [s.agent for s in sheets]
    if not voters:
        return "no judge has a vote"
    if voters == [name]:
        return "the only judge that counts is the agent itself, and nobody votes on its own answers"
    return "no ballot holds it together with another agent"


def _note(fit: int, quorum: int, vote: VoteCount, agents: Sequence[str]) -> str | None:
    """What a reader of the standings must know first, in a sentence or two."""
    notes: list[str] = []
    if fit < quorum:
        notes.append(
            f"Only {fit} of the {quorum} judges that the exam asks for may vote, so these are no "
            "standings: to show anything at all, the scores here count every judge, unfit ones too."
        )
    most = int(vote.questions.max(initial=0))
    fewer = [
        f"{name} ({int(number)})"
        for name, number in zip(agents, vote.questions, strict=True)
        if 0 < number < most
    ]
    if fewer:
        notes.append(
            f"Ballots hold some agents on fewer than {most} questions: {', '.join(sorted(fewer))}. "
            "Answers or verdicts are missing there, or the agent itself was the only judge; that "
            "is neither good nor bad, and their scores rest on the other questions."
        )
    return " ".join(notes) or None


def _ranked(scores: Floats, agents: Sequence[str]) -> list[Json]:
    ranks = competition_ranks(scores)
    rows = [
        {"agent": name, "score": score, "rank": rank}
        for name, score, rank in zip(agents, scores.tolist(), ranks, strict=True)
        if rank is not None
    ]
    return sorted(rows, key=lambda row: (row["rank"], row["agent"]))


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
        {"agent": name, **estimate_json(estimate), "third_parties": others[name].to_json()}
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
