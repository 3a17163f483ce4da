"""Rows of battles for arena-rank and evalica, and the ratings that they give there.

Two tables. `battles` has what the standings were counted from: one row a question, judge and pair,
judges' own answers and judges without a vote left out, orders that disagree settled by the exam's
rule. arena-rank and evalica rate its rows as `ratings.json` says. `verdicts` has what the judges
said: one row an order, the answer that was shown first in the first column; own answers and
verdicts that could not be read are left out, because both tools would count them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Verdict, Winner
from peerexam.report.export.columns import Column
from peerexam.report.export.parquet import ParquetFile, pyarrow_modules
from peerexam.report.export.place import check_export_place
from peerexam.report.inert import csv_cell
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_object
from peerexam.stats.ranking.results import Rating, Results

Tool = Literal["arena-rank", "evalica"]


@dataclass(frozen=True, slots=True)
class _Layout:
    """One tool's columns, and its words for who won: the first, the second, nobody."""

    first: str
    second: str
    words: Mapping[Winner, str]

    @property
    def head(self) -> tuple[str, ...]:
        return (self.first, self.second, "winner", "judge", "question_id")


LAYOUTS: Mapping[Tool, _Layout] = {
    "arena-rank": _Layout(
        "model_a", "model_b", {"first": "model_a", "second": "model_b", "tie": "tie"}
    ),
    "evalica": _Layout("left", "right", {"first": "left", "second": "right", "tie": "tie"}),
}

_WINNERS: Mapping[float, Winner] = {1.0: "first", 0.5: "tie", 0.0: "second"}

Battle = tuple[str, str, Winner, str, str]
"""Who stood first, who second, who won, judge, question id."""


@dataclass(frozen=True, slots=True)
class BattlesWritten:
    """What was written.

    Attributes:
        folder: Where to.
        files: Their names, sorted.
        battles: Rows of what was counted.
        copies: Rows a result: 1 but under the rule `average`, where intervals of other tools are
            to be widened by the root of this.
        verdicts: Rows of what was said.
        own_answers: Verdicts left out because the judge wrote one of the answers.
        unread: Verdicts left out because they could not be read.
    """

    folder: Path
    files: tuple[str, ...]
    battles: int
    copies: int
    verdicts: int
    own_answers: int
    unread: int


def export_battles(
    run: Path,
    out: Path,
    tool: Tool,
    results: Results,
    ratings: Sequence[Rating],
    basis: Mapping[str, Json],
    *,
    parquet: bool = True,
) -> BattlesWritten:
    """Write `battles` and `verdicts` as JSONL, CSV and Parquet, and `ratings.json`.

    JSONL and Parquet hold names as they are. CSV is inert (`report.inert`).

    Args:
        run: The run's folder.
        out: The folder to write to; files of an earlier export there are replaced.
        tool: Whose columns.
        results: What was counted.
        ratings: What comes of it.
        basis: What the counting rests on, for `ratings.json`.
        parquet: Write Parquet too.

    Raises:
        MissingExtraError: Parquet is asked for and pyarrow is not installed; nothing was written.
        SetupError: `out` cannot be a folder or holds a run, or two names would look the
            same in CSV.
        StatisticsError: Results are no wins, ties and losses (`Results.copies`).
    """
    check_export_place(out)
    if parquet:
        pyarrow_modules()
    layout, copies = LAYOUTS[tool], results.copies()
    _check_names(results.agents, results.judges, results.questions)
    _make_folder(out)
    battles = _write(out, "battles", layout, _battles(results, copies), parquet)
    said = _Said()
    verdicts = _write(out, "verdicts", layout, said.battles(RunFolder(run).verdicts()), parquet)
    body = {**basis, "rows_a_result": copies, "ratings": [asdict(rating) for rating in ratings]}
    write_object(out / "ratings.json", body)
    files = tuple(sorted(path.name for path in out.iterdir() if path.is_file()))
    return BattlesWritten(out, files, battles, copies, verdicts, said.own_answers, said.unread)


def _battles(results: Results, copies: int) -> Iterator[Battle]:
    agents, judges, questions = results.agents, results.judges, results.questions
    columns = (results.a, results.b, results.judge, results.question)
    a, b, judge, question = (column.tolist() for column in columns)
    for row, points in results.rows(copies):
        yield (
            agents[a[row]],
            agents[b[row]],
            _WINNERS[points],
            judges[judge[row]],
            questions[question[row]],
        )


@dataclass(slots=True)
class _Said:
    """Verdicts as rows, and what was left out on the way."""

    own_answers: int = 0
    unread: int = 0

    def battles(self, verdicts: Iterable[Verdict]) -> Iterator[Battle]:
        for verdict in verdicts:
            if verdict.is_self_judgement:
                self.own_answers += 1
            elif verdict.winner is None or verdict.state != "ok":
                self.unread += 1
            else:
                yield (
                    verdict.first,
                    verdict.second,
                    verdict.winner,
                    verdict.judge,
                    verdict.question_id,
                )


def _write(out: Path, name: str, layout: _Layout, battles: Iterable[Battle], parquet: bool) -> int:
    table_path = out / f"{name}.parquet"
    table_path.unlink(missing_ok=True)
    rows = 0
    with ExitStack() as stack:
        lines = stack.enter_context((out / f"{name}.jsonl").open("wb"))
        cells = stack.enter_context(
            (out / f"{name}.csv").open("w", encoding="utf-8", errors="replace", newline="")
        )
        writer = csv.writer(cells)
        writer.writerow(layout.head)
        table = None
        if parquet:
            columns = [Column(column) for column in layout.head]
            table = stack.enter_context(ParquetFile(table_path, columns, {}))
        for first, second, winner, judge, question in battles:
            values = (first, second, layout.words[winner], judge, question)
            body = dict(zip(layout.head, values, strict=True))
            lines.write(_line(body))
            writer.writerow([csv_cell(value) for value in values])
            if table is not None:
                table.add(body)
            rows += 1
    return rows


def _line(body: Mapping[str, Json]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _check_names(*kinds: Sequence[str]) -> None:
    """CSV puts an apostrophe before `=x`; `'=x` beside it would then be the same agent."""
    for names in kinds:
        if len({csv_cell(name) for name in names}) < len(set(names)):
            raise SetupError("two names differ by a leading apostrophe only: rename one of them")


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SetupError(f"{out} is a file: name a folder to export to") from error
