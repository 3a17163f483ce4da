"""Reading a reply that is to name one of a few words: a question's level, whether answers agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from peerexam.calls import Json
from peerexam.examiners.reading.own_words import own_lines, plain
from peerexam.examiners.reading.parsing import (
    Unreadable,
    answer_part,
    closing_json_object,
    json_object,
)

T = TypeVar("T")

_REASON = re.compile(r"\s*(?:[.,;:!(–—]|\s-\s|because\b|since\b)", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:not|no|nor|never|neither|none|wait|but|however|actually|instead|unless|if|or|maybe"
    r"|perhaps|rather|although|though|unsure|correction|sorry)\b|n['’]t\b",
    re.IGNORECASE,
)
_ENDS = " .!*\"'”’"


@dataclass(frozen=True, slots=True)
class Choices(Generic[T]):
    """What may be chosen, and where a reply says it.

    Attributes:
        label: How the prompt opens the line with the choice, without the colon.
        synonyms: Pattern of what else may open it.
        words: Word of the reply, in lower case, to what it means.
        keys: Keys of a JSON object that may hold the choice.
    """

    label: str
    synonyms: str
    words: Mapping[str, T]
    keys: Sequence[str]
    labels: re.Pattern[str] = field(init=False)
    choice: re.Pattern[str] = field(init=False)
    any_word: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compile what the reader looks for."""
        either = "|".join(map(re.escape, self.words))
        compiled = {
            "labels": r"(?:[-*•]\s*)?(?:(?:the|my|final|overall)\s+)*"
            rf"(?:{self.synonyms})\s*(?:(?:is\s*)?[:：=]|\bis\b|[–—]|\s-\s|$)\s*",
            "choice": rf"[\[(\"'“‘<{{]*\s*(?P<word>{either})\b(?:\s*[\])\"'”’>}}]+)?",
            "any_word": rf"\b(?:{either})\b",
        }
        for name, pattern in compiled.items():
            object.__setattr__(self, name, re.compile(pattern, re.IGNORECASE))


def read_choice(reply: str, choices: Choices[T]) -> T | Unreadable:
    """The choice that a reply declares.

    Read, in this order: a reply that is a JSON object with the choice; lines that open with the
    label; a JSON object in a code block at the end; a reply that is nothing but a choice. Where
    two lines declare different choices, or what follows a choice leaves any doubt, there is none.
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    body = json_object(text)
    if body is not None:
        return _from_json(body, choices)
    lines = [line for line in own_lines(text) if line]
    declared = _declared(lines, choices)
    if declared and declared[-1]:
        return _agreed(declared, choices)
    closing = closing_json_object(text)
    if closing is not None:
        return _from_json(closing, choices)
    if declared:
        return _agreed(declared, choices)
    if len(lines) == 1:
        return _offered(_bare(lines[0], choices), lines[0], choices)
    return Unreadable(f"there is no line that begins with '{choices.label}:'")


def _declared(lines: Sequence[str], choices: Choices[T]) -> list[str]:
    """What each line with the label says; where it says nothing, the line after it."""
    found = []
    for at, line in enumerate(lines):
        label = choices.labels.match(line)
        if label:
            found.append(line[label.end() :] or "".join(lines[at + 1 : at + 2]))
    return found


def _agreed(declared: Sequence[str], choices: Choices[T]) -> T | Unreadable:
    """What the last of them says, if none before it says something else."""
    words = [_conclusion(text, choices) for text in declared]
    meant = {choices.words[word] for word in words if word is not None}
    if words[-1] is not None and len(meant) > 1:
        return Unreadable(f"lines that begin with '{choices.label}:' say different things")
    return _offered(words[-1], declared[-1], choices)


def _conclusion(text: str, choices: Choices[T]) -> str | None:
    """The word with which the text opens, unless what follows it leaves any doubt."""
    choice = choices.choice.match(text)
    if choice is None:
        return None
    rest = text[choice.end() :]
    doubtful = not _REASON.match(rest) or _DOUBT.search(rest) or choices.any_word.search(rest)
    return None if rest.strip(_ENDS) and doubtful else choice["word"].lower()


def _bare(line: str, choices: Choices[T]) -> str | None:
    """The word that the whole line is."""
    choice = choices.choice.match(line)
    if choice is None or line[choice.end() :].strip(_ENDS):
        return None
    return choice["word"].lower()


def _from_json(body: Mapping[str, Json], choices: Choices[T]) -> T | Unreadable:
    found = [value for key, value in body.items() if key.strip().lower() in choices.keys]
    if len(found) != 1:
        return Unreadable(f"the JSON object has no single key '{choices.keys[0]}'")
    if not isinstance(found[0], str | bool):
        return Unreadable(f"the value of '{choices.keys[0]}' in the JSON object is not a text")
    text = plain(str(found[0]))
    return _offered(_bare(text, choices), text, choices)


def _offered(word: str | None, text: str, choices: Choices[T]) -> T | Unreadable:
    if word is None:
        return Unreadable(f"'{text[:80]}' is not one of the choices offered")
    return choices.words[word]
