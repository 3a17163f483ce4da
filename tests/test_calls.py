"""Requests and completions as values: what is in a key, and what JSON gives back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.calls import (
    Completion,
    Form,
    Message,
    Request,
    Sampling,
    TokenLogprob,
    Usage,
    canonical_json,
    completion_from_json,
    completion_to_json,
    request_from_json,
    request_key,
    request_to_json,
)

# Any string that Python can hold, lone surrogates included: models send them.
texts = st.text(st.characters(exclude_categories=()), max_size=40)
counts = st.none() | st.integers(0, 2**40)
finite = st.floats(allow_nan=False, allow_infinity=False)

requests = st.builds(
    Request,
    messages=st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), max_size=4
    ).map(tuple),
    sampling=st.builds(
        Sampling,
        temperature=st.none() | st.floats(0, 2),
        top_p=st.none() | st.floats(0, 1),
        max_tokens=counts,
        stop=st.lists(texts, max_size=3).map(tuple),
        seed=counts,
        top_logprobs=counts,
        form=st.none() | st.builds(Form, st.sampled_from(["grammar", "json_schema"]), texts),
    ),
    draw=st.integers(0, 5),
    continuation=st.none() | texts,
)

completions = st.builds(
    Completion,
    text=texts,
    state=st.sampled_from(["ok", "refused", "filtered", "truncated", "empty"]),
    finish_reason=st.none() | texts,
    usage=st.builds(Usage, counts, counts, counts),
    latency=st.none() | finite,
    thinking=st.none() | texts,
    logprobs=st.none() | st.lists(st.builds(TokenLogprob, texts, finite), max_size=4).map(tuple),
    model=st.none() | texts,
    dropped=st.lists(texts, max_size=3).map(tuple),
    cost=st.none() | finite,
)


@given(completions)
def test_a_completion_survives_json_text(completion: Completion) -> None:
    text = canonical_json(completion_to_json(completion))
    assert completion_from_json(json.loads(text)) == completion


@given(requests)
def test_a_request_survives_json_text_and_keeps_its_key(request_: Request) -> None:
    again = request_from_json(json.loads(canonical_json(request_to_json(request_))))
    assert again == request_
    assert request_key({"model": "m"}, again) == request_key({"model": "m"}, request_)


@given(requests, requests)
def test_two_requests_share_a_key_only_where_they_are_equal(one: Request, other: Request) -> None:
    same = request_key({"model": "m"}, one) == request_key({"model": "m"}, other)
    assert same == (one == other)


def test_a_whole_number_and_the_same_float_are_one_request() -> None:
    one = Request((), Sampling(temperature=0, top_p=1))
    assert request_key({}, one) == request_key({}, Request((), Sampling(0.0, top_p=1.0)))


def test_the_order_of_a_fingerprint_does_not_count() -> None:
    request_ = Request((Message("user", "2+2?"),))
    one = request_key({"model": "m", "options": {"a": 1, "b": 2}}, request_)
    assert one == request_key({"options": {"b": 2, "a": 1}, "model": "m"}, request_)


def test_the_key_is_pinned_so_that_old_ledgers_stay_readable() -> None:
    # sha256 of [1,{"model":"m"},{"messages":[["user","hi"]],"sampling":{"temperature":0.0}}],
    # computed with sha256sum; it may change only together with KEY_VERSION.
    found = request_key({"model": "m"}, Request((Message("user", "hi"),)))
    assert found == "96fd06644b862f96f69a88ee4497211e1bbb82ec414e3da0ad80e6c27d2000bb"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_canonical_json_refuses_what_json_does_not_have(bad: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"value": bad})


def test_the_log_probability_of_a_completion_is_the_sum_over_its_tokens() -> None:
    both = (TokenLogprob("a", -0.5), TokenLogprob("b", -1.25))
    assert Completion("ab", logprobs=both).logprob == -1.75
    with pytest.raises(ValueError, match="no log-probabilities"):
        _ = Completion("ab").logprob


def test_usage_counts_what_is_not_told_as_none() -> None:
    assert Usage(prompt_tokens=7).total == 7
