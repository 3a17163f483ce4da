"""`export`: a run as a data set, or in the layouts of other tools with the ratings they give."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from peerexam.cli.output import columns, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.calls import Json
    from peerexam.report.export.battles import BattlesWritten
    from peerexam.stats.ranking.results import Rating


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--out", metavar="DIR", help="where to (default: DIR/dataset)")
    parser.add_argument("--no-parquet", action="store_true", help="JSONL only")
    parser.add_argument(
        "--to",
        default="dataset",
        metavar="LAYOUT",
        help="dataset (the default), arena-rank, evalica or fastchat",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Write a run as a data set, or in another tool's layout."""
    from peerexam.cli.exam.folder import finished_run
    from peerexam.report.export.dataset import export_dataset

    folder = finished_run(arguments.folder)
    _check_sealed(folder)
    if arguments.to != "dataset":
        return _export_to(folder, arguments)
    out = Path(arguments.out) if arguments.out else folder / "dataset"
    written = export_dataset(folder, out, parquet=not arguments.no_parquet)
    files = sorted(str(p.relative_to(written)) for p in written.rglob("*") if p.is_file())
    if arguments.json:
        say_json({"folder": str(written), "files": files})
    else:
        say(f"{written}: {', '.join(files)}")
    return 0


def _check_sealed(folder: Path) -> None:
    """Refuse to export questions that are not those the answers were given to."""
    from peerexam.runfolder import RunFolder
    from peerexam.tasks.questions.sealed import seals_of

    questions = RunFolder(folder).records_path("questions")
    found, sealed = seals_of(questions)
    if sealed is not None and found != sealed:
        raise SetupError(
            f"{questions} was changed after the run: its hash is {found}, and manifest.json says "
            f"{sealed}. Restore it (peerexam run {folder / 'exam.yaml'} --out {folder} writes it "
            "again from the ledger), or ask the changed questions in a run of their own: "
            f"questions.file={questions}, copied to a folder without manifest.json"
        )


def _export_to(folder: Path, arguments: argparse.Namespace) -> int:
    from peerexam.report.export.place import check_export_place

    out = Path(arguments.out) if arguments.out else folder / arguments.to
    check_export_place(out)  # before anything is counted
    if arguments.to in ("arena-rank", "evalica"):
        return _battles(folder, out, arguments)
    if arguments.to == "fastchat":
        return _fastchat(folder, out, arguments)
    raise SetupError(
        f"cannot export to '{arguments.to}': --to takes dataset, arena-rank, evalica or fastchat"
    )


def _battles(folder: Path, out: Path, arguments: argparse.Namespace) -> int:
    from peerexam.protocols.export import counted_results
    from peerexam.report.export.battles import export_battles
    from peerexam.stats.ranking.results import rate_results

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
        rated: Json = [asdict(rating) for rating in ratings]
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
