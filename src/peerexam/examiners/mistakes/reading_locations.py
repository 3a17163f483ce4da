"""Reading where a finder says that the first mistake is, and whether a thought is right."""

from __future__ import annotations

import functools
import re

from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.parsing import Unreadable

_NONE = (
    "no, there are no mistakes",
    "no, there is no mistake",
    "there are no mistakes",
    "there is no mistake",
    "no mistakes",
    "no mistake",
    "none",
    "no",
)

# "2.5", "2, 7", "2-9": what follows may be beyond the thoughts, and so no choice of its own.
_NO_ONE_NUMBER = re.compile(
    r"(?:mistake|thought|step|error)\W{0,6}\d++(?:\.\d|\s{0,9}(?:[,;/–-]|and|or|to)\s{0,9}\d)",
    re.IGNORECASE,
)

_VERDICTS: Choices[bool] = Choices(
    label="Verdict",
    synonyms=r"verdict|answer|conclusion|is\s+thought\s+\d+\s+(?:right|correct)\??",
    words={"yes": True, "no": False},
    keys=("verdict", "answer", "correct"),
)


def read_location(reply: str, thoughts: int) -> int | Unreadable:
    """Which thought a reply names as the first that is wrong.

    Args:
        reply: What the finder wrote.
        thoughts: How many there are; a number beyond them names nothing.

    Returns:
        From 1 as in the prompt; 0 where it says that none is wrong.

    >>> read_location("Mistake: No", 5), read_location("Mistake: Thought 4", 5)
    (0, 4)
    >>> read_location("Mistake: 6", 5).reason
    "'6' is not one of the choices offered"
    """
    found = read_choice(reply, _locations(thoughts))
    if not isinstance(found, Unreadable) and found and _NO_ONE_NUMBER.search(reply):
        return Unreadable("it names more than one thought, or none by a whole number")
    return found


def read_verdict(reply: str) -> bool | Unreadable:
    r"""Whether a reply says that the thought is right.

    >>> read_verdict("Reasoning: 2 + 2 is 4, not 5.\nVerdict: No")
    False
    """
    return read_choice(reply, _VERDICTS)


@functools.cache
def _locations(thoughts: int) -> Choices[int]:
    """Longest first: of two that begin alike the longer one is meant."""
    numbers = range(1, thoughts + 1)
    words = dict.fromkeys(_NONE, 0)
    for opening in ("thought ", "step ", "n = ", ""):
        words.update({f"{opening}{n}": n for n in numbers})
    return Choices(
        label="Mistake",
        synonyms=r"(?:first\s+)?(?:mistake|wrong\s+thought|error)",
        words=words,
        keys=("mistake", "location"),
    )
