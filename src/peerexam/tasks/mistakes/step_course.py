"""Whether a step goes the way in which the steps before it went, told without knowing the task.

Three things that chains of thought carry from step to step are followed:

- named values (`Ann: red, Bob: blue`): an exchange moves values between the names that the step
  speaks of, and neither loses nor doubles any;
- a running list at the end of a step (`x ; so far: a b`): one thing more or less each time, and
  what a word did to the list before, it does again;
- the question itself, where steps take it up word by word.

A sign is 1 where the course is left, else 0. What is no course here gives no sign.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_PAIR = re.compile(r"(?<!\w)(\w++): ([^,.;:]++)(?!:)")
_WORD = re.compile(r"\w+")
_NOTHING = frozenset({"empty", "none", "nothing"})
_ESTABLISHED = 2
"""So many steps in a row make a course."""

_LONGEST = 60
"""Entries of a list beyond which it is no list but a sentence."""

Signs = dict[str, float]


@dataclass(slots=True)
class Course:
    """What the steps of one trace have left so far.

    Args:
        question: The trace's question, for steps that take it up word by word.
    """

    question: tuple[str, ...]
    pairs: dict[str, str] = field(default_factory=dict)
    tail: tuple[str, ...] = ()
    single: int = 0
    effects: dict[str, set[str]] = field(default_factory=dict)
    walked: int = 0

    @classmethod
    def of(cls, question: str) -> Course:
        """The course before the first step."""
        return cls(tuple(question.split()))

    def follow(self, step: str) -> Signs:
        """The signs of the next step."""
        found = {"values_doubled": 0.0, "values_moved": 0.0, "names_missed": 0.0}
        pairs = {key: value.strip() for key, value in _PAIR.findall(step)}
        if len(pairs) > 1:
            found = self._values(step, pairs)
            self.pairs |= pairs
        return found | self._list(step)

    def _values(self, step: str, pairs: dict[str, str]) -> Signs:
        before = self.pairs
        shared = pairs.keys() & before.keys()
        changed = {key for key in shared if pairs[key] != before[key]}
        moved = Counter(pairs[key] for key in changed) == Counter(before[key] for key in changed)
        named = _named(step, pairs)
        missed = bool(named & shared) and bool(named & shared ^ changed)
        return {
            "values_doubled": float(len(set(pairs.values())) < len(pairs)),
            "values_moved": float(bool(changed) and not moved),
            "names_missed": float(missed),
        }

    def _list(self, step: str) -> Signs:
        found = {"list_jumped": 0.0, "effect_changed": 0.0, "walk_left": 0.0}
        head, colon, rest = step.rpartition(":")
        tail = tuple(word for word in rest.split() if word not in _NOTHING)
        lead = head.split()[:1]
        if not colon or len(tail) > _LONGEST:
            self.single = 0
            return found
        cut, put = _edit(self.tail, tail)
        if self.single >= _ESTABLISHED:
            found["list_jumped"] = float(len(cut) + len(put) != 1)
            found["effect_changed"] = self._effect(lead, cut, put)
            found["walk_left"] = self._walk(lead)
        else:
            self._effect(lead, cut, put)
            self._walk(lead)
        self.single += len(cut) + len(put) == 1
        self.tail = tail
        return found

    def _effect(self, lead: Sequence[str], cut: Sequence[str], put: Sequence[str]) -> float:
        """Whether a word does to the list what it did before."""
        if not lead:
            return 0.0
        effect = f"-{' '.join(cut)}+{' '.join(put)}"
        known = self.effects.setdefault(lead[0], set())
        new = bool(known) and effect not in known
        known.add(effect)
        return float(new)

    def _walk(self, lead: Sequence[str]) -> float:
        """Whether a step takes up the next word of the question."""
        if not lead or lead[0] not in self.question:
            return 0.0
        following = self.question[self.walked : self.walked + 1]
        self.walked += 1
        return float(tuple(lead) != following)


def _named(step: str, pairs: dict[str, str]) -> set[str]:
    """The names that a step speaks of before it lists their values."""
    first = next(iter(pairs))
    speech = step.partition(f"{first}: ")[0]
    return {name for name in _WORD.findall(speech) if name in pairs}


def _edit(before: Sequence[str], now: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What was cut off the end of a list, and what was put on."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        same += 1
    return before[same:], now[same:]
