"""Near duplicates among very many questions, without comparing each with each.

The rule is `duplicates.similarity`, and what is found is exactly what comparing with every earlier
question would find. Two questions that are alike share a word triple, and more than that: of the
triples of a question that may be missing in its likeness there are only few, so any selection of
one triple more than these holds a shared one (the prefix filter of set-similarity joins). The
rarest are selected, whose lists of questions are the shortest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from peerexam.examiners.questions.duplicates import CONTAINED, Wording, likeness, wording_of

_Key: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"
"""The numbers that a question names, and one of its triples: other numbers, other question."""

_SLACK = 1e-9
"""Below the rounding of any product of a threshold and a count, and above its error."""


class DuplicateIndex:
    """Questions that are there already, to be asked which of them a new one repeats.

    Args:
        threshold: Least similarity that counts as a repetition; 1 means the same words.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._wordings: list[Wording] = []
        self._same: dict[tuple[str, ...], int] = {}
        self._frequency: defaultdict[_Key, int] = defaultdict(int)
        self._selected: defaultdict[_Key, list[int]] = defaultdict(list)
        self._all: defaultdict[_Key, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._wordings)

    def add(self, text: str) -> int:
        """Add a question; its place, counted from 0."""
        wording, place = wording_of(text), len(self._wordings)
        self._wordings.append(wording)
        self._same.setdefault(wording.words, place)
        keys = _keys(wording)
        for key in keys:
            self._frequency[key] += 1
            self._all[key].append(place)
        # What repeats this question shares so much of it, however long it is itself.
        for key in self._rarest(keys, min(self._threshold, CONTAINED)):
            self._selected[key].append(place)
        return place

    def first_like(self, text: str) -> int | None:
        """The place of the first question that this one repeats, None where it repeats none."""
        if self._threshold <= 0:
            return 0 if self._wordings else None
        wording = wording_of(text)
        same = self._same.get(wording.words) if self._threshold <= 1 else None
        for place in sorted(self._candidates(wording)):
            if same is not None and place >= same:
                break
            if likeness(wording, self._wordings[place]) >= self._threshold:
                return place
        return same

    def _candidates(self, wording: Wording) -> set[int]:
        """Places of questions that may be like this one, those that are among them."""
        keys = _keys(wording)
        found = {place for key in keys for place in _listed(self._selected, key)}
        # A longer question may contain this one, and so little of it be shared.
        for key in self._rarest(keys, max(self._threshold, CONTAINED)):
            found.update(_listed(self._all, key))
        return found

    def _rarest(self, keys: list[_Key], share: float) -> list[_Key]:
        """So many keys that one of them is among any `share` of all of them."""
        needed = max(1, math.ceil(share * len(keys) - _SLACK))
        ordered = sorted(keys, key=lambda key: (self._frequency.get(key, 0), key))
        return ordered[: len(keys) - needed + 1]


def _keys(wording: Wording) -> list[_Key]:
    return [(wording.numbers, shingle) for shingle in wording.shingles]


def _listed(lists: Mapping[_Key, list[int]], key: _Key) -> Iterable[int]:
    # Not by subscript, which would leave an empty list behind for every triple asked after.
    return lists.get(key, ())


def repetitions(texts: Iterable[str], threshold: float) -> Iterator[int | None]:
    """For each text the place of the first earlier one that it repeats, or None."""
    index = DuplicateIndex(threshold)
    for text in texts:
        yield index.first_like(text)
        index.add(text)
