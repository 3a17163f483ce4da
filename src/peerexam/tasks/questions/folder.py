"""The questions of a folder, whichever command left it: a run, or a data set."""

from __future__ import annotations

from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Question
from peerexam.runfolder import RunFolder
from peerexam.tasks.questions.file import load_questions
from peerexam.tasks.questions.sealed import check_seal


def questions_of(folder: Path) -> list[Question]:
    """Every question of a run (`questions.jsonl`) or of a data set (`data/questions.jsonl`).

    Follow-ups are among them, in the order of the file. A file of questions is read as the user's
    own (`tasks.question_file`).

    Args:
        folder: The run's or the data set's folder, or a file of questions.

    Raises:
        SetupError: There is no such folder, it holds no question, or not those that were sealed.
        RecordFileError: A line is damaged or lacks a key.
    """
    if folder.is_file():
        return load_questions(folder)
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder; name that of a run or of a data set")
    for place in (folder, folder / "data"):
        run = RunFolder(place)
        if run.records_path("questions").is_file():
            check_seal(run.records_path("questions"))
            found = list(run.questions())
            if not found:
                raise SetupError(f"{run.records_path('questions')} holds no question")
            return found
    raise SetupError(
        f"{folder} has neither questions.jsonl, as a run has, nor data/questions.jsonl, as a data "
        "set has: name the folder of one"
    )
