"""What all providers behind a URL have in common: the endpoint, the key, and options without one.

The key comes from an environment variable, goes into a request's headers, and nowhere else.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, get_args
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from peerexam.agents.blotting import is_secret
from peerexam.agents.spec import AgentSpec
from peerexam.agents.wire import Client
from peerexam.calls import Json
from peerexam.errors import MissingKeyError, SetupError

_VERSION = re.compile(r"v\d+(?:[.-]\d+)*|\d{4}-\d\d-\d\d(?:-[a-z]+)?")
_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")
_CLIENTS = get_args(Client)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def key_of(spec: AgentSpec, default_variable: str, *, optional: bool) -> str:
    """The agent's key, from the variable that its spec names or the provider's own.

    Args:
        spec: The agent.
        default_variable: The provider's variable.
        optional: Whether the endpoint may do without; a variable that the spec names is always
            needed.

    Returns:
        The key, empty where there is none and none is needed.

    Raises:
        MissingKeyError: The variable is not set, or holds what no key can be.
    """
    variable = spec.api_key_env or default_variable
    key = os.environ.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise MissingKeyError(f"{variable} holds characters that no key has: set it again")
    if key or (optional and spec.api_key_env is None):
        return key
    raise MissingKeyError(
        f"agent '{spec.name}' needs a key: set the environment variable {variable}, or name "
        "another one with api_key_env"
    )


def checked_url(spec: AgentSpec, url: str) -> str:
    """The endpoint, if it can be one.

    Raises:
        SetupError: It is no URL. The message does not repeat it: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018  # raises for a port that is none
    except ValueError:
        usable = False
    if not usable:
        raise SetupError(
            f"agent '{spec.name}': the endpoint must be a URL as in http://127.0.0.1:8000/v1"
        )
    return url


def without_login(url: str) -> tuple[str, dict[str, str]]:
    """The URL without `user:password@`, and the header that says the same.

    >>> without_login("http://me:pass@127.0.0.1/v1")
    ('http://127.0.0.1/v1', {'Authorization': 'Basic bWU6cGFzcw=='})
    >>> without_login("http://127.0.0.1/v1")
    ('http://127.0.0.1/v1', {})
    """
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    basic = base64.b64encode(unquote(login).encode("utf-8")).decode("ascii")
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {basic}"}


def secrets_of(key: str, url: str) -> tuple[str, ...]:
    """Every text that must be blotted out of what a server says, the longest first.

    They are the key, the URL's login, and values of its query, as far as they can be secrets:
    see `is_secret`. A version such as `2024-10-21` is none.

    >>> secrets_of("sk-12345678", "http://me:pass1word@127.0.0.1/v1?token=0123456789&v=2024-10-21")
    ('bWU6cGFzczF3b3Jk', 'me:pass1word', 'sk-12345678', '0123456789', 'pass1word')
    """
    parts = urlsplit(url)
    login = unquote(parts.netloc.rpartition("@")[0])
    password = login.partition(":")[2]
    header = without_login(url)[1].get("Authorization", "").removeprefix("Basic ")
    queried = {value for _, value in parse_qsl(parts.query) if not _VERSION.fullmatch(value)}
    found = {text for text in (key, login, password, header, *queried) if is_secret(text)}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def endpoint_of(url: str) -> str:
    """The endpoint as a fingerprint has it: no login and no query, which may be secrets."""
    parts = urlsplit(without_login(url)[0])
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def address(url: str, path: str) -> str:
    """The URL of one of an endpoint's calls; the endpoint's own query is kept.

    >>> address("https://host/v1/?api-version=2", "/chat/completions")
    'https://host/v1/chat/completions?api-version=2'
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, fragment=""))


def check_options(
    provider: str, options: Mapping[str, Json], known: Collection[str], key: str
) -> None:
    """Refuse options that the provider does not have, or that cannot be used.

    Raises:
        SetupError: An option is unknown, is of the wrong kind, or holds a key.
    """
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise SetupError(
            f"provider {provider} has no option '{unknown[0]}'; it has {', '.join(known)}. Fields "
            "for the server go into extra_body"
        )
    if options.get("client", "lean") not in _CLIENTS:
        raise SetupError(f"provider {provider}: client is {' or '.join(_CLIENTS)}")
    timeout = options.get("timeout")
    if timeout is not None and not (_is_number(timeout) and timeout > 0):
        raise SetupError("timeout is a number of seconds, more than 0")
    for name in ("extra_body", "headers"):
        if not isinstance(options.get(name) or {}, dict):
            raise SetupError(f"{name} is a mapping of names to values")
    _check_headers({**(options.get("headers") or {}), "organization": options.get("organization")})
    _check_secrets(options, key)


def _check_headers(headers: Mapping[str, Json]) -> None:
    """A line break would begin another header; clients refuse it, but only with the first call."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(str(name)) or _CONTROL.search(str(value)):
            raise SetupError(
                f"header {str(name)!r} cannot be sent: names are letters, digits and dashes, and "
                "values have no line break or other control character"
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_secrets(options: Mapping[str, Json], key: str) -> None:
    """Options are written to the run's folder, so a key in them is refused."""
    for header in options.get("headers") or {}:
        if any(word in str(header).lower() for word in _SECRET_HEADERS):
            raise SetupError(
                f"header '{header}' may hold a secret, and options are written to disk: name the "
                "key's environment variable with api_key_env instead"
            )
    if is_secret(key) and key in json.dumps(options, ensure_ascii=False, default=str):
        raise SetupError(
            "the options hold the key itself, and options are written to disk: take it out of "
            "them, and name the variable that holds it with api_key_env"
        )
