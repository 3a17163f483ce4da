"""Which examinees are one model asked without examples and with five."""

from __future__ import annotations

from peerexam.agents.spec import parse_model
from peerexam.protocols.config.checks import PLAYS_DIRECTLY, identity
from peerexam.protocols.config.models import AgentConfig, ExamConfig


def few_shot_pairs(config: ExamConfig) -> tuple[tuple[str, str], ...]:
    """Examinees with `shots: 0`, each with the one with `shots: 5` that is otherwise the same.

    The two belong together where one is the other's `variant_of`, where both are variants of the
    same agent, or else where model and settings are the same.
    """
    examinees = config.agents_in("examinee")
    pairs: list[tuple[str, str]] = []
    for zero in (agent for agent in examinees if agent.shots == 0):
        fives = [agent for agent in examinees if agent.shots == 5]
        related = [five for five in fives if _is_variant(zero, five)]
        same = [five for five in fives if _is_same_model(zero, five)]
        found = next(iter(related or same), None)
        if found is not None:
            pairs.append((zero.name, found.name))
    return tuple(pairs)


def _is_variant(one: AgentConfig, other: AgentConfig) -> bool:
    if one.variant_of is not None and one.variant_of == other.variant_of:
        return True
    return one.variant_of == other.name or other.variant_of == one.name


def _is_same_model(one: AgentConfig, other: AgentConfig) -> bool:
    """Simulated participants differ by name, and only `variant_of` can say that two are one."""
    if PLAYS_DIRECTLY in (parse_model(one.model)[0], parse_model(other.model)[0]):
        return False
    return identity(one) == identity(other)
