"""A chat model made ready for one event loop: it asks once, remembers nothing, and can be closed.

LangChain's integrations retry by themselves (our `Retrying` layer does that, once, and honours
what the provider asks for), may answer from a global cache (our ledger does that, and knows that
two draws are two), and share one HTTP client over all objects and event loops. So a copy is asked,
and the object that was handed over stays as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel

from peerexam.agents.hosted.transport.sdk import http_client

_MOST_CLIENTS = 4  # an integration has one asynchronous client, and the resource that it hands out


@dataclass(slots=True)
class OpenModel:
    """A chat model that is ready to be asked, and the HTTP clients made for it."""

    model: BaseChatModel
    http_clients: list[Any] = field(default_factory=list)

    async def close(self) -> None:
        """Close the connections that are its own. More than once does no harm."""
        while self.http_clients:
            await self.http_clients.pop().aclose()


def open_model(model: BaseChatModel) -> OpenModel:
    """A copy without retries and cache, with connections of its own.

    Where the integration rests on an SDK that can be told so (those of OpenAI, Anthropic, Groq and
    others who generate theirs alike), its asynchronous client is replaced by one without retries;
    it gets an HTTP client of its own unless the user has set one, or a proxy. Other integrations
    read `max_retries` from the field.
    """
    updates: dict[str, Any] = {"cache": False}
    if "max_retries" in type(model).model_fields:
        updates["max_retries"] = 0
    opened = OpenModel(model.model_copy(update=updates))
    own = not _has_http_of_its_own(model)
    for name in _cached_clients(type(model)):
        getattr(opened.model, name)  # made now, so that it can be replaced below
    replaced: dict[int, Any] = {}
    for name, value in list(vars(opened.model).items()):
        client = value if _is_async_client(value) else getattr(value, "_client", None)
        if not _is_async_client(client):
            continue
        if id(client) not in replaced:
            replaced[id(client)] = _without_retries(client, opened, own)
        quiet = replaced[id(client)]
        # A resource such as `client.chat.completions` holds its client.
        vars(opened.model)[name] = quiet if value is client else type(value)(quiet)
    return opened


def _without_retries(client: Any, opened: OpenModel, own: bool) -> Any:
    package = sys.modules.get(type(client).__module__.partition(".")[0])
    if not own or not hasattr(package, "DefaultAsyncHttpxClient"):
        return client.with_options(max_retries=0)
    made = http_client(package)
    opened.http_clients.append(made)
    return client.with_options(max_retries=0, http_client=made)


def _is_async_client(value: Any) -> bool:
    return (
        callable(getattr(value, "with_options", None))
        and isinstance(getattr(value, "max_retries", None), int)
        and inspect.iscoroutinefunction(getattr(value, "close", None))
    )


def _cached_clients(kind: type[BaseChatModel]) -> list[str]:
    """Clients that the class makes when they are first used."""
    return [
        name
        for part in kind.__mro__
        for name, value in vars(part).items()
        if isinstance(value, functools.cached_property) and name.endswith("async_client")
    ][:_MOST_CLIENTS]


def _has_http_of_its_own(model: BaseChatModel) -> bool:
    names = [
        name for name in type(model).model_fields if name.startswith("http_") or "proxy" in name
    ]
    return any(getattr(model, name, None) for name in names)
