"""The official Anthropic SDK as a wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import anthropic

from peerexam.agents.hosted.transport.sdk import CONNECT_SECONDS, NO_KEY, Sdk, SdkWire, http_client


def connect(
    url: str,
    headers: Mapping[str, str],
    *,
    key: str,
    who: str,
    timeout: float | None = None,
    redact: Callable[[str], str] = str,
) -> SdkWire:
    """A wire to an endpoint's messages.

    Args:
        url: The endpoint, without `/v1`; a query is sent with every call.
        headers: Sent with every call.
        key: The key; empty where the server wants none.
        who: The model, for messages.
        timeout: Seconds for one call; None is no limit of its own.
        redact: Redacts the key in a message.
    """
    parts = urlsplit(url)
    where = urlunsplit(parts._replace(query="", fragment=""))
    client = anthropic.AsyncAnthropic(
        api_key=key or NO_KEY,
        base_url=where,
        default_headers=dict(headers),
        default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        timeout=anthropic.Timeout(None, connect=CONNECT_SECONDS),  # the wire has the limit
        http_client=http_client(anthropic, where),
        max_retries=0,  # the Retrying layer does that, once
    )
    sdk = Sdk(anthropic, anthropic.AnthropicError, client, client.messages)
    return SdkWire(sdk, where=where, who=who, timeout=timeout, redact=redact)
