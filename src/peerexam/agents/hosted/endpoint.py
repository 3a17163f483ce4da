"""What all providers behind a URL have in common: the endpoint, the key, and options without one.

The key comes from an environment variable, goes into a request's headers, and nowhere else; and
only to an endpoint that it is for.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from peerexam.agents.hosted.transport.base import Client
from peerexam.agents.redaction import is_secret
from peerexam.agents.spec import AgentSpec, endpoint_problem
from peerexam.calls import Json
from peerexam.errors import MissingKeyError, SetupError
from peerexam.printable import log

_VERSION = re.compile(r"v\d+(?:[.-]\d+)*|\d{4}-\d\d-\d\d(?:-[a-z]+)?")
_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")
_CLIENTS = get_args(Client)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Home:
    """Where a provider's own key may go without being asked.

    Attributes:
        key_variable: The variable that holds the key by default.
        url_variables: Those that name another endpoint, the first that is set.
        host: The provider's host; those below it (`eu.…`) are its too.
    """

    key_variable: str
    url_variables: tuple[str, ...]
    host: str


@dataclass(frozen=True, slots=True)
class Key:
    """An agent's key.

    Attributes:
        value: Empty where none is sent.
        unsent: What is said where the endpoint gets none though the default variable holds one;
            beside an error about the key, too. Empty where there is nothing to say.
    """

    value: str
    unsent: str = ""


_from_file: dict[str, str] = {}
"""Variables that a `.env` file has set, and not the environment, each with its value."""


def set_by_file(variables: Mapping[str, str]) -> None:
    """Remember which variables come from a `.env` file.

    A key and an endpoint belong together only where they come from one place: a `.env` that lies
    about in a folder must not send the environment's key elsewhere.
    """
    _from_file.update(variables)


def in_one_place(*names: str) -> bool:
    """Whether variables all come from the environment, or all from a `.env` file."""
    return len({_is_from_file(name) for name in names}) == 1


def _is_from_file(name: str) -> bool:
    return name in _from_file and os.environ.get(name) == _from_file[name]


def key_of(spec: AgentSpec, home: Home, url: str) -> Key:
    """The agent's key for an endpoint.

    The variable that the spec names goes to any endpoint. The provider's own goes to the provider's
    host, and to the endpoint that the provider's URL variable names in the same place (both in the
    environment, or both in `.env`); any other gets none, and a warning says so.

    Args:
        spec: The agent.
        home: The provider's.
        url: The endpoint.

    Raises:
        MissingKeyError: The variable is not set and the endpoint does not do without, or it holds
            what no key can be.
        SetupError: A key would go to another machine over plain HTTP.
    """
    if spec.api_key_env is not None or _is_at_home(home, url):
        key = _in_variable(spec, spec.api_key_env or home.key_variable)
        if not key and (spec.api_key_env is not None or _is_host(home, url)):
            raise MissingKeyError(
                f"agent '{spec.name}' needs a key: set the environment variable "
                f"{spec.api_key_env or home.key_variable}, or name another one with api_key_env"
            )
        check_plain_http(spec, key, url)
        return Key(key)
    check_plain_http(spec, "", url)
    if not os.environ.get(home.key_variable, "").strip():
        return Key("")
    unsent = (
        f"no key is sent to {endpoint_of(url)}: {home.key_variable} is for {home.host} or the "
        f"endpoint of {home.url_variables[0]} set beside it; for another one, name the key's "
        f"variable (api_key_env: {home.key_variable})"
    )
    log.warning("agent '%s': %s", spec.name, unsent)
    return Key("", unsent)


def check_plain_http(spec: AgentSpec, key: str, url: str) -> None:
    """Refuse to send a key, a login or a token to another machine where anyone can read it.

    Raises:
        SetupError: It would be sent over plain HTTP, and `allow_plain_http` is not set.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or is_this_machine(parts.hostname or ""):
        return
    if not secrets_of(key, url) or spec.options.get("allow_plain_http") is True:
        return
    raise SetupError(
        f"agent '{spec.name}': its key would go to {endpoint_of(url)} over plain HTTP, where "
        "anyone on the way can read it: use https://, or set the option allow_plain_http: true"
    )


def is_this_machine(host: str) -> bool:
    """Whether what is sent to a host stays on this machine.

    >>> [is_this_machine(h) for h in ("localhost", "127.0.0.9", "::1", "10.0.0.1", "my-server")]
    [True, True, True, False, False]
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_variable(spec: AgentSpec, variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise MissingKeyError(f"{variable} holds characters that no key has: set it again")
    return key


def _is_host(home: Home, url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == home.host or host.endswith(f".{home.host}"))


def _is_at_home(home: Home, url: str) -> bool:
    """Whether the provider's own variable may go to an endpoint."""
    if _is_host(home, url):
        return True
    variable = _named_by(home)
    if variable is None or not in_one_place(variable, home.key_variable):
        return False
    return _origin(os.environ[variable]) == _origin(url)


def named_url(home: Home) -> str | None:
    """The endpoint that the environment names, None where it names none."""
    variable = _named_by(home)
    return None if variable is None else os.environ[variable]


def _named_by(home: Home) -> str | None:
    return next((name for name in home.url_variables if os.environ.get(name)), None)


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return parts.scheme, parts.hostname or "", port


def checked_url(spec: AgentSpec, url: str) -> str:
    """The endpoint, if it can be one.

    Raises:
        SetupError: It is no URL. The message does not repeat it: it may hold a password.
    """
    problem = endpoint_problem(url)
    if problem is not None:
        raise SetupError(
            f"the endpoint of '{spec.name}' is no URL: {problem}; write it as in "
            "http://127.0.0.1:8000/v1"
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
    """Every text that must be redacted from what a server says, the longest first.

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
    if not isinstance(options.get("allow_plain_http", False), bool):
        raise SetupError("allow_plain_http is true or false")
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
