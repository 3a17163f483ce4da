"""JSON at the pace of a hot path: pydantic's own reader and writer, which every install has.

Both say the same as the standard library, which has the last word wherever they give up (a lone
surrogate, another encoding than UTF-8). Keys are not made with these: a key must be the same bytes
for ever, and the standard library's are (`calls.canonical_json`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pydantic_core

_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode(text: bytes) -> Any:
    """A JSON text's value.

    >>> decode(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    try:
        return pydantic_core.from_json(text)
    except ValueError:
        return json.loads(text)


def decode_array(text: bytes) -> list[Any]:
    """The items of a JSON array, without the standard library's second opinion.

    >>> decode_array(b'[1, {"a": null}]')
    [1, {'a': None}]

    Raises:
        ValueError: It is no JSON, no array, nested too deeply, or holds what only some readers
            take: NaN, an infinity, a lone surrogate.
    """
    found = pydantic_core.from_json(text, allow_inf_nan=False)
    if not isinstance(found, list):
        raise ValueError(f"expected a JSON array, found {type(found).__name__}")
    return found


def encode(value: Any, strict: Callable[[Any], bytes] | None = None) -> bytes:
    """A value's JSON text, without spaces, non-ASCII kept.

    Args:
        value: None, bool, int, float, str, or lists and dicts of these.
        strict: What encodes what this cannot; by default the standard library.

    >>> encode({"a": [1, 0.5, "é"]}).decode()
    '{"a":[1,0.5,"é"]}'

    Raises:
        ValueError: It holds NaN, an infinity or a lone surrogate.
        TypeError: It holds something that JSON cannot.
    """
    strict = strict or _strictly
    try:
        text = pydantic_core.to_json(value)
    except ValueError:
        return strict(value)
    # It would let these pass. Where the words are only part of a text, nothing but time is lost.
    return strict(value) if b"NaN" in text or b"Infinity" in text else text


def _strictly(value: Any) -> bytes:
    return _STRICT.encode(value).encode("utf-8")
