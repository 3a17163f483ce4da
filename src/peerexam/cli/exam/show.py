"""`show`: the prompt and the raw reply behind a question, an answer, a mark or a verdict."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from peerexam.calls import Json
from peerexam.cli.arguments import LEDGER
from peerexam.cli.output import plain, say, say_json
from peerexam.errors import LedgerFileError, SetupError
from peerexam.report.run.call_text import SHORT, call_json, call_text
from peerexam.runfolder import RunFolder
from peerexam.runfolder.lookup import (
    CALL,
    Line,
    files_of,
    lines_about_subject,
    lines_named,
    lines_of_call,
    names_near,
    read_lines,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.ledger.entries import StoredCall
    from peerexam.ledger.reading import CallReader

_LISTED = 20
_FORMS = "a QUESTION, QUESTION/EXAMINEE, QUESTION/EXAMINEE/JUDGE, QUESTION/FIRST/SECOND/JUDGE, "
_FORMS += "FILE:LINE, or the first digits of a call"
_VALUES = ("winner", "overall", "level", "agrees", "picked", "label", "score", "said", "outcome")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR", help="of a run or a study")
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="QUESTION, QUESTION/EXAMINEE, QUESTION/EXAMINEE/JUDGE, QUESTION/FIRST/SECOND/JUDGE, "
        "FILE:LINE, or the first digits of a call (default: list what there is)",
    )
    parser.add_argument("--db", metavar="URL", help=f"{LEDGER} (default: in the folder)")


def perform(arguments: argparse.Namespace) -> int:
    """Print what stands behind an id."""
    folder = Path(arguments.folder)
    files = files_of(folder) if folder.is_dir() else {}
    if not files:
        raise SetupError(f"{folder} holds no JSONL files; name the folder that a run left")
    if arguments.id is None:
        return _list(folder, files, arguments)
    with ExitStack() as stack:
        shelf = _Shelf(folder, *_open(folder, arguments.db, stack))
        found = _resolve(shelf, arguments.id)
    if arguments.json:
        say_json(found.to_json())
    else:
        say(plain(found.text(folder)))
    return 0


class _Shelf:
    """A folder with its ledger, or with the reason why there is none."""

    def __init__(self, folder: Path, reader: CallReader | None, why_none: str) -> None:
        self.folder = folder
        self.reader = reader
        self.why_none = why_none

    def calls(self, keys: Sequence[str]) -> tuple[list[StoredCall], list[str]]:
        """The calls that are there, and a line for each that is not."""
        if self.reader is None:
            return [], [f"call {key}: {self.why_none}" for key in keys]
        held = self.reader.read(keys)
        missing = (key for key in keys if key not in held)
        why = f"is not in {self.reader.label}: name the ledger it was made with by --db"
        return [held[k] for k in keys if k in held], [f"call {key} {why}" for key in missing]


def _open(folder: Path, db: str | None, stack: ExitStack) -> tuple[CallReader | None, str]:
    from peerexam.cli.exam.folder import ledger_of
    from peerexam.ledger.reading import reading

    place = db or ledger_of(folder)
    if place is None:
        return None, "there is no ledger in the folder; name the run's ledger with --db"
    try:
        return stack.enter_context(reading(place)), ""
    except LedgerFileError as error:
        if db is not None:
            raise
        return None, f"the ledger cannot be read ({error})"


class _Found:
    """What an id leads to: lines, the calls behind them, and what is said about a question."""

    def __init__(self, shelf: _Shelf, title: str, lines: Sequence[Line], keys: Sequence[str]):
        self.title = title
        self.lines = lines[:_LISTED]
        self.more = len(lines) - len(self.lines)
        self.calls, self.missing = shelf.calls(keys)
        if not keys:
            self.missing = [_no_call(shelf.folder, line) for line in self.lines]
        subjects = [line.body["id"] for line in lines if line.name == line.body.get("id")]
        self.about = [
            other
            for subject in subjects
            for other in lines_about_subject(shelf.folder, subject)
            if other not in lines
        ]

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.title,
            "records": [
                {"id": one.name, "place": one.place, "record": dict(one.body)} for one in self.lines
            ],
            "calls": [call_json(call) for call in self.calls],
            "missing": self.missing,
            "about": [
                {"id": one.name, "place": one.place, "calls": list(one.calls)} for one in self.about
            ],
        }

    def text(self, folder: Path) -> str:
        return "\n\n".join(filter(None, self._parts(folder)))

    def _parts(self, folder: Path) -> Iterator[str]:
        for line in self.lines:
            yield _record_text(line, with_reply=not self.calls)
        if self.more:
            yield f"and {self.more} more records from this call"
        many = len(self.calls)
        for at, call in enumerate(self.calls, 1):
            head = f"CALL {at} OF {many}, in the order asked\n" if many > 1 else ""
            yield f"{head}{call_text(call)}"
        yield "\n".join(self.missing)
        if self.about:
            head = f"records about it; print one with: peerexam show {shlex.quote(str(folder))} ID"
            yield "\n".join([head, *(f"  {_gist(line)}" for line in self.about)])


def _resolve(shelf: _Shelf, given: str) -> _Found:
    lines = lines_named(shelf.folder, given)
    if len(lines) == 1:
        return _Found(shelf, lines[0].name, lines, lines[0].calls)
    if len(lines) > 1:
        raise SetupError(f"'{given}' is ambiguous: {_listed([x.place for x in lines])}")
    return _by_call(shelf, given)


def _by_call(shelf: _Shelf, given: str) -> _Found:
    wanted = given.rstrip("…").lower()
    several = wanted.split("+")
    if len(several) > 1 and all(map(CALL.fullmatch, several)):
        wanted = several[-1]  # as `call` stands in a record: the last was read
    if not CALL.fullmatch(wanted):
        raise _unknown(shelf.folder, given)
    lines = lines_of_call(shelf.folder, wanted)
    keys = {key for line in lines for key in line.calls if key.startswith(wanted)}
    if shelf.reader is not None:
        keys.update(shelf.reader.keys_from(wanted, _LISTED))
    if len(keys) > 1:
        raise SetupError(f"several calls begin with {wanted}: {_listed(sorted(keys))}")
    if not keys:
        raise _unknown(shelf.folder, given)
    (key,) = keys
    # The calls of one record are shown together: earlier attempts stand beside the last.
    together = lines[0].calls if len(lines) == 1 else (key,)
    return _Found(shelf, key, lines, together)


def _unknown(folder: Path, given: str) -> SetupError:
    near = names_near(folder, given)
    hint = f"; near it: {_listed(near)}" if near else ""
    return SetupError(f"nothing in {folder} is called '{plain(given)}'{hint}. An id is {_FORMS}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shlex.quote(plain(name)) for name in names[:_LISTED])
    return shown + (", …" if len(names) > _LISTED else "")


def _no_call(folder: Path, line: Line) -> str:
    """Why no call stands behind a line, as far as the folder says so."""
    manifest = RunFolder(folder)
    held = manifest.read_manifest() if manifest.manifest_path.exists() else {}
    if "source" in held:
        return "no call: this record was imported from another tool's files"
    who = next((line.body[k] for k in ("judge", "examinee", "author", "classifier")
                if isinstance(line.body.get(k), str)), None)  # fmt: skip
    if who is None:
        return "no call: it is the user's own"
    models = {agent.get("name"): str(agent.get("model")) for agent in held.get("agents") or ()}
    if models.get(who, "").startswith("sim/"):
        return f"no call: {who} is simulated ({models[who]}) and asks no model"
    if models.get(who, "").startswith("file/"):
        return f"no call: the answers of {who} come from a file ({models[who]})"
    return "no call: the record names none"


def _record_text(line: Line, *, with_reply: bool) -> str:
    rows = [f"{line.name}  ({line.place})"]
    left_out = ("prompt", "call", "calls") if with_reply else ("prompt", "call", "calls", "reply")
    for key, value in line.body.items():
        if value is None or value == [] or key in left_out:
            continue
        rows.append(f"  {key}: {_flat(value)}")
    return "\n".join(rows)


def _flat(value: Json) -> str:
    text = value if isinstance(value, str) else str(value)
    return text.replace("\n", "\n    ")


def _gist(line: Line) -> str:
    body: Mapping[str, Json] = line.body
    state = body.get("state")
    values = [f"{key} {body[key]}" for key in _VALUES if body.get(key) is not None]
    said = values if state in (None, "ok") else [str(state), *values]
    call = f"  [{line.calls[-1][:SHORT]}]" if line.calls else ""
    return f"{shlex.quote(line.name)}  {', '.join(said) or 'ok'}{call}"


def _list(folder: Path, files: Mapping[str, Path], arguments: argparse.Namespace) -> int:
    """What can be shown, where no id is given."""
    first = "questions" if "questions" in files else next(iter(files))
    names = [
        line.name for line, _ in zip(read_lines(first, files[first]), range(_LISTED), strict=False)
    ]
    if arguments.json:
        say_json({"files": sorted(files), first: names})
        return 0
    say(f"files: {', '.join(files)}")
    say(f"an id is {_FORMS}")
    say(f"the first of {first}:")
    for name in names:
        say(f"  {plain(shlex.quote(name))}")
    return 0
