"""Prices from the package `genai-prices`, whose own data are used as they are installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
from genai_prices.types import ModelInfo, ModelPrice, PriceCalculation, TieredPrices

from peerexam.agents.pricing.priced import FlatPrice
from peerexam.calls import Usage

NAME = f"genai-prices {genai_prices.__version__}"
"""The list and its version."""

Clock = Callable[[], datetime]


class ListPrice:
    """A model's tariff in the list: by prompt length and by date where it has such prices.

    It is the standard tariff: no batch, priority or regional one, and what a provider asks for
    writing to its cache, for searches or for pictures is not in it.

    Args:
        model: The model as the list has it.
        listed_as: Provider and model.
        clock: Says what time it is.
    """

    def __init__(self, model: ModelInfo, listed_as: str, clock: Clock | None = None) -> None:
        self.listed_as = listed_as
        self._model = model
        self._clock = clock or _now
        self._steps: tuple[ModelPrice, list[tuple[int, FlatPrice]]] | None = None

    def __repr__(self) -> str:
        return f"ListPrice({self.listed_as!r})"

    def rate(self, prompt_tokens: int = 0) -> FlatPrice:
        """The price of a call with so many prompt tokens, made now."""
        prices = self._model.get_prices(self._clock())
        if self._steps is None or self._steps[0] is not prices:
            self._steps = (prices, _steps(prices))
        reached = [price for start, price in self._steps[1] if prompt_tokens > start]
        return reached[-1]

    def of(self, usage: Usage) -> float | None:
        """US dollars of one call; None where the provider does not say how many tokens it was."""
        return self.rate(usage.prompt_tokens or 0).of(usage)


def look_up(
    provider: str, model: str, url: str | None = None, clock: Clock | None = None
) -> ListPrice | None:
    """Find a model in the list.

    Args:
        provider: Its provider's identifier in the list.
        model: As it is named in requests.
        url: The endpoint; where given, it says who the provider is.
        clock: Says what time it is.

    Returns:
        None where the list has no such provider or model, or no price for its tokens.
    """
    found = _find(provider, model, url)
    # Models without a price are in the list too, and it would charge nothing for them.
    if found is None or not _is_complete(found.model.get_prices((clock or _now)())):
        return None
    return ListPrice(found.model, f"{found.provider.id}/{found.model.id}", clock)


def _find(provider: str, model: str, url: str | None) -> PriceCalculation | None:
    usage = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        if url is not None:
            found = genai_prices.calc_price(usage, model, provider_api_url=url)
            return found if _is_host_of(found.provider.api_pattern, url) else None
        found = genai_prices.calc_price(usage, model, provider_id=provider)
    except LookupError:
        return None
    # The list also takes a provider whose name merely contains or resembles this one.
    return found if found.provider.id == provider else None


def _is_host_of(pattern: str, url: str) -> bool:
    """Whether a pattern of the list ends where a part of the URL does.

    The list itself would take `https://api.openai.com.example.org` for OpenAI.
    """
    match = re.match(pattern, url)
    if match is None:
        return False
    rest = url[match.end() :]
    return not rest or rest[0] in "/:?#" or match.group().endswith(("/", "."))


def _is_complete(prices: ModelPrice) -> bool:
    return prices.input_mtok is not None and prices.output_mtok is not None


def _steps(prices: ModelPrice) -> list[tuple[int, FlatPrice]]:
    """What a call costs from more than so many prompt tokens on; all of its tokens cost that."""
    parts = (
        prices.input_mtok,
        prices.output_mtok,
        prices.cache_read_mtok,
        prices.requests_kcount,
    )
    tiers = [tier.start for part in parts if isinstance(part, TieredPrices) for tier in part.tiers]
    return [(start, _price(parts, start)) for start in (-1, *sorted(set(tiers)))]


def _price(parts: Sequence[Decimal | TieredPrices | None], start: int) -> FlatPrice:
    prompt, reply, cached, requests = (None if p is None else _beyond(p, start) for p in parts)
    return FlatPrice(prompt or 0.0, reply or 0.0, cached, (requests or 0.0) / 1000)


def _beyond(price: Decimal | TieredPrices, start: int) -> float:
    if isinstance(price, Decimal):
        return float(price)
    reached = [tier.price for tier in price.tiers if start >= tier.start]
    return float(reached[-1] if reached else price.base)


def _now() -> datetime:
    return datetime.now(UTC)
