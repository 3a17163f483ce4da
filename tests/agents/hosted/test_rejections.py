"""Rejections that look alike and are not: no right, no money, and a prompt that was stopped."""

from __future__ import annotations

import pytest

from peerexam.agents.hosted.rejections import Rejection, error_of
from peerexam.errors import BadKeyError, PermanentError, QuotaExhaustedError


@pytest.mark.parametrize(
    ("status", "message", "filtered"),
    [
        # OpenRouter's words for a prompt that its moderation stopped.
        (403, 'm requires moderation on OpenRouter. Your input was flagged for "violence".', True),
        (403, "Your key has no right to this model", False),
        (400, "flagged by ResponsibleAIPolicy", True),  # Azure's
        (500, "content_filter is down", False),
    ],
)
def test_a_flagged_prompt_is_filtered_and_gives_no_agent_up(
    status: int, message: str, filtered: bool
) -> None:
    assert Rejection(status, message).is_filtered == filtered


@pytest.mark.parametrize(
    ("rejection", "kind"),
    [
        (Rejection(429, "You are out of credit", code="insufficient_quota"), QuotaExhaustedError),
        (Rejection(402, "Insufficient Balance"), QuotaExhaustedError),  # DeepSeek, OpenRouter
        (Rejection(403, "not yours"), BadKeyError),
    ],
)
def test_no_money_is_told_from_no_right(rejection: Rejection, kind: type[PermanentError]) -> None:
    assert type(error_of(rejection, "m")) is kind
