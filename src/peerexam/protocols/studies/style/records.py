"""What a style probe leaves: every rewriting, every verdict, and the figures, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.standings.as_json import estimate_json, plain
from peerexam.protocols.studies.base import row_of
from peerexam.protocols.studies.style.protocol import ORIGINAL, REWRITTEN, StyleTrial
from peerexam.records import Verdict
from peerexam.stats.core.tables import Comparisons, Floats, Ints, comparisons_from
from peerexam.stats.judges.bias import first_preference, longer_preference, swap_consistency
from peerexam.stats.style import style_preference

_WINNER = {ORIGINAL: "original", REWRITTEN: "rewritten"}


def rewrite_rows(trials: Iterable[StyleTrial]) -> Iterator[dict[str, Json]]:
    """One row a sample, for `rewrites.jsonl`."""
    for trial in trials:
        check = None if trial.check is None else asdict(trial.check)
        yield {
            "question_id": trial.sample.question.id,
            "examinee": trial.sample.answer.examinee,
            "question": trial.sample.question.text,
            "original": trial.sample.answer.text,
            "rewritten": trial.rewriting.text,
            "length_ratio": None if trial.ratio is None else round(trial.ratio, 6),
            "kept": trial.dropped is None,
            "dropped": trial.dropped,
            "rewriting": {k: v for k, v in asdict(trial.rewriting).items() if k != "text"},
            "check": check,
        }


def verdict_rows(trials: Iterable[StyleTrial]) -> Iterator[dict[str, Json]]:
    """One row a verdict, for `verdicts.jsonl`: which text was shown first, and which won."""
    for trial in trials:
        for judge, compared in (trial.comparisons or {}).items():
            for verdict in (compared.forward, compared.backward):
                yield row_of(
                    verdict,
                    "question_id examinee judge first winner state reason reply prompt call",
                    examinee=trial.sample.answer.examinee,
                    judge=judge,
                    first=_WINNER[verdict.first],
                    winner=_winner(verdict),
                )


def _winner(verdict: Verdict) -> str | None:
    if verdict.winner is None or verdict.winner == "tie":
        return verdict.winner
    return _WINNER[verdict.first if verdict.winner == "first" else verdict.second]


def style_figures(
    trials: Sequence[StyleTrial], judges: Sequence[str], own: Iterable[str], confidence: float
) -> dict[str, Json]:
    """What is counted and measured.

    Args:
        trials: In any order.
        judges: Names, in the order of the table.
        own: Judges that are the rewriter, under whatever name: they judge their own style.
        confidence: Of the intervals.

    Returns:
        `samples` (how many, and why some were dropped), `length_ratio` of those kept, `judges`
        (preference and what may lie behind it, each), and `pooled`: of all judges, and of those
        that are not the rewriter.
    """
    kept = [trial for trial in trials if trial.comparisons is not None]
    mine = set(own)
    others = [at for at, name in enumerate(judges) if name not in mine]
    points, cluster = _points(kept, judges)
    found = style_preference(points, cluster, confidence=confidence)
    without = style_preference(points, cluster, panel=others, confidence=confidence)
    table, lengths = _table(kept, judges)
    beside = {
        "swap_consistency": swap_consistency(table, confidence=confidence),
        "first_preference": first_preference(table, confidence=confidence),
        "longer_preference": longer_preference(table, lengths, confidence=confidence),
    }
    authors = Counter(trial.sample.answer.examinee for trial in kept)
    rows: list[Json] = [
        {
            "judge": name,
            "is_rewriter": name in mine,
            "own_answers": authors[name],
            "preference": estimate_json(found.by_judge[at]),
            **{key: estimate_json(one[at]) for key, one in beside.items()},
            "verdicts": _states(kept, name),
        }
        for at, name in enumerate(judges)
    ]
    body: dict[str, Json] = {
        "samples": _samples(trials),
        "length_ratio": _ratios([trial.ratio for trial in kept if trial.ratio is not None]),
        "judges": rows,
        "pooled": estimate_json(found.pooled),
        "pooled_without_rewriter": estimate_json(without.pooled),
    }
    ready: dict[str, Json] = plain(body)
    return ready


def failed_calls(trials: Iterable[StyleTrial]) -> list[str]:
    """What the calls that failed said."""
    found: list[tuple[str, str | None]] = []
    for trial in trials:
        found.append((trial.rewriting.state, trial.rewriting.reason))
        if trial.check is not None:
            found.append((trial.check.state, trial.check.reason))
        for compared in (trial.comparisons or {}).values():
            found += [(v.state, v.reason) for v in (compared.forward, compared.backward)]
    return [reason or "no reason given" for state, reason in found if state == "error"]


def _points(kept: Sequence[StyleTrial], judges: Sequence[str]) -> tuple[Floats, Ints]:
    """Points of the rewritten texts (pairs × judges), and the question of each pair."""
    points = np.full((len(kept), len(judges)), np.nan)
    for row, trial in enumerate(kept):
        for at, name in enumerate(judges):
            of_original = (trial.comparisons or {})[name].points
            if of_original is not None:
                points[row, at] = 1.0 - of_original
    roots = {root: at for at, root in enumerate(dict.fromkeys(t.sample.root for t in kept))}
    return points, np.array([roots[trial.sample.root] for trial in kept], dtype=np.int64)


def _table(kept: Sequence[StyleTrial], judges: Sequence[str]) -> tuple[Comparisons, Floats]:
    """All verdicts as columns, a pair being a question of its own, with the texts' lengths."""
    verdicts: list[Verdict] = []
    roots: dict[str, str] = {}
    for at, trial in enumerate(kept):
        roots[str(at)] = trial.sample.root
        for compared in (trial.comparisons or {}).values():
            verdicts += [_of_pair(one, at) for one in (compared.forward, compared.backward)]
    table = comparisons_from(verdicts, (ORIGINAL, REWRITTEN), judges, roots)
    lengths = [
        (len(kept[int(pair)].sample.answer.text.strip()), len(kept[int(pair)].rewriting.text))
        for pair in table.questions
    ]
    return table, np.array(lengths, dtype=np.float64).reshape(-1, 2)


def _of_pair(verdict: Verdict, pair: int) -> Verdict:
    return Verdict(
        str(pair), verdict.judge, verdict.first, verdict.second, verdict.winner, verdict.state
    )


def _states(kept: Sequence[StyleTrial], judge: str) -> dict[str, int]:
    return dict(
        Counter(
            verdict.state
            for trial in kept
            for verdict in (
                (trial.comparisons or {})[judge].forward,
                (trial.comparisons or {})[judge].backward,
            )
        )
    )


def _samples(trials: Sequence[StyleTrial]) -> dict[str, Json]:
    dropped = Counter(trial.dropped for trial in trials if trial.dropped is not None)
    return {
        "drawn": len(trials),
        "kept": len(trials) - sum(dropped.values()),
        "dropped": dict(sorted(dropped.items())),
    }


def _ratios(ratios: Sequence[float]) -> Mapping[str, Json]:
    if not ratios:
        return {"median": None, "least": None, "most": None}
    return {
        "median": float(np.median(ratios)),
        "least": min(ratios),
        "most": max(ratios),
    }
