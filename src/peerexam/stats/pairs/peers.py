"""Who counts as a peer of whom in self-bias and self-preference, and by how much.

For Eq. 1 every other benchmark is a peer. A third party on a rival is a benchmark that is neither
the model nor that rival. Two agents of one model (asked with another prompt, or at another
temperature) are one and the same in this: what favours its own answers favours its twin's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from peerexam.stats.core.tables import Floats
from peerexam.stats.pairs.orders import Mask, agent_of_judge

Kind = Literal["rank", "third", "win"]
KINDS: tuple[Kind, ...] = ("rank", "third", "win")


@dataclass(frozen=True, slots=True)
class Peers:
    """Benchmarks as peers of targets.

    Attributes:
        own: By benchmark, the number of the target that it is; -1 where it is none.
        kin: Shape benchmarks × targets: whether the two are one model, itself included.
        twins: Shape targets × targets: the same of two targets.
    """

    own: tuple[int, ...]
    kin: Mask
    twins: Mask

    @property
    def chosen(self) -> list[int]:
        """The targets that are benchmarks too, in the order of the benchmarks."""
        return [place for place in self.own if place >= 0]

    def counted(self, kind: Kind, agent: int) -> Floats:
        """Whether a benchmark counts as peer on a target's rival (shape: benchmarks × targets)."""
        whose, rival = np.array(self.own)[:, None], np.arange(self.kin.shape[1])
        peers = (whose != agent) & (rival != agent)
        if kind == "third":
            peers &= ~self.kin[:, [agent]] & ~self.kin
            if not bool(peers[:, ~self.twins[agent]].any()):
                peers[:] = False  # what twins make of each other is no preference for oneself
        return np.asarray(peers, dtype=np.float64)

    def related(self) -> Mask:
        """Who wrote neither of two answers and is no third party on them all the same.

        Because it is one model with an author of theirs, or because the row's target has no third
        party on any rival of another model.

        Returns:
            Shape benchmarks × targets × targets, the last two being a target and its rival.
        """
        places = np.arange(self.kin.shape[1])
        third = [self.counted("third", agent) > 0 for agent in places.tolist()]
        own = np.array(self.own, dtype=np.int64)[:, None, None]
        apart = (own != places[:, None]) & (own != places)
        held = np.stack(third, axis=1) if third else np.zeros(apart.shape, dtype=np.bool_)
        return np.asarray(apart & ~held & (places[:, None] != places), dtype=np.bool_)

    def third_parties(self, agent: int) -> int:
        """How many benchmarks are third parties to a target on any of its rivals."""
        return int(self.counted("third", agent).any(axis=1).sum())

    def used(self, kind: Kind, agent: int) -> Mask:
        """Which benchmarks count for anything, as the model itself or as its peers."""
        weights = self.weights(kind, agent)
        return np.asarray((weights.reshape(len(self.own), -1) != 0).any(axis=1), dtype=np.bool_)

    def weights(self, kind: Kind, agent: int) -> Floats:
        """By how much an author's mean counts: of ranks by author, else by author and rival.

        Rivals without a third party are taken to be like those that have one.
        """
        mine, targets = self.own.index(agent), self.kin.shape[1]
        if kind == "rank":
            weights = np.full(len(self.own), -1.0 / max(len(self.own) - 1, 1))
            weights[mine] = 1.0
            return weights
        peers = self.counted(kind, agent)
        met = peers.sum(axis=0) > 0
        weights = -peers / np.maximum(peers.sum(axis=0), 1)
        weights[mine] = met
        return np.asarray(weights * (targets - 1) / max(int(met.sum()), 1), dtype=np.float64)


def peers_of(
    targets: Sequence[str], benchmarks: Sequence[str], same: Sequence[Collection[str]] = ()
) -> Peers:
    """Work out who is whose peer.

    Args:
        targets: Names.
        benchmarks: Names.
        same: Groups of names that are one model each; no name is in two of them.
    """
    model = {name: at for at, group in enumerate(same) for name in group}

    def one_model(rows: Sequence[str]) -> Mask:
        cells = [
            [a == b or (a in model and model[a] == model.get(b)) for b in targets] for a in rows
        ]
        return np.array(cells, dtype=np.bool_).reshape(len(rows), len(targets))

    own: list[int] = agent_of_judge(tuple(targets), tuple(benchmarks)).tolist()
    return Peers(tuple(own), one_model(benchmarks), one_model(targets))
