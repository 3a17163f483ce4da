"""What a study is called where several of them stand side by side.

A study's kind alone does not tell three ways of asking for consistency apart, nor two data sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json

_COMMANDS = {"mistakes": "mistakes find", "backtracking": "mistakes backtrack"}
"""Kinds of studies that their command calls otherwise."""

_TELLING = ("action", "task", "source")
"""What tells studies of one kind apart, as far as they say so of themselves."""


def study_name(result: Mapping[str, Json]) -> str:
    """A study's name in full: its kind, and which action, task or source.

    >>> study_name({"study": "consistency", "about": {"action": "geoquery"}})
    'consistency geoquery'
    >>> study_name({"study": "backtracking", "about": {"tasks": ["dyck_languages"]}})
    'mistakes backtrack'
    """
    about = result.get("about")
    said = about if isinstance(about, Mapping) else {}
    kind = str(result["study"])
    telling = (said.get(key) for key in _TELLING)
    return " ".join([_COMMANDS.get(kind, kind), *(one for one in telling if isinstance(one, str))])


def study_names(results: Sequence[Mapping[str, Json]], folders: Sequence[Path]) -> list[str]:
    """The names of several studies, each its own: where two share one, with the folder.

    Args:
        results: What the studies left.
        folders: Where each of them is, as it was given.
    """
    names = [study_name(result) for result in results]
    often = Counter(names)
    return [
        f"{name} ({folder})" if often[name] > 1 else name
        for name, folder in zip(names, folders, strict=True)
    ]
