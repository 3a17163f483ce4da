"""What the agents of an exam cost, before any of them is built."""

from __future__ import annotations

from collections.abc import Mapping

from peerexam.agents.pricing.priced import FREE, FlatPrice
from peerexam.agents.pricing.prices import Quote, price_of
from peerexam.calls import Json
from peerexam.protocols.config.checks import PLAYS_DIRECTLY, agent_spec
from peerexam.protocols.config.models import AgentConfig, ExamConfig

HANDED_OVER = ("function", "scripted")
"""Providers, by fingerprint, of agents that no model name builds."""


def own_price(agent: AgentConfig) -> FlatPrice | None:
    """The price that the exam itself sets for an agent."""
    price = agent.price
    return None if price is None else FlatPrice(price.input, price.output, price.cached_input)


def quote_for(agent: AgentConfig) -> Quote | None:
    """What an agent costs and who says so; None is unknown.

    Raises:
        SetupError: The model's name cannot be read.
    """
    spec = agent_spec(agent)
    if spec.provider == PLAYS_DIRECTLY and agent.price is None:
        return Quote(FREE, "runs here")
    return price_of(spec, own_price(agent))


def quotes(config: ExamConfig) -> dict[str, Quote | None]:
    """Every agent's price, by its name.

    Raises:
        SetupError: A model's name cannot be read.
    """
    return {agent.name: quote_for(agent) for agent in config.agents}


def price_held(agent: AgentConfig, fingerprint: Mapping[str, Json]) -> Json:
    """An agent's price as the manifest has it; None is unknown.

    Args:
        agent: As the exam names it.
        fingerprint: Of the one that spoke for it. One that a program handed over has a price only
            where the exam sets it, whatever model stands there.
    """
    provider = agent_spec(agent).provider
    handed_over = fingerprint.get("provider", provider) in HANDED_OVER
    quote = None if handed_over and agent.price is None else quote_for(agent)
    return None if quote is None else quote.to_json()


def price_text(quote: Quote) -> str:
    """A price in words, with who says so.

    >>> price_text(Quote(FlatPrice(0.15, 0.6, cached_input=0.075), "config"))
    '$0.15 in, $0.6 out, $0.075 cached in, a million tokens (the exam says so)'
    """
    rate = quote.tariff.rate()
    parts = [f"${rate.input:g} in", f"${rate.output:g} out"]
    if rate.cached_input is not None:
        parts.append(f"${rate.cached_input:g} cached in")
    parts.append("a million tokens")
    if rate.request:
        parts.append(f"and ${rate.request:g} a call")
    return f"{', '.join(parts)} ({_said_by(quote)})"


def _said_by(quote: Quote) -> str:
    if quote.source == "list":
        return f"{quote.price_list}: {quote.listed_as}"
    return {"config": "the exam says so", "runs here": "it runs here"}[quote.source]
