"""Numbers on the command line."""

from __future__ import annotations

import argparse


def seed(text: str) -> int:
    """A seed, which decides draws.

    Raises:
        argparse.ArgumentTypeError: It is no whole number, or below 0.
    """
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"a seed is a whole number, 0 or more, not '{text[:40]}'")
    return number
