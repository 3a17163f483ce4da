"""The user's own questions, as `tasks.question_file` reads them."""

from __future__ import annotations

from pathlib import Path

from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.questions.folder import questions_of


def read_questions(source: Path) -> Imported:
    """Read a file of questions, or the questions of a run or of a data set.

    Raises:
        SetupError: There is none, or it holds no question.
        RecordFileError: An entry is empty, stands there twice, or cannot be read.
    """
    return Imported(roles={}, questions=questions_of(source))
