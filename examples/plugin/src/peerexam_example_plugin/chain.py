"""A Markov chain over the characters of a text, with back-off to shorter contexts."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

_CODE_POINTS = 0x110000
"""Every character that there is has a share, so that no text is impossible."""


class Chain:
    """P(next character | the characters before it), learnt from a text.

    A context's own counts are mixed with what the next shorter context says, which counts as much
    as one character seen: P(c | abc) = (n(abc, c) + P(c | bc)) / (n(abc) + 1).

    Args:
        text: What to learn from.
        order: How many characters before the next one matter at most.
    """

    def __init__(self, text: str, order: int) -> None:
        self.order = order
        self.alphabet = sorted(set(text))
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for at, character in enumerate(text):
            for length in range(min(order, at) + 1):
                self._counts[text[at - length : at]][character] += 1
        self._totals = {context: sum(seen.values()) for context, seen in self._counts.items()}

    def probability(self, context: str, character: str) -> float:
        """How likely a character is after a context.

        >>> chain = Chain("abab", order=1)
        >>> round(chain.probability("a", "b"), 3)  # (2 + (2 + 1/1114112) / 5) / 3
        0.8
        """
        chance = 1 / _CODE_POINTS
        for length in range(self.order + 1):
            before = context[len(context) - length :]
            if length > len(context) or before not in self._totals:
                break
            chance = (self._counts[before][character] + chance) / (self._totals[before] + 1)
        return chance

    def draw(self, context: str, temperature: float, source: random.Random) -> str:
        """The next character: the likeliest one at temperature 0, else drawn."""
        chances = {c: self.probability(context, c) for c in self.alphabet}
        if temperature == 0:
            return max(chances, key=chances.__getitem__)
        # Over the greatest, so that a low temperature does not make all weights 0.
        greatest = max(chances.values())
        weights = [math.exp(math.log(p / greatest) / temperature) for p in chances.values()]
        return source.choices(self.alphabet, weights)[0]
