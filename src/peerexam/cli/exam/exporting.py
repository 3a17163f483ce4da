"""`export --to`: a run in the layouts of other tools, with the ratings that they come to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from peerexam.calls import Json
from peerexam.cli.output import columns, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.report.export.battles import BattlesWritten, Tool, export_battles
from peerexam.report.export.place import check_export_place
from peerexam.report.grid import grid
from peerexam.stats.ranking.results import Rating, rate_results

LAYOUTS: tuple[str, ...] = ("dataset", "arena-rank", "evalica", "fastchat")
"""What `--to` may name."""


def export_to(folder: Path, arguments: argparse.Namespace) -> int:
    """Write a run's folder in the layout that `--to` names.

    Raises:
        SetupError: There is no such layout, or the place holds something else.
    """
    out = Path(arguments.out) if arguments.out else folder / arguments.to
    check_export_place(out)  # before anything is counted
    if arguments.to in get_args(Tool):
        return _battles(folder, out, arguments)
    if arguments.to == "fastchat":
        return _fastchat(folder, out, arguments)
    raise SetupError(
        f"cannot export to '{arguments.to}': --to takes {', '.join(LAYOUTS[:-1])} or {LAYOUTS[-1]}"
    )


def _battles(folder: Path, out: Path, arguments: argparse.Namespace) -> int:
    from peerexam.protocols.export import counted_results

    counted = counted_results(folder)
    ratings = rate_results(counted.results, counted.confidence)
    basis: dict[str, Json] = {
        "made_of": counted.made_of,
        "disagreement": counted.disagreement,
        "judges": list(counted.judges),
        "confidence": counted.confidence,
        "standings_prior": counted.prior,
    }
    parquet = not arguments.no_parquet
    written = export_battles(
        folder, out, arguments.to, counted.results, ratings, basis, parquet=parquet
    )
    if arguments.json:
        rated: Json = [_rating_json(rating) for rating in ratings]
        say_json({**basis, **_counts(written), "ratings": rated})
        return 0
    say(f"{out}: {', '.join(written.files)}")
    say(
        f"battles: {written.battles} results as the standings count them (of {counted.made_of}); "
        f"verdicts: {written.verdicts} as judges gave them, {written.own_answers} on judges' own "
        f"answers and {written.unread} without a winner left out"
    )
    if counted.no_standings is not None:
        say(f"There are no standings: {plain(counted.no_standings)}")
    say("")
    say(_ratings_text(ratings))
    return 0


def _counts(written: BattlesWritten) -> dict[str, Json]:
    return {
        "folder": str(written.folder),
        "files": list(written.files),
        "battles": written.battles,
        "rows_a_result": written.copies,
        "verdicts": written.verdicts,
        "own_answers_left_out": written.own_answers,
        "without_winner_left_out": written.unread,
    }


def _rating_json(rating: Rating) -> dict[str, Json]:
    from dataclasses import asdict

    return asdict(rating)


def _ratings_text(ratings: Sequence[Rating]) -> str:
    """The Bradley-Terry ratings, one agent a line."""
    names = [plain(rating.agent).replace("\n", " ") for rating in ratings]
    heads: tuple[str, ...] = ("agent", "rating", "interval", "win rate %", "results", "note")
    rows: list[tuple[str, ...]] = [
        (
            name,
            _number(rating.rating, ".1f"),
            _interval(rating),
            _number(_percent(rating.win_rate), ".1f"),
            str(rating.results),
            rating.reason or "",
        )
        for name, rating in zip(names, ratings, strict=True)
    ]
    if not any(rating.reason for rating in ratings):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return grid(heads, rows, (1, 3, 4), width=columns())


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _interval(rating: Rating) -> str:
    if rating.low is None or rating.high is None:
        return "–"
    return f"[{rating.low:.0f}, {rating.high:.0f}]"


def _fastchat(folder: Path, out: Path, arguments: argparse.Namespace) -> int:
    from peerexam.protocols.export import full_mark_of
    from peerexam.report.export.fastchat import export_fastchat

    written = export_fastchat(folder, out, full_mark=full_mark_of(folder))
    if arguments.json:
        say_json(
            {
                "folder": str(written.folder),
                "files": list(written.files),
                "questions": written.questions,
                "answers": written.answers,
                "pairs": written.pairs,
                "singles": written.singles,
                "follow_ups_left_out": written.follow_ups,
                "own_answers_left_out": written.own_answers,
            }
        )
        return 0
    say(f"{out}: {', '.join(written.files)}")
    say(
        f"{written.questions} questions, {written.answers} answers, {written.pairs} pairs in two "
        f"games, {written.singles} marks; {written.own_answers} verdicts and marks of judges on "
        f"their own answers and {written.follow_ups} follow-ups left out"
    )
    return 0
