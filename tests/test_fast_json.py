from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from peerexam.fast_json import decode, decode_array, encode

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
@example({"NaN": "NaN and Infinity are words here"})
@example("\u2028 \u0085 \x00 \x7f \U0001f600")
def test_a_value_comes_back_as_the_standard_library_reads_it(value: Any) -> None:
    """The reference is the standard library, both ways."""
    text = encode(value)
    assert json.loads(text) == value
    assert decode(text) == value
    assert decode(json.dumps(value).encode()) == value


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
@example(b'"\\ud83d"')
@example("[1]".encode("utf-16"))
@example(b"[" * 100_000)
def test_what_is_json_and_what_is_not_is_what_the_standard_library_says(text: bytes) -> None:
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises((ValueError, RecursionError)):
            decode(text)
        return
    assert repr(decode(text)) == repr(expected)


@pytest.mark.parametrize(
    "value", [float("nan"), [float("inf")], {"a": -float("inf")}, "lone \ud83d"]
)
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        encode(value)


def test_another_encoder_may_have_the_last_word() -> None:
    assert encode("lone \ud83d", lambda value: b"kept") == b"kept"


@given(st.lists(VALUES))
def test_an_array_is_what_the_standard_library_reads(values: list[Any]) -> None:
    text = json.dumps(values, ensure_ascii=False).encode()
    assert decode_array(text) == json.loads(text)


@pytest.mark.parametrize("text", [b"{}", b"[NaN]", b"[-Infinity]", b'["\\ud800"]', b"[1,]", b"["])
def test_an_array_that_some_readers_would_not_take_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_array(text)
