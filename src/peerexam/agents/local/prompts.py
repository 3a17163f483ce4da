"""From messages and a continuation to token ids.

Weights with a chat template get the conversation by that template, the assistant's turn opened.
Base weights get the messages' contents as one plain text, joined by blank lines.

A message's content stays text: where it spells a control token (`<|im_end|>`), those characters
are tokenised as characters, so that an examinee's answer cannot end a judge's turn.

A leading space. Most vocabularies hold a word together with the space before it, so a prompt
should end without a space and its continuation begin with one (`Answer:` and ` Paris`). Spaces
that end a base model's prompt are therefore moved to the front of the continuation. Where prompt
and continuation tokenise as one text with a boundary between them, those tokens are taken;
otherwise each is tokenised alone, so that the prompt stays what it is when answers are generated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from peerexam.calls import Message
from peerexam.errors import PermanentError, UnusableModelError

Turns = Sequence[Mapping[str, Any]]

_MARK = re.compile("\ue000(\\d+)\ue001")
"""Stands for the content of message n while the template is rendered (private-use characters)."""


class Tokenizer(Protocol):
    """What is needed of an engine."""

    def tokenize(self, text: str, *, start: bool, control: bool) -> list[int]:
        """Token ids of a text."""

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The conversation by the chat template."""


def chat_tokens(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
    """Token ids of a conversation; of the opened assistant's turn alone where it is empty.

    Raises:
        PermanentError: The template refuses the conversation.
    """
    contents = [message.content for message in messages]
    if any(_spells_control(tokenizer, content) for content in contents):
        marked = [
            Message(message.role, f"\ue000{index}\ue001") for index, message in enumerate(messages)
        ]
        return _piecewise(tokenizer, _render(tokenizer, marked), contents)
    return tokenizer.tokenize(_render(tokenizer, messages), start=True, control=True)


def takes_parts(apply: Callable[[Turns], str]) -> bool:
    """Whether a chat template takes a message's content in parts only, and not as text.

    It is shown a mark, since a template that looks for parts finds none in a text and drops it in
    silence.

    Args:
        apply: Renders a conversation.

    Raises:
        UnusableModelError: It shows no content, in either form.
    """
    mark = "\ue000content\ue001"
    reason = "it drops them"
    for in_parts in (False, True):
        turn: Mapping[str, Any] = {"role": "user", "content": mark}
        try:
            if mark in apply(parted([turn]) if in_parts else [turn]):
                return in_parts
        except PermanentError as error:
            reason = str(error)
    raise shows_nothing(reason)


def shows_nothing(reason: str) -> UnusableModelError:
    """The error for a chat template by which a model cannot be asked."""
    return UnusableModelError(
        "the model's chat template shows no message's content, as text or in parts "
        f"({reason}): it cannot be asked by this template; set the option chat: false to have it "
        "go on with a plain text, or fix the template"
    )


def parted(messages: Turns) -> list[Mapping[str, Any]]:
    """Messages whose content is a list of one text part."""
    return [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in messages]


def plain_text(messages: Sequence[Message]) -> str:
    """The text that a base model goes on from."""
    return "\n\n".join(message.content for message in messages)


def plain_tokens(tokenizer: Tokenizer, text: str, first: int | None) -> list[int]:
    """Token ids of a base model's prompt.

    Args:
        tokenizer: The engine.
        text: The prompt; it may be empty.
        first: The token that stands for "nothing yet" where an empty text has no tokens.

    Raises:
        PermanentError: The text is empty and the weights name no such token.
    """
    tokens = tokenizer.tokenize(text, start=True, control=False)
    if tokens:
        return tokens
    if first is None:
        raise PermanentError("these weights cannot start from an empty prompt")
    return [first]


def chat_pair(
    tokenizer: Tokenizer, messages: Sequence[Message], continuation: str
) -> tuple[list[int], list[int]]:
    """Token ids of a conversation and of the assistant's reply to it."""
    reply = tokenizer.tokenize(continuation, start=False, control=False) if continuation else []
    return chat_tokens(tokenizer, messages), reply


def plain_pair(
    tokenizer: Tokenizer, text: str, continuation: str, first: int | None
) -> tuple[list[int], list[int]]:
    """Token ids of a base model's prompt and of how it goes on."""
    kept = text.rstrip(" ")
    continuation = text[len(kept) :] + continuation
    prompt = plain_tokens(tokenizer, kept, first)
    if not continuation:
        return prompt, []
    whole = tokenizer.tokenize(kept + continuation, start=True, control=False)
    if kept and whole[: len(prompt)] == prompt:
        return prompt, whole[len(prompt) :]
    return prompt, tokenizer.tokenize(continuation, start=False, control=False)


def _render(tokenizer: Tokenizer, messages: Sequence[Message]) -> str:
    turns = [{"role": message.role, "content": message.content} for message in messages]
    if turns:
        return tokenizer.render(turns)
    try:
        return tokenizer.render([])
    except PermanentError:
        # Some templates look at the first message: an empty one is as near to none as they get.
        return tokenizer.render([{"role": "user", "content": ""}])


def _spells_control(tokenizer: Tokenizer, content: str) -> bool:
    as_text = tokenizer.tokenize(content, start=False, control=False)
    return as_text != tokenizer.tokenize(content, start=False, control=True)


def _piecewise(tokenizer: Tokenizer, rendered: str, contents: Sequence[str]) -> list[int]:
    tokens: list[int] = []
    for index, piece in enumerate(_MARK.split(rendered)):
        if index % 2:
            tokens += tokenizer.tokenize(contents[int(piece)], start=False, control=False)
        elif piece or not index:
            tokens += tokenizer.tokenize(piece, start=not index, control=True)
    return tokens
