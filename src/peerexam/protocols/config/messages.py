"""What pydantic finds wrong with a config, said in words that name the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from peerexam.protocols.config.parsing import Place

_WHOLE = "a whole number"
_TEXT = "text (in quotes, where it could be read as something else)"

_WANTED = {
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": _TEXT,
    "path_type": "a path in quotes",
    "tuple_type": "a list: [a, b], or one '- ' line each",
    "list_type": "a list: [a, b], or one '- ' line each",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}

_BOUND = {"greater_than_equal": "at least", "greater_than": "more than"} | {
    "less_than_equal": "at most",
    "less_than": "less than",
}


def describe(error: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One of `ValidationError.errors()` as one sentence.

    Args:
        error: As pydantic gives it.
        model: The model that was validated, for the names of known keys.
    """
    place, kind, given = tuple(error["loc"]), str(error["type"]), error.get("input")
    name = spell(place)
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        return f"unknown key '{name}'; {suggest(str(place[-1]), known_keys(model, place[:-1]))}"
    if kind == "missing":
        return f"'{name}' is missing; add it"
    if kind in ("value_error", "misfit"):
        return str(error["msg"]).removeprefix("Value error, ")
    if kind in _WANTED:
        return f"'{name}' must be {_WANTED[kind]}; it is {_show(given)}"
    if kind in _BOUND:
        limit = next(iter(context.values()))
        return f"'{name}' must be {_BOUND[kind]} {limit:,}; it is {_show(given)}"
    if kind == "literal_error":
        choices = [choice.strip(" '") for choice in _choices(str(context["expected"]))]
        return f"'{name}' is {_show(given)}; {suggest(str(given), choices)}"
    if kind in ("too_short", "string_too_short"):
        return f"'{name}' must not be empty"
    return f"'{name}': {error['msg']}"


def _choices(expected: str) -> list[str]:
    """Pydantic writes `'a', 'b' or 'c'`."""
    return expected.replace(" or ", ", ").split(",")


def spell(place: Place) -> str:
    """A place as the user would write it.

    >>> spell(("agents", 0, "limits"))
    'agents.0.limits'
    """
    return ".".join(str(part) for part in place) or "the file"


def suggest(given: str, known: Sequence[str]) -> str:
    """The known word that is nearest, or all of them.

    >>> suggest("sed", ["seed", "name"])
    "did you mean 'seed'?"
    """
    begun = [word for word in known if len(given) > 2 and word.startswith(given.lower())]
    near = begun or difflib.get_close_matches(given.lower(), known, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"it can be {', '.join(known)}" if known else "delete it"


def known_keys(model: type[BaseModel], place: Place) -> list[str]:
    """The keys that a config may have at a place; empty where any may stand."""
    kind: Any = model
    for part in place:
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return []
        if isinstance(part, str):
            field = kind.model_fields.get(part)
            kind = None if field is None else _inner(field.annotation)
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return list(kind.model_fields) if is_model else []


def _inner(annotation: Any) -> Any:
    """The type within `tuple[T, ...]`, `T | None` and `Annotated[T, …]`."""
    if get_origin(annotation) in (tuple, list, Union, UnionType):
        parts = [part for part in get_args(annotation) if part not in (type(None), ...)]
        return _inner(parts[0]) if parts else None
    return annotation


def _show(value: object) -> str:
    """A value, short; the caller has already refused anything that looks like a key."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
