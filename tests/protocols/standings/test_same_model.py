"""Which agents of a manifest are one model."""

from __future__ import annotations

from typing import Any

import pytest

from peerexam.errors import SetupError
from peerexam.protocols.standings.same_model import joined, model_identity, same_models, within

OPENAI = {"provider": "openai", "model": "m", "endpoint": "https://one.example/v1"}
LANGCHAIN = {"provider": "langchain", "class": "x.ChatX", "model": "m", "fields": {"n": 1}}


def agents(*fingerprints: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "abcdef"[at], "fingerprint": one} for at, one in enumerate(fingerprints)]


@pytest.mark.parametrize(
    "other",
    [
        {**OPENAI, "extra_body": {"top_k": 1}},
        {**OPENAI, "chat": False},
    ],
)
def test_a_model_is_the_same_whatever_it_is_asked_with(other: dict[str, Any]) -> None:
    assert same_models(agents(OPENAI, other)) == [("a", "b")]


@pytest.mark.parametrize(
    "other",
    [
        {**OPENAI, "model": "n"},
        {**OPENAI, "endpoint": "https://two.example/v1"},
        {**OPENAI, "provider": "anthropic"},
        {"provider": "llama.cpp", "weights": "00ff"},
    ],
)
def test_another_name_or_another_endpoint_is_another_model(other: dict[str, Any]) -> None:
    assert same_models(agents(OPENAI, other)) == []


def test_weights_are_known_by_their_hash_whichever_engine_runs_them() -> None:
    one = {"provider": "llama.cpp", "weights": "00ff", "context": 512}
    same = {"provider": "transformers", "weights": "00ff", "dtype": "float32"}
    other = {"provider": "llama.cpp", "weights": "ff00", "context": 512}
    assert same_models(agents(one, other, same)) == [("a", "c")]


def test_chat_models_of_one_class_at_two_addresses_are_two() -> None:
    away = {**LANGCHAIN, "fields": {"base_url": "https://two.example/v1"}}
    warmer = {**LANGCHAIN, "fields": {"n": 1, "temperature": 0.7}}
    assert same_models(agents(LANGCHAIN, away, warmer)) == [("a", "c")]


def test_names_of_simulated_players_and_functions_say_nothing() -> None:
    for provider in ("sim", "function", "scripted"):
        fingerprint = {"provider": provider, "model": "m"}
        assert model_identity(fingerprint) is None
        assert same_models(agents(fingerprint, fingerprint)) == []
    assert same_models([{"name": "a"}, {"name": "b"}]) == []  # an import


def test_variants_are_one_model_and_groups_that_share_one_are_put_together() -> None:
    held = agents(OPENAI, {"provider": "sim", "model": "s"}, OPENAI)
    held[1]["variant_of"] = "c"
    held.append({"name": "z", "variant_of": "somebody else"})
    assert same_models(held) == [("a", "b", "c")]


def test_groups_name_agents_that_are_there() -> None:
    assert joined("abcde", ["ab", "de", "bc"]) == [("a", "b", "c"), ("d", "e")]
    with pytest.raises(SetupError, match="no agent 'q': there are a, b"):
        joined("ab", ["aq"])


def test_groups_are_kept_as_far_as_their_agents_play_a_part() -> None:
    assert within([("d", "b"), ("a", "x"), ("c", "e")], "abcde") == [("b", "d"), ("c", "e")]
