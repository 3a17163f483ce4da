"""Running totals for each agent, so that nobody has to read a million calls to know them."""

from __future__ import annotations

from collections.abc import Iterable

Counted = tuple[int, int | None, int | None, float | None]
"""One call: the agent's number, prompt tokens, completion tokens, US dollars."""

Tally = tuple[int, int, int, int, float, int]
"""Agent's number, calls, prompt tokens, completion tokens, US dollars, calls with a known cost."""


def tallies_of(calls: Iterable[Counted]) -> list[Tally]:
    """What calls add up to, by agent, in the order of the agents' numbers.

    >>> tallies_of([(2, 5, 1, 0.5), (1, 3, None, None), (2, 5, 1, None)])
    [(1, 1, 3, 0, 0.0, 0), (2, 2, 10, 2, 0.5, 1)]
    """
    sums: dict[int, list[float]] = {}
    for agent, prompt, completion, cost in calls:
        held = sums.get(agent)
        if held is None:
            held = sums[agent] = [0, 0, 0, 0.0, 0]
        held[0] += 1
        held[1] += prompt or 0
        held[2] += completion or 0
        if cost is not None:
            held[3] += cost
            held[4] += 1
    return [
        (agent, int(held[0]), int(held[1]), int(held[2]), held[3], int(held[4]))
        for agent, held in sorted(sums.items())
    ]
