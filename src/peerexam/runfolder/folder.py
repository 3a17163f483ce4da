"""The files of one run, by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from peerexam.calls import Json
from peerexam.errors import DamagedFileError, SetupError
from peerexam.records import (
    SCHEMA_VERSION,
    Answer,
    LevelVote,
    Mark,
    Probe,
    Question,
    Ranking,
    Reference,
    Verdict,
)
from peerexam.runfolder.columns import ANSWER, MARK, VERDICT, RecordStream
from peerexam.runfolder.refusals import make_folder, refusals
from peerexam.runfolder.rows import (
    answer_from,
    level_vote_from,
    mark_from,
    probe_from,
    question_from,
    ranking_from,
    reference_from,
    verdict_from,
)
from peerexam.runfolder.writer import RecordWriter

Kind = Literal[
    "questions", "levels", "references", "answers", "marks", "verdicts", "rankings", "probes"
]
"""The kinds of record, each in its own JSONL file."""


class RunFolder:
    """One run's folder. Opening it touches nothing; writing creates what is missing.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config_path = self.path / "exam.yaml"
        self.manifest_path = self.path / "manifest.json"
        self.standings_path = self.path / "standings.json"
        self.report_path = self.path / "report.html"
        self.ledger_path = self.path / "ledger.sqlite"
        self.checkpoint_path = self.path / ".checkpoint.json"

    def create(self) -> None:
        """Make the folder, and the folders above it, where they are missing.

        Raises:
            SetupError: It cannot be made, or not written to.
        """
        make_folder(self.path)

    def records_path(self, kind: Kind) -> Path:
        """The JSONL file of one kind of record."""
        return self.path / f"{kind}.jsonl"

    def writer(self, kind: Kind) -> RecordWriter:
        """A writer that overwrites one kind's file; the caller closes it.

        Where it changes anything the manifest is removed first: a run that is killed then is not
        finished, whatever stood there before.
        """
        with refusals(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return RecordWriter(self.records_path(kind), self._begin_again)

    def _begin_again(self) -> None:
        with refusals(self.manifest_path):
            self.manifest_path.unlink(missing_ok=True)

    def questions(self) -> RecordStream[Question]:
        """Stream the questions, in the order of the file; none where there is no file.

        Raises:
            RecordFileError: A line is damaged or lacks a key.
        """
        return RecordStream(self.records_path("questions"), question_from)

    def levels(self) -> RecordStream[LevelVote]:
        """Stream what classifiers said of the questions' levels, like `questions`."""
        return RecordStream(self.records_path("levels"), level_vote_from)

    def references(self) -> RecordStream[Reference]:
        """Stream the authors' own answers, like `questions`."""
        return RecordStream(self.records_path("references"), reference_from)

    def answers(self) -> RecordStream[Answer]:
        """Stream the answers, like `questions`."""
        return RecordStream(self.records_path("answers"), answer_from, ANSWER)

    def marks(self) -> RecordStream[Mark]:
        """Stream the marks, like `questions`; a rubric's own dimensions are in `scores`."""
        return RecordStream(self.records_path("marks"), mark_from, MARK)

    def verdicts(self) -> RecordStream[Verdict]:
        """Stream the verdicts, like `questions`, one an order."""
        return RecordStream(self.records_path("verdicts"), verdict_from, VERDICT)

    def rankings(self) -> RecordStream[Ranking]:
        """Stream the rankings, like `questions`."""
        return RecordStream(self.records_path("rankings"), ranking_from)

    def probes(self) -> RecordStream[Probe]:
        """Stream what the judges made of canaries, like `questions`."""
        return RecordStream(self.records_path("probes"), probe_from)

    def read_manifest(self) -> dict[str, Json]:
        """The manifest.

        Raises:
            SetupError: There is none, it is damaged, or a newer peerexam wrote it.
        """
        return read_object(self.manifest_path)

    def write_manifest(self, body: Mapping[str, Json]) -> None:
        """Replace the manifest in one step, synced to disk; keys sorted.

        Raises:
            ValueError: A value is NaN or an infinity.
        """
        write_object(self.manifest_path, body)

    def read_standings(self) -> dict[str, Json]:
        """The standings, like `read_manifest`."""
        return read_object(self.standings_path)

    def write_standings(self, body: Mapping[str, Json]) -> None:
        """Replace the standings, like `write_manifest`."""
        write_object(self.standings_path, body)

    def write_config(self, text: str) -> None:
        """Replace `exam.yaml`, the resolved config, in one step."""
        _replace(self.config_path, text.encode("utf-8", "backslashreplace"))

    def write_report(self, html: str) -> None:
        """Replace `report.html` in one step."""
        _replace(self.report_path, html.encode("utf-8", "xmlcharrefreplace"))


def write_object(path: Path, body: Mapping[str, Json]) -> None:
    """Replace a file of one JSON object in one step, synced to disk; keys sorted.

    Raises:
        ValueError: A value is NaN or an infinity.
    """
    text = json.dumps(body, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    # As in record_line: only a lone surrogate cannot be encoded, and its escape is JSON's own.
    _replace(path, text.encode("utf-8", "backslashreplace") + b"\n")


def write_rows(path: Path, rows: Iterable[Mapping[str, Json]]) -> None:
    """Replace a JSONL file in one step, synced to disk; keys in the order of each row.

    Raises:
        ValueError: A value is NaN or an infinity.
    """
    lines = (
        json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for row in rows
    )
    # A lone surrogate becomes its JSON escape, so that the file stays UTF-8.
    _replace(path, b"".join(line.encode("utf-8", "backslashreplace") + b"\n" for line in lines))


def _replace(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    with refusals(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with refusals(path):
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def read_object(path: Path) -> dict[str, Json]:
    """A file of one JSON object, as a run or a study leaves it.

    Raises:
        SetupError: There is none, it is damaged, or a newer peerexam wrote it.
    """
    try:
        body = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise SetupError(f"{path} is missing: is {path.parent} the folder of a run?") from error
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}): {_fix(path)}") from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error
    if not isinstance(body, dict):
        raise DamagedFileError(f"{path} is damaged (it is no JSON object): {_fix(path)}")
    schema = body.get("schema", SCHEMA_VERSION)
    if isinstance(schema, bool) or not isinstance(schema, int):
        raise DamagedFileError(f"{path} is damaged (schema is {schema!r:.40}): {_fix(path)}")
    if schema > SCHEMA_VERSION:
        raise SetupError(f"{path} has schema {schema}, newer than this peerexam; update peerexam")
    return body


def _fix(path: Path) -> str:
    """How to restore a damaged file, as a command where the folder says which."""
    folder = path.parent
    config = folder / "exam.yaml"
    if path.name == "manifest.json" and config.exists():
        command = "generate" if (folder / "data").is_dir() else "run"
        return (
            f"peerexam {command} {config} --out {folder} writes it again from the ledger, and asks "
            "nothing that was answered"
        )
    if path.name == "standings.json":
        return f"delete it, and peerexam report {folder} counts again"
    if path.name == "manifest.json":
        return f"delete {folder}, and import or export into it again"
    return "the command that left it writes it again"


def remove_drafts(folder: Path) -> None:
    """Remove half-written files that a killed process left; those of living processes stay."""
    for place in (folder, folder / "data"):
        for draft in place.glob(".*.part"):
            writer = draft.name.split(".")[-2]
            if not writer.isdecimal() or not _is_alive(int(writer)):
                draft.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # nothing there tells without a handle
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return process != os.getpid()
