"""How many tokens a call will take, before it is made."""

from __future__ import annotations

from peerexam.calls import Completion, Request, Usage

BYTES_PER_TOKEN = 3
"""Of UTF-8. English has about four a token, Chinese about three: this errs on the high side."""

TOKENS_PER_MESSAGE = 8
"""What a chat template adds to each message."""

REPLY_WITHOUT_LIMIT = 1024
"""Reply tokens counted for a request that sets no limit."""


def estimate(request: Request) -> Usage:
    """Tokens of a call yet to be made: prompt by its bytes, reply by its limit.

    >>> from peerexam.calls import Message, Sampling
    >>> estimate(Request((Message("user", "Why?"),), Sampling(max_tokens=5))).total
    15
    """
    texts = [turn.content for turn in request.messages]
    prompt = sum(tokens_of(text) + TOKENS_PER_MESSAGE for text in texts)
    if request.continuation is not None:
        return Usage(prompt + tokens_of(request.continuation), 0)
    limit = request.sampling.max_tokens
    return Usage(prompt, REPLY_WITHOUT_LIMIT if limit is None else limit)


def actual(request: Request, completion: Completion) -> Usage:
    """Tokens of a call that was made: the provider's count, our estimate where it has none."""
    prompt, reply = completion.usage.prompt_tokens, completion.usage.completion_tokens
    if prompt is None:
        prompt = estimate(request).prompt_tokens
    if reply is None:
        reply = 0 if request.continuation is not None else tokens_of(completion.text)
    return Usage(prompt, reply)


def tokens_of(text: str) -> int:
    """Tokens of a text, estimated by its bytes and rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)
