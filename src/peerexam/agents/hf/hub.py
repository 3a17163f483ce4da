"""Files of a model on the hub, at one commit: first those that describe it, then its weights.

What is fetched is chosen by name, so that neither pickled weights nor code is ever brought here
unasked. Without a network, what the hub's cache folder holds is used. A token for gated models is
huggingface_hub's own business (`HF_TOKEN`, `hf auth login`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from peerexam.errors import MissingExtraError, SetupError

_DESCRIPTION = ["config.json", "tokenizer_config.json", "chat_template.json", "chat_template.jinja"]
_WEIGHTS = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
_BELOW = ["*/*"]
"""Folders of a repository hold other formats of the same weights."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository at one commit.

    Attributes:
        repository: `ORG/NAME`.
        commit: 40 hexadecimal digits.
        folder: Where its files are kept.
        files: Names of all its files; of those that are here, where the hub cannot be reached.
    """

    repository: str
    commit: str
    folder: Path
    files: tuple[str, ...]


def fetch_description(repository: str, revision: str | None) -> Snapshot:
    """Fetch the small files that say what a model is.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        SetupError: There is no such model or revision, it is gated, or the hub cannot be reached
            and nothing is here.
    """
    folder = _fetch(repository, revision, _DESCRIPTION)
    return Snapshot(repository, folder.name, folder, _files(repository, folder))


def fetch_weights(snapshot: Snapshot, *, with_code: bool = False) -> Path:
    """Fetch everything that loading needs, and give its folder. It may take long.

    Args:
        snapshot: The repository at its commit.
        with_code: Whether its Python files are fetched too.

    Raises:
        SetupError: The hub cannot be reached and the weights are not here.
    """
    patterns = [*_WEIGHTS, "*.py"] if with_code else _WEIGHTS
    folder = _fetch(snapshot.repository, snapshot.commit, patterns)
    if not any(folder.glob("*.safetensors")):
        raise SetupError(
            f"the weights of {snapshot.repository} are not here and the hub cannot be reached; "
            f"fetch them when it can: hf download {snapshot.repository}"
        )
    return folder


def _fetch(repository: str, revision: str | None, patterns: list[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError:
        raise MissingExtraError(
            "models on the hub need the package huggingface_hub: pip install 'peerexam[hf]'"
        ) from None
    try:
        path = snapshot_download(
            repository, revision=revision, allow_patterns=patterns, ignore_patterns=_BELOW
        )
    except Exception as error:
        failure = error
    else:
        return Path(path)
    _raise(failure, repository, revision)


def _raise(error: Exception, repository: str, revision: str | None) -> NoReturn:
    """Say what went wrong without the library's chain, whose requests hold the user's token."""
    from huggingface_hub import errors

    known: tuple[tuple[type[Exception], str], ...] = (
        (
            errors.GatedRepoError,
            f"{repository} is gated: accept its terms on the hub, and set HF_TOKEN",
        ),
        (errors.RevisionNotFoundError, f"{repository} has no revision '{revision}' on the hub"),
        (
            errors.RepositoryNotFoundError,
            f"the hub knows no model '{repository}', or it is private (set HF_TOKEN); a folder "
            f"is written hf/./{repository}",
        ),
        (errors.HFValidationError, f"'{repository}' cannot be the name of a model on the hub"),
    )
    for kind, message in known:
        if isinstance(error, kind):
            raise SetupError(message)
    raise SetupError(
        f"{repository} is not here and cannot be fetched from the hub ({type(error).__name__}); "
        f"fetch it when that can be reached (hf download {repository}), or name a folder: "
        "hf/./folder"
    )


def _files(repository: str, folder: Path) -> tuple[str, ...]:
    from huggingface_hub import list_repo_files

    try:
        return tuple(list_repo_files(repository, revision=folder.name))
    except Exception:  # without the hub, what is here is all there is
        return tuple(path.name for path in folder.iterdir())
