"""Wrong candidates made easy to tell from right ones (Self-[In]Correct, §5.3, Figure 2)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from peerexam.tasks.benchmark_task import BenchmarkTask, Item
from peerexam.tasks.gsm8k import answer_span, number_of, without_calculator
from peerexam.tasks.triviaqa import score as trivia_score


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
    bare = without_calculator(text)
    span = answer_span(bare)
    number = None if span is None else number_of(bare[span[0] : span[1]])
    if span is None or number is None:
        return text
    moved = _times_100(number) if up else _by_100(number)
    if moved == item.gold[0]:
        moved = _by_100(number) if up else _times_100(number)
    # A full stop after the number belongs to the sentence.
    end = span[1] - (len(bare[: span[1]]) - len(bare[: span[1]].rstrip(".,")))
    return bare[: span[0]] + moved + bare[end:]


def _times_100(number: str) -> str:
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(2, "0")
    return number_of(f"{whole}{fraction[:2]}.{fraction[2:]}") or number


def _by_100(number: str) -> str:
    sign = "-" if number.startswith("-") else ""
    whole, _, fraction = number.removeprefix("-").partition(".")
    whole = whole.rjust(3, "0")
    return number_of(f"{sign}{whole[:-2]}.{whole[-2:]}{fraction}") or number


def _elsewhere(item: Item, pool: Sequence[Item], rng: random.Random) -> str | None:
    """A right answer of another question that is wrong here; None where none turns up."""
    for _ in range(100):
        other = pool[rng.randrange(len(pool))].gold[0]
        if not trivia_score(other, item):
            return other
    return None
