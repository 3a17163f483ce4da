"""Who may speak as a third party on an agent's answers: no agent of the same model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.calls import Json
from peerexam.stats.core.tables import Comparisons
from peerexam.stats.pairs.peers import peers_of


@dataclass(frozen=True, slots=True)
class ThirdParties:
    """The judges that an agent's third-party estimate may rest on.

    Attributes:
        count: How many there are, on any of the agent's rivals.
        left_out: Judges that are another agent of the same model.
    """

    count: int
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """As it stands in `standings.json`."""
        return {"count": self.count, "left_out": list(self.left_out)}


def third_parties(c: Comparisons, same: Sequence[Collection[str]]) -> dict[str, ThirdParties]:
    """By agent, who may be a third party.

    Args:
        c: Verdicts; a judge counts of which at least one could be read.
        same: Groups of names that are one model each; no name is in two of them.
    """
    number = np.bincount(c.judge[~np.isnan(c.points)], minlength=len(c.judges))
    heard = [name for name, verdicts in zip(c.judges, number, strict=True) if verdicts]
    peers = peers_of(c.agents, heard, same)
    model = {name: set(group) for group in same for name in group}
    return {
        name: ThirdParties(
            peers.third_parties(place),
            tuple(one for one in heard if one != name and one in model.get(name, ())),
        )
        for place, name in enumerate(c.agents)
    }
