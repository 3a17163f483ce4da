"""How far people agree on the first mistake of a trace (BIG-Bench Mistake, §2.2, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.standings.as_json import estimate_json
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.nominal_agreement import MISSING, nominal_alpha
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.tables import Ints
from peerexam.stats.mistakes.location import NO_MISTAKE
from peerexam.tasks.mistakes.location_votes import LocationVotes
from peerexam.tasks.mistakes.traces import Trace, by_task


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Agreement on the traces of one task.

    Attributes:
        task: Which.
        alpha: Krippendorff's α of the places, as labels without an order.
        majority: Share of traces whose label is that of more than half of the votes, of those with
            such a majority; the others are left out.
    """

    task: str
    alpha: Estimate
    majority: Estimate

    def to_json(self) -> dict[str, Json]:
        """As plain JSON."""
        return {
            "task": self.task,
            "alpha": estimate_json(self.alpha),
            "majority_is_label": estimate_json(self.majority),
        }


def annotator_agreement(
    traces: Sequence[Trace], votes: LocationVotes, *, seed: int = 0
) -> list[AnnotatorAgreement]:
    """Agreement by task, over the traces that anybody voted on.

    Args:
        traces: Of the data set.
        votes: On some of them.
        seed: Of the intervals.
    """
    found = []
    for place, (task, of) in enumerate(by_task(traces).items()):
        voted = [trace for trace in of if trace.id in votes.votes]
        if voted:
            rng = np.random.default_rng([seed, place])
            alpha = nominal_alpha(_labels(voted, votes), rng=rng)
            found.append(AnnotatorAgreement(task, alpha, _majority(voted, votes)))
    return found


def _labels(traces: Sequence[Trace], votes: LocationVotes) -> Ints:
    labels = np.full((len(traces), len(votes.annotators)), MISSING, dtype=np.int64)
    column = {name: at for at, name in enumerate(votes.annotators)}
    for row, trace in enumerate(traces):
        for name, place in votes.votes[trace.id].items():
            labels[row, column[name]] = NO_MISTAKE if place is None else place
    return labels


def _majority(traces: Sequence[Trace], votes: LocationVotes) -> Estimate:
    decided = [(trace, votes.majority(trace.id)) for trace in traces]
    same = [one == (trace.mistake_index,) for trace, one in decided if one is not None]
    n, left_out = len(same), len(traces) - len(same)
    ends = wilson(sum(same), n)
    if ends is None:
        return Estimate(None, left_out=left_out, method="share; Wilson", reason="no majority")
    return Estimate(sum(same) / n, *ends, n=n, left_out=left_out, method="share; Wilson")
