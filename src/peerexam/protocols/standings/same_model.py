"""Which agents of a run are one model under several names: other prompts, other temperatures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from peerexam.calls import Json, canonical_json
from peerexam.errors import SetupError
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.stats.core.tables import Comparisons
from peerexam.stats.pairs.peers import peers_of

_NAMELESS = frozenset({PLAYS_DIRECTLY, "function", "scripted"})
"""Providers whose model's name says nothing: only `variant_of` can say that two are one."""

_NAMING = ("provider", "class", "model", "revision", "endpoint", "base_url", "sha256", "examinee")


def model_identity(fingerprint: Mapping[str, Json]) -> str | None:
    """What names the model in a fingerprint, whatever it is asked with; None where nothing does.

    Weights that lie here are their hash, whichever engine runs them.
    """
    if fingerprint.get("weights"):
        return canonical_json(["weights", fingerprint["weights"]])
    if fingerprint.get("provider") in _NAMELESS or not fingerprint.get("model"):
        return None
    fields = fingerprint.get("fields")
    urls = sorted(_urls(fields.values())) if isinstance(fields, Mapping) else []
    return canonical_json([[fingerprint.get(key) for key in _NAMING], urls])


def _urls(values: Iterable[Json]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and "://" in value:
            yield value


def same_models(agents: Sequence[Mapping[str, Json]]) -> list[tuple[str, ...]]:
    """Groups of two agents or more that are one model, by a manifest's `agents`.

    By what their fingerprints name, or because one is called a variant of the other.
    """
    names = [one["name"] for one in agents]
    known = set(names)
    links = [(one["name"], one["variant_of"]) for one in agents if one.get("variant_of") in known]
    first: dict[str, str] = {}
    for one in agents:
        identity = model_identity(one.get("fingerprint") or {})
        if identity is not None:
            links.append((one["name"], first.setdefault(identity, one["name"])))
    return joined(names, links)


def joined(names: Sequence[str], groups: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Groups of names, those that share one put together, in the order of the names.

    Raises:
        SetupError: A group has a name that is not among them.
    """
    of = {name: name for name in names}
    for group in groups:
        for name in group:
            if name not in of:
                raise SetupError(f"there is no agent '{name}': there are {', '.join(names)}")
        merged = {of[name] for name in group}
        of |= {name: group[0] for name in names if of[name] in merged}
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(of[name], []).append(name)
    return [tuple(group) for group in found.values() if len(group) > 1]


def within(groups: Iterable[Collection[str]], names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups without those that play no part, in the order of the names; none of one name alone."""
    there = list(names)
    kept = (tuple(name for name in there if name in group) for group in groups)
    return [group for group in kept if len(group) > 1]


def third_parties(c: Comparisons, same: Sequence[Collection[str]]) -> dict[str, dict[str, Json]]:
    """By agent, who may speak on its answers as a third party: no agent of the same model.

    Args:
        c: Verdicts; a judge counts of which at least one could be read.
        same: Groups of names that are one model each; no name is in two of them.

    Returns:
        As it stands in `standings.json`: how many there are on any of the agent's rivals, and
        which judges are left out.
    """
    number = np.bincount(c.judge[~np.isnan(c.points)], minlength=len(c.judges))
    heard = [name for name, verdicts in zip(c.judges, number, strict=True) if verdicts]
    peers = peers_of(c.agents, heard, same)
    model = {name: set(group) for group in same for name in group}
    return {
        name: {
            "count": peers.third_parties(place),
            "left_out": [one for one in heard if one != name and one in model.get(name, ())],
        }
        for place, name in enumerate(c.agents)
    }
