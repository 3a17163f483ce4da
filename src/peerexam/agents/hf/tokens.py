"""A transformers tokenizer as `llama_prompts` wants it, and chat templates that refuse things.

Some templates know no system role, some demand that user and assistant alternate. What a template
can do is found out once, when the model is loaded, by rendering marks and looking for them: a role
that is dropped in silence counts as refused. Some take contents in parts only, as those of models
that see: they get them so. A system message then goes in front of the first user
message, and neighbours of one role become one message, a blank line between them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from peerexam.agents.hosted.utf8 import valid_utf8
from peerexam.agents.local.prompts import parted, takes_parts
from peerexam.errors import PermanentError, UnusableModelError

Turn = Mapping[str, str]

_MARKS = ("\ue000first\ue001", "\ue000second\ue001")


class HfTokenizer:
    """Text to tokens and back, from whatever thread.

    Args:
        tokenizer: A transformers tokenizer; it is not used by others meanwhile.
        ends_prompts: Whether a prompt ends with the token that ends a text, as an encoder wants.
    """

    def __init__(self, tokenizer: Any, *, ends_prompts: bool = False) -> None:
        self._tokenizer = tokenizer
        self._ends_prompts = ends_prompts
        # Its fast tokenizers refuse to be read while another thread changes their settings.
        self._lock = threading.Lock()
        self._folds = self._merges = self._parts = False
        self._unusable: UnusableModelError | None = None
        if tokenizer.chat_template:
            first, second = _MARKS
            try:
                self._parts = takes_parts(self._filled)
            except UnusableModelError as error:  # told when it is asked: it may go on with texts
                self._unusable = error
            self._folds = not self._shows(_turn("system", first), _turn("user", second))
            self._merges = not self._shows(_turn("user", first), _turn("user", second))

    def tokenize(self, text: str, *, start: bool, control: bool) -> list[int]:
        """Token ids of a text.

        Args:
            text: The text; what UTF-8 cannot hold is replaced.
            start: Put the tokens round it that the model wants round a prompt. A rendered
                conversation (`control`) has its own.
            control: Read spelled control tokens as such, and not as text.
        """
        with self._lock:
            ids: list[int] = self._tokenizer(
                valid_utf8(text),
                add_special_tokens=start and not control,
                split_special_tokens=not control,
                verbose=False,  # too long a text is the agent's business
            )["input_ids"]
        ends = len(ids) > 1 and ids[-1] == self._tokenizer.eos_token_id
        if start and not control and ends and not self._ends_prompts:
            return ids[:-1]
        return ids

    def render(self, messages: Sequence[Turn]) -> str:
        """The conversation by the model's chat template, the assistant's turn opened.

        Raises:
            PermanentError: The template refuses this conversation.
            UnusableModelError: It refuses, or drops, every one.
        """
        if self._unusable is not None:
            raise UnusableModelError(str(self._unusable))
        turns = fold_system(messages) if self._folds else list(messages)
        if self._merges:
            turns = merge_neighbours(turns)
        return self._apply(turns)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; control tokens have none."""
        with self._lock:
            text: str = self._tokenizer.decode(
                list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        return text

    def spell(self, token: int) -> str:
        """One token as it is written, control tokens too."""
        with self._lock:
            text: str = self._tokenizer.decode([token], clean_up_tokenization_spaces=False)
        return text

    def _shows(self, *turns: Turn) -> bool:
        try:
            rendered = self._apply(turns)
        except PermanentError:
            return False
        return all(turn["content"] in rendered for turn in turns)

    def _apply(self, turns: Sequence[Turn]) -> str:
        return self._filled(parted(turns) if self._parts else turns)

    def _filled(self, turns: Sequence[Mapping[str, Any]]) -> str:
        try:
            with self._lock:
                rendered: str = self._tokenizer.apply_chat_template(
                    list(turns), tokenize=False, add_generation_prompt=True
                )
        except Exception as error:  # a template is a program that came with the weights
            raise PermanentError(
                f"the model's chat template refuses this conversation: {error}"
            ) from error
        return rendered


def fold_system(messages: Sequence[Turn]) -> list[Turn]:
    r"""System messages put in front of the first user message, a blank line between them.

    >>> fold_system([_turn("system", "Be brief."), _turn("user", "Why?")])
    [{'role': 'user', 'content': 'Be brief.\n\nWhy?'}]
    """
    system = [turn["content"] for turn in messages if turn["role"] == "system"]
    rest = [turn for turn in messages if turn["role"] != "system"]
    if not system:
        return rest
    asked = next((index for index, turn in enumerate(rest) if turn["role"] == "user"), None)
    if asked is None:
        return [_turn("user", "\n\n".join(system)), *rest]
    rest[asked] = _turn("user", "\n\n".join([*system, rest[asked]["content"]]))
    return rest


def merge_neighbours(messages: Sequence[Turn]) -> list[Turn]:
    r"""Messages of one role in a row made one, a blank line between them.

    >>> merge_neighbours([_turn("user", "One."), _turn("user", "Two.")])
    [{'role': 'user', 'content': 'One.\n\nTwo.'}]
    """
    merged: list[Turn] = []
    for turn in messages:
        if merged and merged[-1]["role"] == turn["role"]:
            both = merged.pop()["content"], turn["content"]
            turn = _turn(turn["role"], "\n\n".join(both))
        merged.append(turn)
    return merged


def _turn(role: str, content: str) -> Turn:
    return {"role": role, "content": content}
