"""Text that UTF-8 can hold, for everything that takes no other."""

from __future__ import annotations


def valid_utf8(text: str) -> str:
    r"""Lone surrogates, which models do write, have no UTF-8: they become replacement characters.

    >>> valid_utf8("one \ud800 two") == "one \ufffd two"
    True
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
