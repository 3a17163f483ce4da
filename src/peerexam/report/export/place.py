"""Where an export may be written: never over a run nor over a data set that was generated."""

from __future__ import annotations

from pathlib import Path

from peerexam.errors import SetupError

_OF_A_RUN = ("exam.yaml", "questions.jsonl", ".checkpoint.json")
"""Files that a run, an import or a generated data set has, and an export has not."""


def check_export_place(out: Path) -> None:
    """Refuse a folder whose records an export would replace.

    Exports have file names of their own layouts, some of which are those of a run (`verdicts.jsonl`
    of battles, `manifest.json` of a data set).

    Raises:
        SetupError: It holds a run, an import or a generated data set.
    """
    held = next((name for name in _OF_A_RUN if (out / name).exists()), None)
    if held is not None:
        raise SetupError(
            f"{out} holds a run or a generated data set ({held}), and an export would replace its "
            "files: choose another folder with --out"
        )
