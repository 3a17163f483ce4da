"""Taking a folder for one run: never another exam's, and never while another run is at work in it.

Two runs that write one file of records would each cut off what the other has written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ValidationError

from peerexam.calls import Json
from peerexam.errors import DamagedFileError, SetupError
from peerexam.protocols.config.loading import dump_yaml
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.folder.config_changes import refuse_changes
from peerexam.protocols.run.folder.setup_digest import QUESTIONS, file_digests, input_digests
from peerexam.protocols.run.folder.swap import finish_adoption, is_half_done
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import remove_drafts

FolderKind = Literal["run", "dataset"]

_ELSEWHERE = "choose another folder with --out"

_KINDS = ("questions", "levels", "references", "answers", "marks", "verdicts", "rankings", "probes")

_WRITTEN: Mapping[FolderKind, tuple[str, ...]] = {
    "run": (*(f"{kind}.jsonl" for kind in _KINDS), "standings.json", "report.html"),
    "dataset": (
        *(f"data/{kind}.{suffix}" for kind in _KINDS[:3] for suffix in ("jsonl", "parquet")),
        "README.md",
        "canary.txt",
    ),
}
"""What each kind of folder gets, and could be somebody's own file before that."""


@contextmanager
def claimed(
    path: Path, config: ExamConfig, kind: FolderKind = "run", *, replaced_by: str | None = None
) -> Iterator[RunFolder]:
    """Hold a folder for a run of an exam, or for its data set; made where it is missing.

    Drafts of files that a killed process left behind are removed.

    Args:
        path: The folder.
        config: The exam.
        kind: What it is to hold.
        replaced_by: The command that may not replace results of another set-up; None may.

    Raises:
        SetupError: It holds another exam, or a file of the user's own that the run would replace,
            or a run where a data set is to be and the other way round, or results of another
            set-up, or another run is at work in it.
    """
    folder = RunFolder(path)
    folder.create()
    with _alone(path):
        finish_adoption(folder)
        _check_kind(folder, kind)
        _check(folder, config, kind)
        held = _config_in(folder.config_path) if replaced_by and _has_results(folder) else None
        if held is not None:
            inputs = _inputs(folder, config)
            refuse_changes(path, held, config, str(replaced_by), inputs)
        remove_drafts(path)
        yield folder


def _has_results(folder: RunFolder) -> bool:
    """Whether there is a question or an answer, of a run or a data set, that could be replaced."""
    places = (
        folder.records_path("questions"),
        folder.records_path("answers"),
        folder.path / "data" / "questions.jsonl",
    )
    return any(place.exists() and place.stat().st_size for place in places)


def _inputs(folder: RunFolder, config: ExamConfig) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    """Digests of the files behind a folder's results and of those now; none where none are kept."""
    was = (_manifest_of(folder) or {}).get("inputs")
    if was is None:
        return {}, {}
    if config.questions.file is not None and not Path(config.questions.file).exists():
        return was, {**file_digests(config), QUESTIONS: was.get(QUESTIONS)}
    return was, input_digests(config)


def settled(folder: RunFolder) -> None:
    """Finish what a process that was killed left half done in a folder.

    Raises:
        SetupError: There is something to finish, and another run is at work in the folder.
    """
    if is_half_done(folder):
        with _alone(folder.path):
            finish_adoption(folder)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock the folder itself, which leaves no file behind and ends with the process."""
    if sys.platform == "win32":
        yield  # a folder cannot be locked there
        return
    import fcntl

    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"another run is using {path}: wait until it ends, or {_ELSEWHERE}"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def _check_kind(folder: RunFolder, kind: FolderKind) -> None:
    held = _kind_of(folder)
    if held is None or held == kind:
        return
    words = {"run": "a run", "dataset": "a data set"}
    what, fix = f"{words[held]}, not {words[kind]}", _ELSEWHERE
    if _is_begun(folder):
        command = {"run": "run", "dataset": "generate"}[held]
        what = f"{words[held]} that is not finished, not {words[kind]}"
        fix = f"`peerexam {command}` with the same config and folder resumes it, or {fix}"
    raise SetupError(f"{folder.path} holds {what}: {fix}")


def _kind_of(folder: RunFolder) -> FolderKind | None:
    """What a folder holds, None where it is neither; a data set says so before anything is set."""
    if (held := _manifest_of(folder)) is not None:
        return "dataset" if held.get("kind") == "dataset" else "run"
    if (folder.path / "data" / "questions.jsonl").exists() and folder.config_path.exists():
        return "dataset"
    if folder.config_path.exists() and _config_in(folder.config_path) is not None:
        return "run"
    return None


def _manifest_of(folder: RunFolder) -> dict[str, Json] | None:
    """The manifest; None where there is none, or a damaged one beside the config to make it again.

    Raises:
        SetupError: It is damaged and nothing here can make it again, or a newer peerexam wrote it.
    """
    if not folder.manifest_path.exists():
        return None
    try:
        return folder.read_manifest()
    except DamagedFileError:
        if folder.config_path.exists():
            return None
        raise


def _is_begun(folder: RunFolder) -> bool:
    """Whether what a folder holds was stopped before it had its whole manifest."""
    held = _manifest_of(folder)
    return held is None or (held.get("kind") == "dataset" and "questions_hash" not in held)


def _check(folder: RunFolder, config: ExamConfig, kind: FolderKind) -> None:
    manifest = _manifest_of(folder)
    if manifest is not None:
        if kind == "dataset" and _is_begun(folder):
            return  # no question was sealed there
        held = manifest.get("exam")
    elif folder.config_path.exists():
        begun = _config_in(folder.config_path)
        if begun is None:
            raise _foreign(folder.config_path, kind)
        if not folder.records_path("questions").exists():
            return  # that run ended before it had a question
        held = begun.name
    else:
        _check_empty(folder, kind)
        return
    if held != config.name:
        raise SetupError(f"{folder.path} holds another exam, '{held}': {_ELSEWHERE}")


def _check_empty(folder: RunFolder, kind: FolderKind) -> None:
    """Every folder of ours has its config or its manifest before it has anything else."""
    for name in _WRITTEN[kind]:
        if (folder.path / name).exists():
            raise _foreign(folder.path / name, kind)


def _foreign(path: Path, kind: FolderKind) -> SetupError:
    writer = {"run": "a run", "dataset": "generate"}[kind]
    return SetupError(
        f"{path} was not written by {writer}, and {writer} would replace it: {_ELSEWHERE}"
    )


def _config_in(path: Path) -> ExamConfig | None:
    """The resolved config that a run wrote; None for any other file."""
    try:
        text = path.read_text(encoding="utf-8")
        body = yaml.safe_load(text)
        # As it stands, so that an earlier version's defaults make it no foreign file.
        return ExamConfig.model_validate(body) if dump_yaml(body) == text else None
    except (OSError, ValueError, ValidationError, yaml.YAMLError):
        return None
