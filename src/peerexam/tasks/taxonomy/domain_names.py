"""Names of domains as people and files give them, made fit to be shown, prompted and compared.

A name is data. Nothing here or elsewhere makes a path of it, so `../../etc` is a name like any
other, and so is `=1+1`, which the tables that peerexam leaves write as text.
"""

from __future__ import annotations

import unicodedata

MOST_CHARACTERS = 200
"""A name longer than this is not taken for one."""

_JOINERS = "\u200c\u200d"
"""Characters without a shape that some scripts, and emoji, cannot be written without."""


def clean_name(raw: str) -> str:
    r"""A name without what could steer a terminal, turn its direction, or not be encoded.

    White space of any kind, line ends included, becomes one space. Control characters, characters
    of format (bidi overrides, zero-width spaces, byte order marks) and lone surrogates are left
    out; joiners stay between other characters. Everything else stays as it is.

    >>> clean_name("  Arts\t& \x1b[31mCrafts\u202e ")
    'Arts & [31mCrafts'
    """
    kept = "".join(char for char in raw if char.isspace() or _has_a_shape(char))
    return " ".join(kept.split()).strip(f"{_JOINERS} ")


def problem_of(name: str) -> str | None:
    """Why a cleaned name is no domain's, in words; None where it can be one.

    >>> problem_of("../..")
    'has no letter or digit'
    """
    if len(name) > MOST_CHARACTERS:
        return f"has {len(name):,} characters, and a domain's name at most {MOST_CHARACTERS}"
    if not name:
        return "is empty"
    if not any(unicodedata.category(char)[0] in "LN" for char in name):
        return "has no letter or digit"
    return None


def same_name(name: str) -> str:
    """What is equal for two names that are one: after NFKC, case and white space aside.

    >>> same_name("Ｐhysics ") == same_name("physics")
    True
    """
    folded = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    # Folding can undo the normal form, and normalising bring white space about.
    return " ".join(unicodedata.normalize("NFKC", folded).casefold().split())


def quoted(raw: str) -> str:
    """A name as a message shows it: in quotes, cut short, with escapes for what has no shape."""
    return repr(raw if len(raw) <= 40 else f"{raw[:40]}…")


def _has_a_shape(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
