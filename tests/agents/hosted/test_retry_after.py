"""How long a provider asks to wait, in the words and places of many."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.hosted.rejections import read_rejection
from peerexam.agents.hosted.retry_after import seconds_in, wait_asked_for


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached for m: Limit 3, Used 3. Please try again in 40s. Visit https://x", 40),
        ("Please try again in 1m2.5s.", 62.5),
        ("please try again in 750ms", 0.75),
        ("Try again in 2 minutes", 120),
        ("Please retry in 12.3s.", 12.3),
        ("Please retry your request after 30 seconds", 30),
        ("Too many requests, retry after 5", 5),
        ("Wait for 1 minute and 5 seconds", 65),
        ("Resets in 6m0s", 360),
        ("Retry-After: 7", 7),
        ("Try again in ~40s", 40),
        ('{"reason": "RATE_LIMIT", "retryDelay": "40s"}', 40),
        ("Retry in 00:00:40", None),
        ("trying again in vain", None),
        ("wait", None),
        ("3 of 4 requests a minute", None),
    ],
)
def test_the_words_of_a_message(message: str, seconds: float | None) -> None:
    assert read_rejection(429, {}, {"error": {"message": message}}).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"details": [{"@type": "type.googleapis.com/x.RetryInfo", "retryDelay": "40s"}]}, 40),
        ({"details": [{"@type": "other"}, {"retryDelay": {"seconds": 40}}]}, 40),
        ({"retry_after": 1.5}, 1.5),
        ({"retry_after_ms": 1500}, 1.5),
        ({"message": "no", "metadata": {"headers": {"Retry-After": "9"}}}, 9),
        ({"retryAfterMs": 1500}, 1.5),
        ({"retryAfterSeconds": 7}, 7),
        ({"retry_delay": {"seconds": 40, "nanos": 1}}, 40),
        ({"retry_after": 10**400}, None),
        ({"retry_after": True}, None),
        ({"retry_after": float("nan")}, None),
        ({"details": "40s"}, None),
    ],
)
def test_the_fields_of_an_error(error: Any, seconds: float | None) -> None:
    assert read_rejection(429, {}, [{"error": error}]).retry_after == seconds


def test_a_model_that_is_being_loaded_says_how_long() -> None:
    # As Hugging Face's inference API has it.
    body = {"error": "Model m is currently loading", "estimated_time": 20.5}
    assert read_rejection(503, {}, body).retry_after == 20.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3", "x-ratelimit-reset-tokens": "40s"}, 3),
        ({"x-ratelimit-reset-tokens": "40s"}, 40),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "40s"}, 90),
        (
            {
                "x-ratelimit-reset-requests": "1m30s",
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-tokens": "40s",
                "x-ratelimit-remaining-tokens": "0",
            },
            40,
        ),
        ({"ratelimit-reset": "12"}, 12),
        ({"retry-after": "40s"}, 40),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"x-ratelimit-reset-after": "40"}, 40),
        ({"x-ratelimit-reset-tokens-minute": "40"}, 40),
        ({"x-rate-limit-reset": "12"}, 12),
        ({"ratelimit": "limit=10, remaining=0, reset=40"}, 40),
        ({"ratelimit": '"default";r=0;t=40'}, 40),
        ({"x-ratelimit-limit-tokens": "40"}, None),
        ({"x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-reset-tokens": "inf"}, None),
    ],
)
def test_the_headers_of_a_limit(headers: dict[str, str], seconds: float | None) -> None:
    assert read_rejection(429, headers, {"error": {"message": "no"}}).retry_after == seconds


@pytest.mark.parametrize("scale", [1, 1000])
def test_a_moment_of_reset_is_seconds_from_now(scale: int) -> None:
    headers = {"x-ratelimit-reset": str(int((time.time() + 500) * scale))}
    found = wait_asked_for(429, headers, {}, "")
    assert found is not None
    assert 400 < found <= 501


def test_a_date_of_reset_is_seconds_from_now() -> None:
    date = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 500))
    headers = {"anthropic-ratelimit-tokens-reset": date}
    found = wait_asked_for(429, headers, {}, "")
    assert found is not None
    assert 400 < found <= 501


def test_what_a_limit_says_beside_another_error_is_no_wait() -> None:
    headers = {"x-ratelimit-reset-tokens": "40s"}
    assert wait_asked_for(500, headers, {}, "") is None
    assert wait_asked_for(500, {"retry-after": formatdate(0)}, {}, "") == 0.0


@given(text=st.text(), status=st.sampled_from([429, 503]))
def test_any_text_is_a_wait_or_none(text: str, status: int) -> None:
    names = ("retry-after", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
    for found in (
        wait_asked_for(status, dict.fromkeys(names, text), {"retryDelay": text}, text),
        seconds_in(text),
    ):
        assert found is None or 0 <= found < float("inf")


def test_a_message_of_a_million_characters_is_searched_in_one_pass() -> None:
    for run in ("retry in ", "1 ", "try again in 1 and ", "wait ", "9"):
        found = wait_asked_for(429, {}, {}, run * (1_000_000 // len(run)))
        assert found is None or 0 <= found < float("inf")
