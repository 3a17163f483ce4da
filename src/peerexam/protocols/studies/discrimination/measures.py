"""From what agents answered and chose to S_gen, S_disc and DG-Diff (Self-[In]Correct, §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from peerexam.protocols.studies.discrimination.protocol import (
    Choice,
    Discrimination,
    Examined,
    random_candidate,
)
from peerexam.protocols.studies.discrimination.variations import PLAIN, Variation
from peerexam.protocols.studies.result import Measure
from peerexam.stats.core.clustered_share import clustered_share
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import with_holm
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.discrimination import (
    NO_CHOICE,
    NOTHING,
    credited,
    difference,
    elected,
    majority,
    mean_score,
)

DG_DIFF = "dg_diff"
BY_PEER = "by "
"""Opens the condition of what a peer chose, or all of them together."""

BY_VOTE = f"{BY_PEER}a vote of its peers"

_AGAINST = {
    DG_DIFF: "DG-Diff: S_disc − S_gen",
    "dg_diff_expected": "DG-Diff against the mean of the candidates",
}


def measures_of(settings: Discrimination, examined: Sequence[Sequence[Examined]]) -> list[Measure]:
    """All measures, agent by agent; DG-Diffs corrected by Holm over agents and variations.

    Args:
        settings: What was done.
        examined: By item, one entry an agent.
    """
    found: list[Measure] = []
    for place, agent in enumerate(settings.agents):
        found += _Agent(settings, agent, [item[place] for item in examined]).measures()
    at = [
        place
        for place, one in enumerate(found)
        if one.name == DG_DIFF and not one.condition.startswith(BY_PEER)
    ]
    for place, estimate in zip(at, with_holm([found[p].estimate for p in at]), strict=True):
        found[place] = replace(found[place], estimate=estimate)
    return found


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What one chooser chose by one variation, over the items that count.

    Attributes:
        verbatim: Whether candidates were named by their texts, so that no label was chosen.
        asked: How often it was asked about an item, once for each rotation.
    """

    kept: Ints
    credit: Floats
    choices: Sequence[Sequence[Choice]]
    verbatim: bool = False
    asked: int = 1


class _Agent:
    """The measures of one agent's candidates."""

    def __init__(self, settings: Discrimination, agent: str, rows: Sequence[Examined]) -> None:
        self.settings, self.agent = settings, agent
        self.rows = [
            one
            for one in rows
            if one.candidates and all(c.score is not None for c in one.candidates)
        ]
        self.lost = len(rows) - len(self.rows)
        width = len(self.rows[0].candidates) if self.rows else settings.candidates
        self.scores: Floats = np.array(
            [[c.score for c in one.candidates] for one in self.rows], dtype=np.float64
        ).reshape(len(self.rows), width)
        names: dict[str, int] = {}
        self.cluster: Ints = np.array(
            [names.setdefault(one.item.cluster or one.item.id, len(names)) for one in self.rows],
            dtype=np.int64,
        )
        picks = [random_candidate(settings.seed, agent, one.item, width) for one in self.rows]
        self.random: Floats = self.scores[np.arange(len(picks)), np.array(picks, dtype=np.int64)]

    def measures(self) -> list[Measure]:
        """In the order in which they are shown."""
        found = [*self._of_candidates()]
        by_variation = {
            variation.name: self._chosen(self.agent, variation)
            for variation in self.settings.variations
        }
        head = self.settings.head.name
        for name, chosen in by_variation.items():
            condition = "" if name == PLAIN.name else name
            found += self._of_choice(condition, chosen, headline=name == head)
        if self.settings.peers:
            found += self._of_peers(by_variation[head])
        return found

    def _of_candidates(self) -> Iterator[Measure]:
        scores = self.scores
        means = scores.mean(axis=1)
        for name, title, values in (
            ("s_gen", "S_gen: one random candidate", self.random),
            ("s_gen_expected", "S_gen: mean of the candidates", means),
            ("worst", "the worst candidate", scores.min(axis=1)),
            ("oracle", "the best candidate", scores.max(axis=1)),
        ):
            yield self._measure(name, title, self._mean(values))
        groups = self._groups()
        if groups is not None and len(groups):
            voted = majority(scores, groups)
            yield self._measure("s_majority", "majority vote of the candidates", self._mean(voted))
            gap = self._difference(voted, means, self.cluster, self.lost)
            yield self._measure("dg_diff_majority", "majority vote − mean candidate", gap)
        yield from self._of_references()

    def _of_references(self) -> Iterator[Measure]:
        """Accuracies by reference, of the mean candidate."""
        for name in sorted({key for one in self.rows for key in one.candidates[0].references}):
            values = [
                float(np.mean([c.references.get(name, False) for c in one.candidates]))
                for one in self.rows
            ]
            estimate = mean_score(np.array(values), self.cluster, (0, 1), left_out=self.lost)
            title = f"nearer to a true reference ({name})"
            yield Measure(self.agent, name, title, estimate, self.settings.task.name)

    def _groups(self) -> Ints | None:
        """Number of each candidate's answer; None where the task extracts none."""
        if not any(c.extracted is not None for one in self.rows for c in one.candidates):
            return None
        rows = []
        for one in self.rows:
            names: dict[str, int] = {}
            rows.append(
                [
                    NO_CHOICE if c.extracted is None else names.setdefault(c.extracted, len(names))
                    for c in one.candidates
                ]
            )
        return np.array(rows, dtype=np.int64)

    def _chosen(self, chooser: str, variation: Variation) -> _Chosen:
        kept, credit, choices = [], [], []
        for at, one in enumerate(self.rows):
            own = [c for c in one.choices if (c.chooser, c.variation) == (chooser, variation.name)]
            if not own or any(choice.state == "error" for choice in own):
                continue
            picked = [NO_CHOICE if c.picked is None else c.picked for c in own]
            scores = np.repeat(self.scores[at : at + 1], len(own), axis=0)
            kept.append(at)
            # Where every rotation is asked, the item's S_disc is the mean over them.
            credit.append(float(credited(scores, np.array(picked)).mean()))
            choices.append(own)
        places = np.array(kept, dtype=np.int64)
        asked = len(variation.rotations(self.scores.shape[1]))
        return _Chosen(places, np.array(credit), choices, variation.wording.verbatim, asked)

    def _of_choice(self, condition: str, chosen: _Chosen, *, headline: bool) -> Iterator[Measure]:
        yield from self._of_credit(condition, chosen.kept, chosen.credit, headline=headline)
        yield from self._of_replies(condition, chosen, self._left_out(chosen.kept))

    def _of_credit(
        self, condition: str, kept: Ints, credit: Floats, *, headline: bool
    ) -> Iterator[Measure]:
        """S_disc over some items, and against both forms of S_gen."""
        cluster, lost = self._clusters(kept), self._left_out(kept)
        mean = mean_score(credit, cluster, self.settings.task.scale, left_out=lost)
        yield self._measure("s_disc", "S_disc: the candidate chosen", mean, condition)
        against = (self.random[kept], self.scores.mean(axis=1)[kept])
        for (name, title), generated in zip(_AGAINST.items(), against, strict=True):
            gap = self._difference(credit, generated, cluster, lost)
            yield self._measure(name, title, gap, condition, headline=headline and name == DG_DIFF)

    def _of_replies(self, condition: str, chosen: _Chosen, lost: int) -> Iterator[Measure]:
        """Shares of replies; those about one item, or items of one cluster, hang together."""
        replies = [
            (choice, int(self.cluster[at])) for at, own in self._pairs(chosen) for choice in own
        ]
        valid = [(choice, cluster) for choice, cluster in replies if choice.label is not None]
        # Of items that are left out, as many replies are.
        gone = lost * chosen.asked
        invalid = _share(replies, lambda choice: choice.label is None, gone)
        title = "replies that name no candidate"
        yield self._measure("invalid", title, invalid, condition, unit_share=True)
        for label in () if chosen.verbatim else range(1, self.scores.shape[1] + 1):
            title = f"of the choices, label {label}"
            named = partial(_names, label)
            estimate = _share(valid, named, gone + len(replies) - len(valid))
            yield self._measure(f"label_{label}", title, estimate, condition, unit_share=True)
        if any(len(own) > 1 for own in chosen.choices):
            steady = [float(_is_steady(own, self.rows[at])) for at, own in self._pairs(chosen)]
            title = "the same candidate in every rotation"
            clusters = self.cluster[chosen.kept].tolist()
            estimate = clustered_share(steady, clusters, left_out=lost, reason=NOTHING)
            yield self._measure("consistency", title, estimate, condition, unit_share=True)

    def _of_peers(self, own: _Chosen) -> Iterator[Measure]:
        """What the other agents choose among these candidates, and the agent against their mean."""
        by_peer = {
            peer: self._chosen(peer, self.settings.head)
            for peer in self.settings.agents
            if peer != self.agent
        }
        for peer, chosen in by_peer.items():
            yield from self._of_choice(f"{BY_PEER}{peer}", chosen, headline=False)
        if len(by_peer) > 1:
            kept, credit = self._voted(list(by_peer.values()))
            yield from self._of_credit(BY_VOTE, kept, credit, headline=False)
        shared = sorted(
            set(own.kept.tolist()).intersection(*(c.kept.tolist() for c in by_peer.values()))
        )
        credits = [
            np.array(
                [dict(zip(c.kept.tolist(), c.credit.tolist(), strict=True))[at] for at in shared]
            )
            for c in (own, *by_peer.values())
        ]
        at = np.array(shared, dtype=np.int64)
        lost = self.lost + len(self.rows) - len(shared)
        peers = np.mean(credits[1:], axis=0) if shared else credits[0]
        gap = self._difference(credits[0], peers, self._clusters(at), lost)
        title = "S_disc by itself − mean S_disc by its peers"
        yield self._measure("self_minus_peers", title, gap)

    def _voted(self, peers: Sequence[_Chosen]) -> tuple[Ints, Floats]:
        """Items on which all peers chose, and the score of the candidate that most of them name.

        A peer has one vote an item, shared among its rotations; one that names no candidate
        abstains. Candidates with the same text are one candidate.
        """
        votes = np.zeros(self.scores.shape)
        choosers = np.zeros(len(self.rows), dtype=np.int64)
        for chosen in peers:
            choosers[chosen.kept] += 1
            for at, own in self._pairs(chosen):
                texts = [one.answer.text for one in self.rows[at].candidates]
                for picked in (choice.picked for choice in own if choice.picked is not None):
                    votes[at] += [(text == texts[picked]) / len(own) for text in texts]
        kept = np.flatnonzero(choosers == len(peers))
        return kept, elected(self.scores[kept], votes[kept])

    def _pairs(self, chosen: _Chosen) -> Iterator[tuple[int, Sequence[Choice]]]:
        return zip(chosen.kept.tolist(), chosen.choices, strict=True)

    def _left_out(self, kept: Ints) -> int:
        return self.lost + len(self.rows) - len(kept)

    def _clusters(self, kept: Ints) -> Ints:
        """Numbers of the clusters of some items, from 0 without gaps."""
        return np.unique(self.cluster[kept], return_inverse=True)[1].reshape(-1)

    def _mean(self, values: Floats) -> Estimate:
        return mean_score(values, self.cluster, self.settings.task.scale, left_out=self.lost)

    def _difference(self, first: Floats, second: Floats, cluster: Ints, lost: int) -> Estimate:
        low, high = self.settings.task.scale
        return difference(
            first, second, cluster, high - low, seed=self.settings.seed, left_out=lost
        )

    def _measure(
        self,
        name: str,
        title: str,
        estimate: Estimate,
        condition: str = "",
        *,
        headline: bool = False,
        unit_share: bool = False,
    ) -> Measure:
        task = self.settings.task
        unit = "share" if unit_share else task.unit
        return Measure(self.agent, name, title, estimate, task.name, condition, unit, headline)


def _share(
    replies: Sequence[tuple[Choice, int]], hit: Callable[[Choice], bool], left_out: int
) -> Estimate:
    """Share of replies, each with its cluster."""
    return clustered_share(
        [float(hit(choice)) for choice, _ in replies],
        [cluster for _, cluster in replies],
        left_out=left_out,
        reason=NOTHING,
    )


def _names(label: int, choice: Choice) -> bool:
    return choice.label == label


def _is_steady(choices: Sequence[Choice], one: Examined) -> bool:
    """Whether all rotations led to the same text; an unreadable reply is another one."""
    texts = {
        None if choice.picked is None else one.candidates[choice.picked].answer.text
        for choice in choices
    }
    return len(texts) == 1 and None not in texts
