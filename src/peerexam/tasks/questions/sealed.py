"""Questions as a run or a data set has left them, whole, with their seal checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Question
from peerexam.runfolder import RunFolder, read_jsonl
from peerexam.runfolder.rows import question_from
from peerexam.runfolder.sealing import seal_of

_MARKS_OF_A_RECORD = frozenset({"id", "text", "domain", "domain_path", "author", "group", "round"})


def is_question_folder(path: Path) -> bool:
    """Whether a path is the folder of a data set or of a run, with questions in it."""
    return path.is_dir() and any(place.is_file() for place in _places(path))


def questions_path(folder: Path) -> Path:
    """The file of questions in the folder of a data set or of a run.

    Raises:
        SetupError: There is none.
    """
    for place in _places(folder):
        if place.is_file():
            return place
    raise SetupError(
        f"{folder} has neither data/questions.jsonl, as a data set has, nor questions.jsonl, as a "
        "run has: name the folder of one, or a file of questions"
    )


def _places(folder: Path) -> tuple[Path, Path]:
    return folder / "data" / "questions.jsonl", folder / "questions.jsonl"


def is_sealed(path: Path) -> bool:
    """Whether a file of questions, or a folder with one, has a seal: nothing may be added to it."""
    if is_question_folder(path):
        path = questions_path(path)
    return _sealed_hash(path) is not None


def is_record(body: Json) -> bool:
    """Whether an entry of a file is a question as peerexam writes it, and not a user's own."""
    return isinstance(body, dict) and body.keys() >= _MARKS_OF_A_RECORD


def sealed_questions(path: Path) -> list[Question]:
    """The first-round questions of a `questions.jsonl`, with all that is noted on them.

    Follow-ups are left out, since they were asked after answers of others. Where a manifest.json
    stands beside the file (or above its folder `data`), its seal must fit.

    Args:
        path: The file.

    Raises:
        RecordFileError: A line cannot be read, or an id stands twice.
        SetupError: The questions are not those that were sealed.
    """
    bodies = list(read_jsonl(path))
    _check_seal(path, (body for _, body in bodies))
    return list(_first_round(bodies, path))


def check_seal(path: Path) -> None:
    """Refuse a `questions.jsonl` that is not what the manifest beside it has sealed.

    Raises:
        RecordFileError: A line cannot be read.
        SetupError: The questions are not those that were sealed.
    """
    _check_seal(path, (body for _, body in read_jsonl(path)))


def _first_round(bodies: Iterable[tuple[int, dict[str, Json]]], path: Path) -> Iterator[Question]:
    lines: dict[str, int] = {}
    for number, body in bodies:
        try:
            question = question_from(body)
        except ValueError as error:
            raise RecordFileError(f"{error}; mend or remove the line", path, number) from error
        if question.id in lines:
            raise RecordFileError(
                f"the same id stands in line {lines[question.id]}; remove or change one",
                path,
                number,
            )
        lines[question.id] = number
        if question.round == 1:
            yield question


def seals_of(path: Path) -> tuple[str | None, str | None]:
    """The seal of the questions that stand in a file, and the one in the manifest beside it.

    None and None where there is no file, or no seal.

    Raises:
        RecordFileError: A line cannot be read.
    """
    sealed = _sealed_hash(path) if path.exists() else None
    return (None, None) if sealed is None else (seal_of(b for _, b in read_jsonl(path)), sealed)


def _check_seal(path: Path, bodies: Iterable[dict[str, Json]]) -> None:
    sealed = _sealed_hash(path)
    if sealed is None:
        return
    found = seal_of(bodies)
    if found != sealed:
        raise SetupError(
            f"{path} does not hold the questions that were sealed: its hash is {found}, and "
            f"manifest.json says {sealed}. Restore the file (generate or download the data set "
            "again), or copy it to a place without manifest.json to ask the changed questions"
        )


def _sealed_hash(path: Path) -> str | None:
    """What the manifest beside a file says; an imported run has no seal.

    Raises:
        SetupError: It is the manifest of a data set and says nothing.
    """
    above = [path.parent, *([path.parent.parent] if path.parent.name == "data" else [])]
    for folder in map(RunFolder, above):
        if path.name == "questions.jsonl" and folder.manifest_path.is_file():
            manifest = folder.read_manifest()
            sealed = manifest.get("questions_hash")
            if manifest.get("protocol") == "import":
                return None
            if not isinstance(sealed, str) and manifest.get("kind") == "dataset":
                raise SetupError(
                    f"{folder.manifest_path} has no questions_hash, so that nobody can say whether "
                    "these are the questions that were sealed: generate or download the data set "
                    "again"
                )
            return sealed if isinstance(sealed, str) else None
    return None
