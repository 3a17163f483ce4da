"""A user's file of prompts: one a line, or JSONL with `prompt` (or `text`, or `question`)."""

from __future__ import annotations

from pathlib import Path

from peerexam.errors import RecordFileError, SetupError
from peerexam.runfolder import read_jsonl

_KEYS = ("prompt", "text", "question")


def load_prompts(path: Path) -> list[str]:
    """The prompts of a file, none twice.

    Raises:
        SetupError: It cannot be read, or holds no prompt.
        RecordFileError: A line of a JSONL file has no text under any of the keys.
    """
    try:
        found = _from_jsonl(path) if path.suffix.lower() == ".jsonl" else _from_lines(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read: {error}") from error
    prompts = list(dict.fromkeys(text.strip() for text in found if text.strip()))
    if not prompts:
        raise SetupError(f"{path} holds no prompt: write one a line, or JSONL with a key 'prompt'")
    return prompts


def _from_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").split("\n")


def _from_jsonl(path: Path) -> list[str]:
    prompts = []
    for number, row in read_jsonl(path):
        text = next((row[key] for key in _KEYS if isinstance(row.get(key), str)), None)
        if text is None:
            raise RecordFileError(f"it has no text under {', '.join(_KEYS)}", path, number)
        prompts.append(text)
    return prompts
