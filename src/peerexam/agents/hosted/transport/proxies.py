"""The proxy that the environment names for a URL, as HTTP clients commonly read it."""

from __future__ import annotations

import ipaddress
import os
import sys
from urllib.parse import SplitResult, urlsplit

from peerexam.errors import SetupError


def proxy_for(url: str) -> str | None:
    """The proxy for a URL, None where it is to be reached directly.

    `http_proxy`, `https_proxy` and `all_proxy` are read, and `no_proxy` with hosts, `host:port`,
    domains, networks (`10.0.0.0/8`) and `*`; in capitals too.

    Raises:
        SetupError: What is named is no HTTP proxy. The message does not repeat it: it may hold a
            password.
    """
    parts = urlsplit(url)
    if not parts.hostname or _names_none():
        return None
    import urllib.request  # an HTTP client of its own, 5 MB, which most runs never need

    if _is_exempt(parts):
        return None
    proxies = urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named:
        return None
    proxy = named if "://" in named else f"http://{named}"
    if not _is_usable(proxy):
        raise SetupError(
            f"the proxy that the environment names for {parts.scheme} cannot be used: write "
            f"{parts.scheme}_proxy as in http://host:3128 (there is no SOCKS here), or set "
            f"no_proxy={parts.hostname}"
        )
    return proxy


def _names_none() -> bool:
    """Whether there is certainly no proxy. Two systems have settings of their own for them."""
    if sys.platform in ("darwin", "win32"):
        return False
    return not any(name.lower().endswith("_proxy") for name in os.environ)


def _is_usable(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        parts.port  # noqa: B018  # raises for a port that is none
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_exempt(parts: SplitResult) -> bool:
    import urllib.request

    host = parts.hostname or ""
    named = (host, parts.netloc.rpartition("@")[2])
    if any(urllib.request.proxy_bypass(name) for name in named):
        return True
    exempt = urllib.request.getproxies().get("no", "")
    return any(_is_in(host, network.strip()) for network in exempt.split(","))


def _is_in(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False  # a name, or none of a network
