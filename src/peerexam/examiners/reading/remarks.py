"""Whether the remark behind a choice bears it out: "Response 2, because Response 1 has an error".

A remark never makes a choice. It can only take one back, and then there is none.
"""

from __future__ import annotations

import re

from peerexam.records import Winner

_OPENS = re.compile(r"\s*(?:[.,;:!(–—]|\s-\s|because\b|since\b|as\b|for\b)", re.IGNORECASE)
_TURNS = re.compile(
    r"\b(?:wait|but|however|actually|instead|unless|if|or|maybe|perhaps|rather|correction|sorry"
    r"|although|though|unsure|uncertain|hmm|oops|second thoughts?|reconsider\w*)\b|\?",
    re.IGNORECASE,
)
_NEGATES = re.compile(r"\b(?:not|no|nor|never|neither|none|cannot|without)\b|n['’]t\b", re.I)
_NO_WINNER = re.compile(
    r"\b(?:neither|no)(?: (?:response|answer|one|clear|real|obvious|significant|meaningful|big"
    r"|major|of the two|is|was|stands|clearly|significantly|really)){0,4}"
    r" (?:better|best|worse|superior|stronger|winner|difference|differences|out)\b"
    r"|\b(?:not|n['’]t) (?:differ|distinguish\w*)\b|\bno way to (?:choose|prefer)\b",
    re.IGNORECASE,
)
_EQUAL = re.compile(r"\b(?:both|equal|tied?|draw)\b", re.IGNORECASE)
_OF_BOTH = re.compile(r"\b(?:both|neither|either)\b", re.IGNORECASE)
_PREFERS = re.compile(
    r"\b(?:better|best|worse|worst|superior|inferior|stronger|weaker|wins?|winner|prefer\w*|more"
    r"|less|fewer|clearer|edges?|ahead)\b",
    re.IGNORECASE,
)
_RESPONSE = re.compile(
    r"\b(?P<against>(?:than|over|to|unlike|from|with)\s+(?:the\s+)?(?:that\s+of\s+)?)?"
    r"(?:response|answer)\s*#?\s*(?P<number>[12]|one|two)\b",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"\b(?:better|best|superior|stronger|right|correct|correctly|accurate|complete|wins?|winner"
    r"|preferred|good|fine|perfect|excellent|great|clear|clearer|more)\b",
    re.IGNORECASE,
)
_BLAME = re.compile(
    r"\b(?:errors?|mistakes?|wrong|wrongly|incorrect\w*|inaccura\w+|fails?|failed|lacks?|lacking"
    r"|miss(?:es|ed|ing)?|misstat\w+|mislead\w+|omit\w*|omission|less|worse|weaker|inferior|only"
    r"|incomplete|false|falsely|fabricat\w+|hallucinat\w+|invent(?:s|ed)|vague|irrelevant|off-topic"
    r"|unsupported|shallow|superficial|confus\w+|contradict\w*|bug|bugs|flaw\w*|poor|poorly|bad"
    r"|ignores?|misunderst\w+|misread\w*|too (?:short|long|brief))\b(?!-free)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.,;:!()–—]|\b(?:and|while|whereas|because|since)\b", re.IGNORECASE)
_NUMBERS: dict[str, Winner] = {"1": "first", "one": "first", "2": "second", "two": "second"}


def agrees(remark: str, winner: Winner) -> bool:
    """Whether a remark leaves the choice before it without doubt.

    It must open as a reason, take nothing back, and where it names a response by its number, find
    fault with the one that lost, or set it against the other ("than Response 1"). Behind a tie it
    may name both, and prefer neither.

    >>> agrees(", because Response 1 has an error", "second")
    True
    >>> agrees(", Response 1 is better", "second")
    False
    """
    if not _OPENS.match(remark) or _TURNS.search(remark):
        return False
    if winner == "tie":
        return _is_even(remark)
    if _EQUAL.search(remark):
        return False
    return all(_bears_out(clause, winner) for clause in _CLAUSE.split(remark))


def _is_even(remark: str) -> bool:
    """Whether a remark prefers no response."""
    rest = _NO_WINNER.sub(" ", remark)
    if _PREFERS.search(rest) or any(_denies(clause) for clause in _CLAUSE.split(rest)):
        return False
    named = {_NUMBERS[one["number"].lower()] for one in _RESPONSE.finditer(rest)}
    return len(named) != 1


def _denies(clause: str) -> bool:
    """Whether a clause denies something, and not of both responses alike."""
    return _NEGATES.search(clause) is not None and not _OF_BOTH.search(clause)


def _bears_out(clause: str, winner: Winner) -> bool:
    """Whether a clause says nothing against the winner and nothing for the other."""
    named = list(_RESPONSE.finditer(clause))
    subjects = [one for one in named if not one["against"]]
    if any(_NUMBERS[one["number"].lower()] == winner for one in named if one["against"]):
        return False
    rivals = [one for one in subjects if _NUMBERS[one["number"].lower()] != winner]
    negated = _NEGATES.search(clause) is not None
    if not rivals:
        return not negated and not (subjects and _BLAME.search(clause))
    blamed = _BLAME.search(clause) is not None
    if len(subjects) > 1 or blamed == negated:
        return False
    return negated or not _PRAISE.search(_BLAME.sub(" ", clause))
