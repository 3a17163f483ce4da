"""Models whose name is a path: which part of it, and whether it means a file or a folder."""

from __future__ import annotations

from typing import Literal, NamedTuple

_FILES = ("file", "gguf")
"""Providers whose model is always a file."""


class ModelPath(NamedTuple):
    """A model name in its parts.

    Attributes:
        provider: The part before the first slash.
        path: As it is written.
        kind: What must be there.
        rest: What stands behind the path: `?` and the options, or nothing.
    """

    provider: str
    path: str
    kind: Literal["file", "folder"]
    rest: str

    def moved(self, path: str) -> str:
        """The same model name with another path."""
        return f"{self.provider}/{path}{self.rest}"


def model_path(model: str) -> ModelPath | None:
    """The path in a model name; None where the model is no path.

    >>> model_path("gguf/weights.gguf?threads=2")
    ModelPath(provider='gguf', path='weights.gguf', kind='file', rest='?threads=2')
    >>> model_path("hf/./checkpoints/last").kind
    'folder'
    >>> model_path("hf/google/flan-t5-small") is None
    True
    """
    head, mark, options = model.partition("?")
    provider, _, path = head.partition("/")
    if not path:
        return None
    if provider in _FILES or (provider == "hf" and path.endswith(".gguf")):
        return ModelPath(provider, path, "file", mark + options)
    if provider == "hf" and is_folder(path):
        return ModelPath(provider, path, "folder", mark + options)
    return None


def is_folder(model: str) -> bool:
    """Whether the name after `hf/` is written as a path, and so is none of the hub's."""
    return model.startswith((".", "/", "~"))
