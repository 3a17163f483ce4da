"""`leakage`: are a data set's questions copied from text that models may have been trained on?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from peerexam.cli.arguments import seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.report.grid import grid
from peerexam.report.inert import csv_text, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from peerexam.protocols.studies.leakage.study import AuthorsOverlap, LeakageReport
    from peerexam.stats.core.estimate import Estimate
    from peerexam.stats.leakage import SimilarityTail

_SHOWN_PAIRS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR", help="a run, or a data set")
    parser.add_argument(
        "--corpus",
        nargs="+",
        required=True,
        metavar="PATH",
        help="JSONL, text or Parquet files, or folders of them",
    )
    parser.add_argument("--column", metavar="NAME", help="which field of a corpus holds the text")
    parser.add_argument("--hits", type=int, default=10, metavar="K", help="retrieved a question")
    parser.add_argument("--seed", type=seed, default=0, help="of intervals")
    parser.add_argument("--out", metavar="DIR", help="write leakage.json and leakage.csv there")


def perform(arguments: argparse.Namespace) -> int:
    """Print how near a data set's questions are to corpora, and write the table.

    Raises:
        SetupError: Questions or corpora cannot be read.
        MissingExtraError: A package that the search needs is not installed.
    """
    from pathlib import Path

    from peerexam.protocols.studies.leakage.as_json import COLUMNS, leakage_json, leakage_rows
    from peerexam.protocols.studies.leakage.study import measure_leakage
    from peerexam.runfolder.folder import write_object

    out = None if arguments.out is None else _folder(Path(arguments.out))
    report = measure_leakage(
        Path(arguments.folder),
        [Path(one) for one in arguments.corpus],
        column=arguments.column,
        hits=arguments.hits,
        seed=arguments.seed,
    )
    body = leakage_json(report)
    if out is not None:
        write_object(out / "leakage.json", body)
        table = csv_text(COLUMNS, leakage_rows(report))
        (out / "leakage.csv").write_bytes(table.encode("utf-8", "replace"))
    if arguments.json:
        say_json(body)
    else:
        say("\n".join(_text(report)))
    if out is not None:
        note(f"written to {out}: leakage.json, leakage.csv")
    return 0


def _folder(path: Path) -> Path:
    """Made before the search, which may take hours."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"{path} cannot be a folder for the results: {error.strerror}") from error
    return path


def _text(report: LeakageReport) -> Iterator[str]:
    from peerexam.protocols.studies.leakage.study import LOWER_BOUND

    yield (
        f"{len(report.pairs):,} questions against {report.documents:,} documents of "
        f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    )
    yield ""
    head = ("ROUGE-L with", "mean", "95 % interval", "median", "p90", "p95", "p99", "≥ 0.5",
            "≥ 0.7", "≥ 0.9")  # fmt: skip
    rows = [
        head,
        _tail_row("BM25's first hit", report.first),
        _tail_row(f"the nearest of {report.hits}", report.nearest),
    ]
    yield _table(rows)
    yield ""
    yield f"word for word in a document: {_share(report.contained)}"
    yield ""
    yield "nearest pairs"
    yield from _pairs(report)
    if report.authors:
        yield ""
        yield "authors against each other: ROUGE-L with the other's nearest question"
        yield _table([("author", "other", "mean", "95 % interval", "highest", "≥ 0.7"),
                           *map(_authors_row, report.authors)])  # fmt: skip
    yield ""
    yield LOWER_BOUND


def _tail_row(name: str, tail: SimilarityTail) -> tuple[str, ...]:
    shares = [_percent(one.value) for one in tail.shares.values()]
    percentiles = [f"{value:.3f}" for value in tail.percentiles.values()]
    return (
        name, _number(tail.mean.value), _interval(tail.mean), _number(tail.median.value),
        *percentiles, *shares,
    )  # fmt: skip


def _authors_row(one: AuthorsOverlap) -> tuple[str, ...]:
    high = _percent(one.tail.shares[0.7].value)
    return (
        printable(one.author), printable(one.other), _number(one.tail.mean.value),
        _interval(one.tail.mean), f"{one.nearest.rouge_l:.3f}", high,
    )  # fmt: skip


def _pairs(report: LeakageReport) -> Iterator[str]:
    from peerexam.protocols.studies.leakage.study import nearest_rouge_l

    for question, found in report.pairs[:_SHOWN_PAIRS]:
        if found.nearest is None:
            return
        whole = ", word for word" if found.contained else ""
        place = f"{found.nearest.path.name}:{found.nearest.line}"
        yield f"  {nearest_rouge_l(found):.3f}{whole}  {_line(question.text)}"
        yield f"         {_line(found.nearest.excerpt)}  ({plain(place)})"


def _line(text: str) -> str:
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= 120 else f"{flat[:119]}…"


def _table(rows: list[tuple[str, ...]]) -> str:
    return grid(rows[0], rows[1:], range(1, len(rows[0])), width=columns())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _interval(one: Estimate) -> str:
    return f"[{_number(one.low)}, {_number(one.high)}]"


def _share(one: Estimate) -> str:
    return f"{_percent(one.value)} [{_percent(one.low)}, {_percent(one.high)}] of {one.n:,}"
