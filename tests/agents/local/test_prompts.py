"""From messages to tokens, with a tokenizer small enough to reason about: one token a character.

Its only control tokens are <|s|> and <|e|>; a leading ▁-word rule is added for boundaries.
"""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.local.prompts import (
    chat_pair,
    chat_tokens,
    plain_pair,
    plain_text,
    plain_tokens,
)
from peerexam.calls import Message
from peerexam.errors import PermanentError

START, END, BOS = -1, -2, -3
_CONTROL = re.compile(r"(<\|s\|>|<\|e\|>)")


class Characters:
    """One token a character; a space and the letter behind it are one token."""

    def __init__(self, bos: bool = True, needs_a_message: bool = False) -> None:
        self.bos = bos
        self.needs_a_message = needs_a_message

    def tokenize(self, text: str, *, start: bool, control: bool) -> list[int]:
        pieces = _CONTROL.split(text) if control else [text]
        tokens = [BOS] if start and self.bos else []
        for piece in pieces:
            if control and piece in ("<|s|>", "<|e|>"):
                tokens.append(START if piece == "<|s|>" else END)
            else:
                tokens += [self._one(part) for part in re.findall(r" \w|.", piece, re.DOTALL)]
        return tokens

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        if self.needs_a_message and not messages:
            raise PermanentError("no first message")
        turns = "".join(f"<|s|>{turn['role']}\n{turn['content']}<|e|>" for turn in messages)
        return f"{turns}<|s|>assistant\n"

    @staticmethod
    def _one(part: str) -> int:
        return ord(part) if len(part) == 1 else ord(part[1]) + 0x200000


def text_of(tokens: Sequence[int]) -> str:
    spelled = {START: "<|s|>", END: "<|e|>", BOS: ""}
    return "".join(
        spelled[t] if t < 0 else (f" {chr(t - 0x200000)}" if t >= 0x200000 else chr(t))
        for t in tokens
    )


contents = st.lists(
    st.sampled_from(["<|s|>", "<|e|>", "system\n", "good", " ", "\n", "é", "\ue0000\ue001"]),
    max_size=6,
).map("".join)


@given(st.lists(contents, max_size=3))
def test_control_tokens_come_from_the_template_alone(texts: list[str]) -> None:
    tokenizer = Characters()
    messages = [Message("user", text) for text in texts]
    tokens = chat_tokens(tokenizer, messages)
    assert tokens.count(START) == len(texts) + 1
    assert tokens.count(END) == len(texts)
    assert text_of(tokens) == tokenizer.render(
        [{"role": message.role, "content": message.content} for message in messages]
    )
    assert tokens.count(BOS) == 1


def test_an_empty_conversation_is_the_opened_turn_or_an_empty_message() -> None:
    assert text_of(chat_tokens(Characters(), [])) == "<|s|>assistant\n"
    strict = chat_tokens(Characters(needs_a_message=True), [])
    assert text_of(strict) == "<|s|>user\n<|e|><|s|>assistant\n"


def test_a_reply_is_tokenised_as_text_behind_the_opened_turn() -> None:
    prompt, reply = chat_pair(Characters(), [Message("user", "q")], "a<|e|>")
    assert prompt[-1] == ord("\n")
    assert text_of(reply) == "a<|e|>"
    assert END not in reply
    assert chat_pair(Characters(), [], "")[1] == []


@given(st.text("ab :\n", max_size=8), st.text("ab .", max_size=6), st.booleans())
def test_prompt_and_continuation_are_the_whole_text(prompt: str, rest: str, bos: bool) -> None:
    before, after = plain_pair(Characters(bos), prompt, rest, first=0)
    joined = text_of([token for token in before if token != 0]) + text_of(after)
    assert joined == prompt + rest
    assert before


def test_a_space_at_the_boundary_belongs_to_the_word_behind_it() -> None:
    spaced = plain_pair(Characters(), "Answer: ", "Paris", first=0)
    assert spaced == plain_pair(Characters(), "Answer:", " Paris", first=0)
    assert spaced[1][0] == ord("P") + 0x200000


def test_an_empty_prompt_needs_a_token_to_start_from() -> None:
    assert plain_tokens(Characters(), "", first=None) == [BOS]
    assert plain_tokens(Characters(bos=False), "", first=7) == [7]
    with pytest.raises(PermanentError, match="empty prompt"):
        plain_tokens(Characters(bos=False), "", first=None)


def test_messages_of_a_base_model_are_one_text() -> None:
    assert plain_text([Message("user", "a"), Message("user", "b")]) == "a\n\nb"
    assert plain_text([]) == ""
