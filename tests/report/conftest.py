"""A small run's folder, written by hand: four agents, one of them unfit to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest

from peerexam.records import Answer, Mark, Question, Ranking, Record, Verdict
from peerexam.runfolder import RunFolder, record_line
from peerexam.runfolder.folder import Kind

AGENTS = ("alder", "birch", "cedar", "birch-warm")
JUDGES = ("alder", "birch", "cedar")
DOMAINS = ("tides", "bread", "graph theory")

Texts = dict[str, str]
RunMaker = Callable[..., Path]


def questions(texts: Texts, count: int) -> Iterator[Question]:
    for number in range(count):
        author = JUDGES[number % 3]
        domain = texts.get("domain", DOMAINS[number % 3])
        yield Question(
            f"q{number:03}",
            texts.get("question", f"Question {number}: what makes {domain} what it is?"),
            domain,
            ("knowledge", domain),
            author,
            "hard",
            prompt="p" * 64,
            call=f"{number:064x}",
        )
    yield Question(
        "q000-2",
        texts.get("question", "And why not the other way round?"),
        texts.get("domain", DOMAINS[0]),
        ("knowledge",),
        "alder",
        "own",
        2,
        "q000",
        "analysis",
        "birch",
    )


def answers(asked: list[Question], agents: tuple[str, ...], texts: Texts) -> Iterator[Answer]:
    for question in asked:
        for place, agent in enumerate(agents):
            if question.id == "q001" and place == 2:
                yield Answer(question.id, agent, "", "refused", "content policy")
            else:
                yield Answer(
                    question.id, agent, texts.get("answer", f"{agent} says: it is complicated.")
                )


def marks(asked: list[Question], agents: tuple[str, ...], texts: Texts) -> Iterator[Mark]:
    for question, agent, judge_name in product(asked, agents, JUDGES):
        if judge_name != agent:
            yield mark_of(question, agent, judge_name, texts)


def verdicts(asked: list[Question], agents: tuple[str, ...], texts: Texts) -> Iterator[Verdict]:
    for question in asked:
        for first, second in permutations(agents[:3], 2):
            third = next(name for name in agents[:3] if name not in (first, second))
            yield Verdict(question.id, third, first, second, "first")
        reply = texts.get("reply", "I like both very much.")
        yield Verdict(
            question.id, "cedar", agents[0], agents[1], None, "unparsed", "no verdict line", reply
        )


def rankings(asked: list[Question], agents: tuple[str, ...]) -> Iterator[Ranking]:
    for question in asked:
        yield Ranking(question.id, "cedar", ((agents[0], agents[1]), (agents[3],)))


def write_records(run: RunFolder, agents: tuple[str, ...], texts: Texts, count: int) -> None:
    run.create()
    asked = list(questions(texts, count))
    first_round = asked[:count]
    records: dict[Kind, Iterable[Record]] = {
        "questions": asked,
        "answers": answers(first_round, agents, texts),
        "marks": marks(first_round, agents, texts),
        "verdicts": verdicts(first_round, agents, texts),
        "rankings": rankings(first_round, agents),
    }
    for kind, of_kind in records.items():
        run.records_path(kind).write_bytes(b"".join(map(record_line, of_kind)))


def mark_of(question: Question, agent: str, judge: str, texts: Texts) -> Mark:
    if judge == "cedar":
        reply = texts.get("reply", "Nice answer!")
        return Mark(question.id, agent, judge, state="unparsed", reply=reply)
    scores = {"accuracy": 3, "coherence": 3, "factuality": 2, "comprehensiveness": 2}
    return Mark(question.id, agent, judge, scores, 5 if agent == "alder" else 4)


def estimate(value: float | None, half: float = 0.1, **more: Any) -> dict[str, Any]:
    if value is None:
        return {"value": None, "low": None, "high": None, "p": None, "p_holm": None, "n": 0,
                "left_out": 12, "reason": "no peer judged without an interest"}  # fmt: skip
    ends = {"low": round(value - half, 6), "high": round(value + half, 6)}
    return {"value": value, **ends, "p": 0.004, "p_holm": 0.012, "n": 12, "left_out": 1,
            "reason": None, **more}  # fmt: skip


def standing(agent: str, rank: int, tier: int, score: float, **more: Any) -> dict[str, Any]:
    return {
        "agent": agent, "rank": rank, "rank_low": rank if tier == 1 else 2,
        "rank_high": rank if tier == 1 else 4, "tier": tier, "score": score,
        "score_low": round(score - 0.07, 6), "score_high": round(score + 0.06, 6),
        "full_mark": round(60 * score, 6), "avg": round(60 * score, 6),
        "avg_weight": round(90 * score, 6), "win_rate": round(score - 0.02, 6), "questions": 12,
        "variant_of": None, **more,
    }  # fmt: skip


def judge(agent: str, fit: bool, by: str, bias: float) -> dict[str, Any]:
    measures = {
        "swap_consistency": 0.86 if fit else 0.19,
        "first_preference": 0.05 if fit else 0.93,
        "longer_preference": 0.12,
        "invalid_rate": 0.01 if fit else 0.66,
    }
    return {
        "agent": agent, "by": by, "fit": fit,
        "why_unfit": [] if fit else ["swap consistency 0.19 is under 0.5"], **measures,
        "intervals": {
            name: {"low": round(max(value - 0.05, 0), 6), "high": round(value + 0.05, 6), "n": 72}
            for name, value in measures.items()
        },
        "self_preference": {
            "win_rate": estimate(bias),
            "rank_bias": estimate(-2 * bias, 0.4),
            "third_party": estimate(None if agent == "cedar" else bias),
        },
        "circular_triads": {"count": 1, "of": 48}, "order_contradictions": {"count": 2, "of": 72},
        "verdicts": {"planned": 72, "ok": 71 if fit else 24}, "marks": {"planned": 36, "ok": 36},
    }  # fmt: skip


def standings(agents: tuple[str, ...]) -> dict[str, Any]:
    best, second, third, warm = agents
    matrix = [[None, 0.7, 0.9, 0.75], [0.3, None, 0.6, 0.5], [0.1, 0.4, None, 0.35],
              [0.25, 0.5, 0.65, None]]  # fmt: skip
    counts = [[0 if value is None else 12 for value in row] for row in matrix]
    four = {"direct": matrix, "direct_counts": counts, "implied": matrix, "implied_counts": counts}
    kinds = {"planned": 48, "ok": 47, "unparsed": 0, "refused": 1, "filtered": 0, "truncated": 0,
             "empty": 0, "error": 0}  # fmt: skip
    rows = [
        standing(best, 1, 1, 0.81),
        standing(second, 2, 2, 0.49),
        standing(warm, 3, 2, 0.46, variant_of=second),
        standing(third, 4, 2, 0.4),
    ]
    ranks = [{"agent": row["agent"], "score": row["score"], "rank": row["rank"]} for row in rows]
    return {
        "schema": 1, "exam": "Bread & tides", "protocol": "peer_exam", "seed": 7,
        "status": "complete", "status_reason": None, "standings": rows,
        "voting": {
            "method": "borda", "rounds": 1000, "confidence": 0.95, "cluster_judges": False,
            "judges_counted": [best, second],
            "judges_left_out": [{"agent": third, "why": "swap consistency 0.19 is under 0.5"}],
            "quorum": 1, "quorum_met": True, "ballots": "rankings", "disagreement": "tie",
            "note": None, "unplaced": [],
            "by_method": {"borda": ranks, "copeland": ranks, "schulze": ranks,
                          "bradley_terry": ranks},
        },
        "judges": [judge(best, True, "prompt", 0.22), judge(second, True, "likelihood", 0.04),
                   judge(third, False, "prompt", -0.05)],
        "win_rates": {"agents": list(agents), **four, "per_judge": {best: four}},
        "full_marks": {
            "examinees": list(agents), "judges": [best, second],
            "percent": [[None, 58.3], [33.3, None], [16.7, 25.0], [41.7, 33.3]],
            "counts": [[0, 12], [12, 0], [12, 12], [12, 12]],
        },
        "home_advantage": [{"agent": best, **estimate(0.12)}, {"agent": third, **estimate(None)}],
        "depth": [
            {"agent": best, "round": 1, "asked": 12, "correct": 9, "rate": 0.75, "low": 0.47,
             "high": 0.91},
            {"agent": best, "round": 2, "asked": 9, "correct": 3, "rate": 0.333333, "low": 0.12,
             "high": 0.65},
            {"agent": second, "round": 1, "asked": 12, "correct": 4, "rate": 0.333333, "low": 0.14,
             "high": 0.61},
        ],
        "agreement": [{"judges": [best, second], "kendall_tau": 0.61, "n": 12, "reason": None}],
        "counts": {"questions": {"planned": 13, "ok": 13}, "answers": kinds, "marks": kinds,
                   "verdicts": {**kinds, "planned": 60},
                   "rankings": {"planned": 12, "ok": 9, "incomplete": 2, "empty": 1}},
    }  # fmt: skip


def manifest(agents: tuple[str, ...]) -> dict[str, Any]:
    return {
        "schema": 1, "versions": {"peerexam": "0.1.0", "python": "3.11"}, "seed": 7,
        "exam": "Bread & tides", "protocol": "peer_exam",
        "agents": [
            {"name": name, "model": f"sim/{place}", "roles": ["examinee", "judge"],
             "fingerprint": {"provider": "sim", "model": str(place)},
             "variant_of": agents[1] if place == 3 else None, "licence": "Apache-2.0"}
            for place, name in enumerate(agents)
        ],
        "questions_hash": "ab" * 32, "counts": {}, "status": "complete", "status_reason": None,
        "notes": ["2 near-duplicate questions were dropped"],
    }  # fmt: skip


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    """Write a run's folder.

    `agents` renames the four agents, `texts` replaces texts (`question, answer, reply, domain`),
    `count` says how many questions there are beside the one follow-up, and `change` edits the
    manifest and the standings before they are written.
    """

    def make(
        agents: tuple[str, ...] = AGENTS,
        texts: Texts | None = None,
        count: int = 12,
        change: Callable[[dict[str, Any], dict[str, Any]], None] | None = None,
        name: str = "run",
    ) -> Path:
        run = RunFolder(tmp_path / name)
        write_records(run, agents, texts or {}, count)
        head, body = manifest(agents), standings(agents)
        if change is not None:
            change(head, body)
        run.write_manifest(head)
        run.write_standings(body)
        return run.path

    return make


def cell(percent: float | None, n: int = 48, planned: int = 48) -> dict[str, Any]:
    if percent is None:
        return {"percent": None, "low": None, "high": None, "n": 0, "planned": 0}
    ends = {"low": round(percent - 2, 6), "high": round(percent + 2, 6)}
    return {"percent": percent, **ends, "n": n, "planned": planned}


def gain(level: str, value: float | None) -> dict[str, Any]:
    if value is None:
        return {"level": level, "value": None, "low": None, "high": None, "n": 48,
                "reason": "no full mark without examples"}  # fmt: skip
    return {"level": level, "value": value, "low": value - 5, "high": value + 5, "n": 48,
            "reason": None}  # fmt: skip


def benchmark(agents: tuple[str, ...], text: str) -> dict[str, Any]:
    """Figures of BLOOMZ in the paper's Table 3 for the second agent and its variant, the fourth."""
    best, second, third, warm = agents
    gains = [gain("all", 23.2), gain("memorization", -7.9), gain("comprehension", None),
             gain("analysis", 126.3)]  # fmt: skip
    aspects = [[98.0, 85.0, None, 88.0], [99.0, 90.0, None, 92.0], [97.0, 89.0, None, 91.0]]

    def cells(*percents: float | None) -> list[dict[str, Any]]:
        return [cell(percent) for percent in percents]

    return {
        "examinees": [best, second, third, warm], "judges": [best, second], "full_mark": 5.0,
        "single": {
            "all": [cell(75.0), cell(20.7, 40), cell(None), cell(25.5)],
            "levels": [
                {"level": "memorization", "questions": 6, "cells": cells(80.0, 63.5, None, 58.5)},
                {"level": "analysis", "questions": 4, "cells": cells(70.0, 3.8, None, 8.6)},
            ],
            "groups": [],
            "domains": [{"domain": text, "questions": 12, "cells": cells(75.0, 20.7, None, 25.5)}],
            "domains_left_out": 2,
        },
        "multi": [{"round": 2, "questions": 9, "cells": cells(62.5, None, None, 17.5)}],
        "aspects": [
            {"aspect": name, "low": 1, "high": 3, "cells": cells(*percents)}
            for name, percents in zip((text, "coherence", "factuality"), aspects, strict=True)
        ],
        "few_shot": {
            "pairs": [{"zero": second, "five": warm, "gains": gains}], "mean": gains,
        },
        "questions": {
            "total": 12, "words": [{"word": "what", "count": 9}, {"word": "other", "count": 3}],
            "domains": [{"domain": text, "count": 12}],
            "levels": [
                {"level": name, "count": count}
                for name, count in (("memorization", 6), ("comprehension", 0), ("analysis", 4))
            ],
        },
        "follow_ups": {"rounds": 1, "sample": None, "share": 0.1},
    }  # fmt: skip


@pytest.fixture
def make_benchmark() -> Callable[..., dict[str, Any]]:
    """Standings with a benchmark."""

    def make(agents: tuple[str, ...] = AGENTS, text: str = "Science") -> dict[str, Any]:
        return {**standings(agents), "benchmark": benchmark(agents, text)}

    return make


@pytest.fixture
def benchmarked() -> Callable[..., Callable[[dict[str, Any], dict[str, Any]], None]]:
    """A change for `make_run` that adds a benchmark, with a text for domains and an aspect."""

    def make(
        agents: tuple[str, ...] = AGENTS, text: str = "Science"
    ) -> Callable[[dict[str, Any], dict[str, Any]], None]:
        def change(_: dict[str, Any], body: dict[str, Any]) -> None:
            body["benchmark"] = benchmark(agents, text)

        return change

    return make
