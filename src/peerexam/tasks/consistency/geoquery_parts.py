"""Sub-questions of GeoQuery questions (self-knowledge, "Semantic parsing experimental set-up").

The paper fans a program out into its subtrees, and cuts the question at the word that stands for
the subtree's operator: "what state has the largest city" holds "state has the largest city" for
`state(loc_1(…))`, and "largest city" for `largest(city(all))`. How it found the words is not said.
Here they come from a word-by-word alignment where there is one, and else from a list of words.

A sub-question reaches from the first to the last word that stands for any operator of the subtree;
the words round it that stand for nothing fall away, as "the" and "?" do in the paper's examples.
There is none where no word stands for the subtree's own operator, where a word in between stands
for an operator outside it, and where it is the whole question. `answer` is not counted: it has no
meaning of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from peerexam.tasks.consistency.funql import Term
from peerexam.tasks.consistency.geoquery import GeoQuestion
from peerexam.tasks.consistency.geoquery_alignments import Alignments, aligned
from peerexam.tasks.consistency.geoquery_words import labels_by_words


@dataclass(frozen=True, slots=True)
class Part:
    """A sub-question and its program.

    Attributes:
        text: Words of the question.
        program: The subtree of the gold program.
    """

    text: str
    program: Term


def parts_of(question: GeoQuestion, alignments: Alignments | None = None) -> list[Part]:
    """The sub-questions of a question, the longest program first; none twice.

    Args:
        question: Which.
        alignments: Word-by-word alignments; a list of words is used where none goes with it.
    """
    words = question.text.split()
    found = aligned(alignments or {}, question.text, question.program)
    labels, monotonic = found or (labels_by_words(words, question.program), True)
    terms = list(question.program.operators())
    owners = _owners(labels, terms, monotonic=monotonic)
    parts: dict[str, Part] = {}
    for first, term in enumerate(terms[1:], 1):
        last = first + sum(1 for _ in term.operators())
        text = _span(words, owners, first, last)
        if text is not None and text != question.text:
            parts.setdefault(text, Part(text, term))
    return list(parts.values())


def _owners(
    labels: Sequence[str | None], terms: Sequence[Term], *, monotonic: bool
) -> list[int | None]:
    """Per word, the place of its operator among the program's operators, from the outermost."""
    owners: list[int | None] = [None] * len(labels)
    runs: dict[str, list[list[int]]] = {}
    for label, together in groupby(range(len(labels)), key=lambda place: labels[place]):
        if label is not None:
            runs.setdefault(label, []).append(list(together))
    for label, places in runs.items():
        of = [place for place, term in enumerate(terms) if term.name == label]
        if len(of) == 1:
            pairs = [(of[0], run) for run in places]
        elif monotonic and len(of) == len(places):
            pairs = list(zip(of, places, strict=True))
        else:
            continue
        for owner, run in pairs:
            for word in run:
                owners[word] = owner
    return owners


def _span(words: Sequence[str], owners: Sequence[int | None], first: int, last: int) -> str | None:
    """From the first to the last word of the operators `first` up to `last`."""
    own = [
        place for place, owner in enumerate(owners) if owner is not None and first <= owner < last
    ]
    if first not in owners or not own:
        return None
    between = owners[own[0] : own[-1] + 1]
    if any(owner and not first <= owner < last for owner in between):
        return None
    return " ".join(words[own[0] : own[-1] + 1])
