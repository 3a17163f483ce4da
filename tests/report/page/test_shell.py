from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.report.page.shell import content_policy, embedded_json, encoded, resource

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(anything)
def test_embedded_json_is_the_same_value_and_cannot_end_its_block(value: object) -> None:
    text = str(embedded_json(value))
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


@pytest.mark.parametrize("text", ["</script>", "<!-- <script>", "a\u2028b", "\ud83d alone", "&lt;"])
def test_embedded_json_survives_what_breaks_script_blocks(text: str) -> None:
    body = embedded_json([text])
    assert "<" not in body
    assert body.encode("utf-8")
    assert json.loads(body) == [text]


def test_embedded_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        embedded_json(float("nan"))


def test_the_policy_allows_only_the_hashed_style_and_script() -> None:
    policy = content_policy("a{}", "f()")
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    digest = base64.b64encode(hashlib.sha256(b"f()").digest()).decode()
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == f"'sha256-{digest}'"
    assert parts["img-src"] == "data:"
    assert "unsafe" not in policy
    assert "http" not in policy


def test_lone_surrogates_do_not_stop_the_page() -> None:
    assert encoded("a\ud800b") == "a\ufffdb".encode()


def test_the_script_writes_text_and_never_markup() -> None:
    script = resource("report.js")
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("):
        assert word not in script


def test_style_and_script_reach_for_nothing_outside() -> None:
    for name in ("report.css", "report.js"):
        text = resource(name)
        assert "http" not in text
        assert "url(" not in text
        assert "@import" not in text
        assert "\r" not in text
