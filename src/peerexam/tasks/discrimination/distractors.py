"""Wrong candidates made easy to tell from right ones (Self-[In]Correct, §5.3, Figure 2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from peerexam.tasks.benchmarks.base import BenchmarkTask, Item
from peerexam.tasks.benchmarks.gsm8k import answer_in, spelled, without_calculator
from peerexam.tasks.benchmarks.triviaqa import score as trivia_score
from peerexam.tasks.consistency.numerals import plain_numbers


def simplified(
    task: BenchmarkTask, item: Item, texts: Sequence[str], pool: Sequence[Item], seed: int
) -> list[str]:
    """Candidates as they are shown, the wrong ones exchanged.

    GSM8K: the number that a wrong solution ends in is multiplied or divided by 100. TriviaQA: a
    wrong answer is replaced by the right answer of another question. Right candidates stay, and so
    does a wrong solution without any number.

    Args:
        task: `gsm8k` or `triviaqa`.
        item: The question.
        texts: Its candidates.
        pool: Where other questions are taken from.
        seed: Of the draws.
    """
    rng = random.Random(f"{seed}\n{item.id}")
    changed = []
    for text in texts:
        if task.score(text, item):
            changed.append(text)
        elif task.name == "gsm8k":
            changed.append(scaled(text, item, up=rng.random() < 0.5))
        else:
            changed.append(_elsewhere(item, pool, rng) or text)
    return changed


def scaled(text: str, item: Item, *, up: bool) -> str:
    """A solution whose last number is 100 times as large, or a hundredth; never the right one.

    >>> scaled("#### 16", Item("1", "?", ("1600",)), up=True)
    '#### 0.16'
    """
    bare = plain_numbers(without_calculator(text))
    found = answer_in(bare)
    if found is None:
        return text
    value = Fraction(found.number)
    moved = spelled(value * 100 if up else value / 100)
    if moved == item.gold[0]:
        moved = spelled(value / 100 if up else value * 100)
    # A full stop after the number belongs to the sentence.
    end = len(bare[: found.end].rstrip(".,"))
    return bare[: found.start] + moved + bare[end:]


def _elsewhere(item: Item, pool: Sequence[Item], rng: random.Random) -> str | None:
    """A right answer of another question that is wrong here; None where none turns up."""
    for _ in range(100):
        other = pool[rng.randrange(len(pool))].gold[0]
        if not trivia_score(other, item):
            return other
    return None
