"""What the two APIs reply, answers and errors: their words, as JSON values."""

from __future__ import annotations

from typing import Any, Literal

Dialect = Literal["openai", "anthropic"]
"""Chat completions, or Anthropic's messages."""

HALF = "The capi"
"""The start of an answer that broke off."""


def answer(
    dialect: Dialect, text: str | None, finish: str | None = None, **message: Any
) -> dict[str, Any]:
    """A whole reply with one answer.

    Args:
        dialect: Whose words.
        text: The answer; None is an answer without text.
        finish: The reason why it ended; the ordinary one by default.
        message: Further fields of OpenAI's message.
    """
    if dialect == "anthropic":
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "served-model",
            "content": [] if text is None else [{"type": "text", "text": text}],
            "stop_reason": finish or "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish or "stop",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def error(
    dialect: Dialect, kind: str, message: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """An error reply; Anthropic's has neither code nor parameter."""
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def stream(dialect: Dialect, echo: str = "") -> str:
    """Server-sent events: the start of an answer, then an overload."""
    if dialect == "anthropic":
        start = (
            'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
            f'"delta":{{"type":"text_delta","text":"{HALF}"}}}}'
        )
        end = (
            'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",'
            f'"message":"Overloaded{echo}"}}}}'
        )
    else:
        start = f'data: {{"choices":[{{"index":0,"delta":{{"content":"{HALF}"}}}}]}}'
        end = f'data: {{"error":{{"type":"overloaded_error","message":"Overloaded{echo}"}}}}'
    return f"{start}\n\n{end}\n\n"


def page(title: str, echo: str = "") -> str:
    """A web page where JSON was wanted."""
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{title}{echo}</body>"
