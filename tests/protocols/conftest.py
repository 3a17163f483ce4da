"""Planting a value in a protocol many times over, and counting how often it is recovered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import blake2b

import pytest
from scipy.stats import binom

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.studies.base import study_config
from peerexam.protocols.studies.result import Measure

Key = tuple[str, str, str]
"""A measure's name, task and condition; an agent's name is the draw's."""

Chance = Callable[..., float]


def _chance(*what: object) -> float:
    digest = blake2b("\0".join(map(str, what)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class Rates:
    """How often the intervals of measures hold the truth.

    Args:
        truths: Expectations of the measures that are looked at.
    """

    def __init__(self, truths: Mapping[Key, float]) -> None:
        self.truths = truths
        self.held: Counter[Key] = Counter()
        self.tried: Counter[Key] = Counter()

    def see(self, measures: Iterable[Measure]) -> None:
        """Count the intervals of one result."""
        for one in measures:
            key = (one.name, one.task, one.condition)
            if key in self.truths:
                self.count(key, one.estimate.low, one.estimate.high)

    def count(self, key: Key, low: float | None, high: float | None) -> None:
        """Count one interval."""
        assert low is not None
        assert high is not None
        self.tried[key] += 1
        self.held[key] += low <= self.truths[key] <= high

    def are_nominal(self, draws: int) -> None:
        """Hold all to the region that holds 99.9 % of a binomial count of intervals at 95 %.

        Args:
            draws: How many intervals of each measure there must be.
        """
        assert self.tried == dict.fromkeys(self.truths, draws)
        fewest, most = binom.interval(0.999, draws, 0.95)
        beyond = {key: one for key, one in self.held.items() if not fewest <= one <= most}
        assert not beyond, f"of {draws}, {fewest:g} to {most:g} would be nominal"


class Planting:
    """What every test of planted values needs."""

    rates = Rates

    @staticmethod
    def chance(*of: object) -> Chance:
        """Chances of one draw: numbers from 0 to 1 that hang on what is named, and on it alone."""
        return partial(_chance, *of)

    def agents(
        self, draws: int, reply: Callable[[Chance, Request], str]
    ) -> dict[str, ScriptedAgent]:
        """So many agents, each with chances of its own."""

        def one(name: str) -> ScriptedAgent:
            chance = self.chance(name)
            return ScriptedAgent(lambda request: reply(chance, request), name)

        return {name: one(name) for name in (f"s{at}" for at in range(draws))}

    @staticmethod
    def config(names: Iterable[str]) -> ExamConfig:
        """Settings of a study of these agents."""
        agents = [AgentConfig(name=one, model="file/none.jsonl") for one in names]
        return study_config(agents, "planted")


@pytest.fixture
def planting() -> Planting:
    """See `Planting`."""
    return Planting()
