"""What a chat model's fingerprint says, and that it never says a secret."""

# ruff: noqa: E402 (what the skips guard is imported after them)

from __future__ import annotations

import json
from typing import Any

import pytest

langchain_openai = pytest.importorskip("langchain_openai")
langchain_anthropic = pytest.importorskip("langchain_anthropic")

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from peerexam.agents.langchain.agent import from_langchain
from peerexam.agents.langchain.identity import identity_of, secrets_of
from peerexam.calls import canonical_json

SECRET = "sk-planted/0123456789"


def openai_model(**arguments: Any) -> Any:
    return langchain_openai.ChatOpenAI(**{"model": "m-1", "api_key": SECRET, **arguments})


def test_it_names_class_model_endpoint_and_what_is_set() -> None:
    told = identity_of(openai_model(base_url="http://127.0.0.1:9/v1/", reasoning_effort="low"))
    assert told["provider"] == "langchain"
    assert told["class"] == "langchain_openai.chat_models.base.ChatOpenAI"
    assert told["model"] == "m-1"
    assert told["fields"] == {
        "model_name": "m-1",
        "openai_api_base": "http://127.0.0.1:9/v1",
        "reasoning_effort": "low",
    }


def test_what_decides_answers_tells_models_apart_and_what_does_not_does_not() -> None:
    base = identity_of(openai_model())
    for different in (
        {"model": "m-2"},
        {"temperature": 0.3},
        {"base_url": "http://127.0.0.1:9/v1"},
        {"extra_body": {"top_k": 3}},
        {"default_headers": {"x-variant": "b"}},
    ):
        assert identity_of(openai_model(**different)) != base
    for same in ({"timeout": 3.0}, {"max_retries": 5}, {"api_key": "sk-another-0123"}):
        assert identity_of(openai_model(**same)) == base


PLACES: list[dict[str, Any]] = [
    {"base_url": f"http://me:{SECRET}@127.0.0.1:9/v1".replace("sk-planted/", "sk-planted%2F")},
    {"base_url": "http://127.0.0.1:9/v1?api_key=sk-planted%2F0123456789"},
    {"default_headers": {"Authorization": f"Bearer {SECRET}"}},
    {"default_headers": {"X-Api-Key": SECRET, "x-plain": SECRET}},
    {"default_query": {"code": SECRET}},
    {"extra_body": {"credentials": {"api_key": SECRET}, "user": SECRET}},
    {"model_kwargs": {"extra_headers": {"X-Token": SECRET}}},
]


@pytest.mark.parametrize("place", PLACES)
def test_a_planted_key_is_in_no_fingerprint_and_no_repr(place: dict[str, Any]) -> None:
    agent = from_langchain(openai_model(**place))
    for text in (json.dumps(dict(agent.fingerprint)), repr(agent)):
        assert "0123456789" not in text
        assert "planted" not in text


def test_keys_of_other_integrations_and_headers_are_known_as_secrets() -> None:
    model = langchain_anthropic.ChatAnthropic(
        model="m",
        api_key=SECRET,
        base_url="http://me:pass%2Fword-1@127.0.0.1:9",
        default_headers={"X-Proxy-Auth": "Bearer hidden-0123"},
    )
    found = secrets_of(model)
    assert {SECRET, "me:pass%2Fword-1", "pass/word-1", "hidden-0123"} <= set(found)
    assert list(found) == sorted(found, key=len, reverse=True)


def test_a_key_that_is_called_for_is_known_once_the_client_has_it() -> None:
    model = openai_model()
    model.openai_api_key = None
    assert SECRET in secrets_of(model), "the SDK's client holds it"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_whatever_is_bound_the_fingerprint_can_be_written(value: object) -> None:
    model = FakeListChatModel(responses=["x"])
    canonical_json(identity_of(model, {"option": value}))
