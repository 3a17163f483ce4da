"""Which price holds for an agent: the exam's own, a kept price list's, or none that is known.

The list is the package `genai-prices`, as it is installed: nothing is fetched. Where it is absent,
or does not know the model, the price is unknown, which is never the same as 0.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from peerexam.agents.pricing.priced import FREE, FlatPrice, Tariff
from peerexam.agents.registry import installed_providers, runs_here
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json

Source = Literal["config", "list", "runs here"]
"""Who says what an agent costs; what a provider tells with its replies wins over all of them."""

_URL_VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
}
"""What moves a hosted provider's endpoint when the spec names none, LangChain's names as well."""

_URL_OPTIONS = ("base_url", "openai_api_base", "anthropic_api_url", "azure_endpoint", "endpoint")
"""Options by which LangChain's integrations name an endpoint."""

_LISTED_AS = {
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "xai": "x-ai",
}
"""LangChain's names of providers that the list has under another name."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What an agent costs, and who says so.

    Attributes:
        tariff: The price.
        source: Who says so.
        price_list: Name and version of the list, where the price is from one.
        listed_as: Provider and model as the list has them.
    """

    tariff: Tariff
    source: Source
    price_list: str | None = None
    listed_as: str | None = None

    def to_json(self) -> dict[str, Json]:
        """As plain JSON: the price of a short prompt today, and where it is from."""
        rate = self.tariff.rate()
        body: dict[str, Json] = {"input": rate.input, "output": rate.output}
        if rate.cached_input is not None:
            body["cached_input"] = rate.cached_input
        if rate.request:
            body["request"] = rate.request
        body["source"] = self.source
        if self.price_list is not None:
            body |= {"price_list": self.price_list, "listed_as": self.listed_as}
        return body


def price_of(spec: AgentSpec, configured: FlatPrice | None = None) -> Quote | None:
    """The price of an agent.

    Args:
        spec: The agent. Its endpoint decides who is paid: one that is nobody's in the list (a
            server of one's own, a proxy) has no known price, whatever the model is called.
        configured: The exam's own price, which wins over the list.

    Returns:
        None where the price is unknown.
    """
    if configured is not None:
        return Quote(configured, "config")
    if runs_here(spec.provider):
        return Quote(FREE, "runs here")
    provider, model = _provider_and_model(spec)
    url = _endpoint(spec, provider)
    if url is not None and _is_private(url):
        return None  # known without loading the list, which takes a third of a second
    if url is None and _is_registered(spec.provider):
        return None  # a program's own provider may be anything, whatever it is called
    return _listed(provider, model, url)


def _provider_and_model(spec: AgentSpec) -> tuple[str, str]:
    if spec.provider != "langchain":
        return spec.provider, spec.model
    provider, _, model = spec.model.partition(":")
    if spec.options.get("model_provider"):
        provider, model = str(spec.options["model_provider"]), spec.model
    return _LISTED_AS.get(provider, provider), model


def _endpoint(spec: AgentSpec, provider: str) -> str | None:
    options = [spec.options.get(name) for name in _URL_OPTIONS]
    variables = [os.environ.get(name) for name in _URL_VARIABLES.get(provider, ())]
    urls = [spec.base_url, *options, *variables]
    return next((str(url) for url in urls if url), None)


def _is_private(url: str) -> bool:
    """Whether a URL leads to this machine or the network around it."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host


def _is_registered(provider: str) -> bool:
    infos = installed_providers()
    return any(info.name == provider and info.source == "registered" for info in infos)


def _listed(provider: str, model: str, url: str | None) -> Quote | None:
    try:
        from peerexam.agents.pricing import price_list
    except ModuleNotFoundError as error:
        if error.name != "genai_prices":
            raise
        return None
    found = price_list.look_up(provider, model, url)
    if found is None:
        return None
    return Quote(found, "list", price_list.NAME, found.listed_as)
