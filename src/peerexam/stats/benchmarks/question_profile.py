"""What a set of questions is made of (examiner paper, Table 1 and Figure 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from peerexam.records import Level, Question

QUESTION_WORDS = ("what", "which", "how", "why", "when", "where", "who", "other")
"""As they are counted; `whom` and `whose` are forms of `who`."""

LEVELS: tuple[Level, ...] = get_args(Level)
"""From the lowest to the highest (examiner paper, §3.1)."""

_WORD = re.compile(r"\b(what|which|how|why|when|where|who|whom|whose)\b", re.IGNORECASE)
_FORMS = {"whom": "who", "whose": "who"}


@dataclass(frozen=True, slots=True)
class QuestionProfile:
    """Counts over questions.

    Attributes:
        total: How many questions there are.
        words: By question word, in the order of `QUESTION_WORDS`.
        domains: By first-level domain, the largest first.
        levels: By cognitive level, the lowest first; `total` less their sum have none.
        groups: By kind of question.
    """

    total: int
    words: dict[str, int]
    domains: dict[str, int]
    levels: dict[Level, int]
    groups: dict[str, int]


def question_word(text: str) -> str:
    """The first English question word of a text, `other` where it has none.

    >>> question_word("In Roman law, whose consent did a sale need, and when?")
    'who'
    >>> question_word("Compare leases with mortgages."), question_word("Wie hoch ist das?")
    ('other', 'other')
    """
    found = _WORD.search(text)
    if found is None:
        return "other"
    word = found.group().lower()
    return _FORMS.get(word, word)


def first_level_domain(question: Question) -> str:
    """The top of the domain's path, or the domain itself where it has none.

    >>> first_level_domain(Question("q", "?", "Tides", ("Science", "Tides")))
    'Science'
    """
    return question.domain_path[0] if question.domain_path else question.domain


def question_profile(questions: Iterable[Question]) -> QuestionProfile:
    """Count questions by word, first-level domain, level and kind."""
    words: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    levels: Counter[Level] = Counter()
    groups: Counter[str] = Counter()
    total = 0
    for question in questions:
        total += 1
        words[question_word(question.text)] += 1
        domains[first_level_domain(question)] += 1
        groups[question.group] += 1
        if question.level is not None:
            levels[question.level] += 1
    return QuestionProfile(
        total,
        {word: words[word] for word in QUESTION_WORDS},
        dict(sorted(domains.items(), key=lambda entry: (-entry[1], entry[0]))),
        {level: levels[level] for level in LEVELS},
        dict(sorted(groups.items())),
    )
