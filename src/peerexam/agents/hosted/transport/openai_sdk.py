"""The official OpenAI SDK as a wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import openai

from peerexam.agents.hosted.transport.sdk import CONNECT_SECONDS, NO_KEY, Sdk, SdkWire, http_client


def connect(
    url: str,
    headers: Mapping[str, str],
    *,
    key: str,
    chat: bool,
    who: str,
    organization: str | None = None,
    timeout: float | None = None,
    redact: Callable[[str], str] = str,
) -> SdkWire:
    """A wire to an endpoint's chat completions, or to its completions.

    Args:
        url: The endpoint; a query is sent with every call.
        headers: Sent with every call.
        key: The key; empty where the server wants none.
        chat: Whether chat completions are called.
        who: The model, for messages.
        organization: The OpenAI organisation.
        timeout: Seconds for one call; None is no limit of its own.
        redact: Redacts the key in a message.
    """
    parts = urlsplit(url)
    where = urlunsplit(parts._replace(query="", fragment=""))
    client = openai.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=where,
        organization=organization,
        default_headers=dict(headers),
        default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        timeout=openai.Timeout(None, connect=CONNECT_SECONDS),  # the wire has the limit
        http_client=http_client(openai, where),
        max_retries=0,  # the Retrying layer does that, once
    )
    resource: Any = client.chat.completions if chat else client.completions
    sdk = Sdk(openai, openai.OpenAIError, client, resource)
    return SdkWire(sdk, where=where, who=who, timeout=timeout, redact=redact)
