"""Whether a run is begun again under the very set-up that its records were made under."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from pydantic.main import IncEx

import peerexam
from peerexam.calls import Json, canonical_json
from peerexam.protocols.config.models import ExamConfig, RoleName
from peerexam.records import to_json
from peerexam.runfolder.sealing import seal_of
from peerexam.tasks.questions.file import load_questions

QUESTIONS = "questions.file"
"""The place of the user's own questions among the inputs."""

_OF_AN_AGENT: IncEx = {"limits", "budget", "price", "api_key_env"}
FREE: Mapping[str, IncEx | bool] = {
    "limits": True,
    "voting": True,
    "pilot": True,
    "output": True,
    "prompts": True,
    "questions": {"file"},
    "judging": {"rubric", "fitness", "quorum"},
    "agents": {"__all__": _OF_AN_AGENT},
}
"""What may change between two sessions without changing a record; of files the content counts."""

_OUTSIDE = {"cli", "report", "stats"}
"""Parts of the package that no record depends on."""


def setup_digest(
    config: ExamConfig, fingerprints: Mapping[str, Mapping[str, Json]], questions: str
) -> str:
    """Digest of everything that decides the records of a run, beside the ledger.

    Args:
        config: The exam; its limits, prices and voting do not count.
        fingerprints: What every agent is.
        questions: The seal of the questions.
    """
    digest = hashlib.sha256(_program().encode())
    settings = config.model_dump(mode="json", exclude=FREE)
    # Whether the central examiner answers depends on whether its roles were written down.
    played = [[agent.name for agent in config.agents_in(role)] for role in get_args(RoleName)]
    body = [settings, played, dict(fingerprints), questions]
    digest.update(canonical_json(body).encode("utf-8", "surrogatepass"))
    for name, content in file_digests(config).items():
        digest.update(name.encode() + bytes.fromhex(content))
    return digest.hexdigest()


def input_digests(config: ExamConfig) -> dict[str, str]:
    """SHA-256 of the content of every file that decides records, by its place in the config.

    Raises:
        SetupError: The questions' file cannot be read.
    """
    file = config.questions.file
    if file is None:
        return file_digests(config)
    return {**file_digests(config), QUESTIONS: seal_of(map(to_json, load_questions(file)))}


def file_digests(config: ExamConfig) -> dict[str, str]:
    """The same of prompts and rubric alone."""
    return {name: hashlib.sha256(p.read_bytes()).hexdigest() for name, p in _files(config)}


def _files(config: ExamConfig) -> Iterator[tuple[str, Path]]:
    for name, path in sorted(config.prompts.items()):
        yield f"prompts.{name}", path
    if config.judging.rubric is not None:
        yield "judging.rubric", config.judging.rubric


@functools.cache
def _program() -> str:
    """Digest of the program: another may read the same replies otherwise."""
    home = Path(peerexam.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        part = path.relative_to(home)
        if path.suffix in (".py", ".j2") and part.parts[0] not in _OUTSIDE:
            digest.update(f"{part.as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
