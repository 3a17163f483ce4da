"""The page of `bias questions`: the map, and the numbers that say what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerexam.calls import Json
from peerexam.report.figures.scatter import SIDE, Scatter, scatter
from peerexam.report.numbers import MISSING, decimal, interval, percent, probability, span
from peerexam.report.page.shell import encoded
from peerexam.report.page.study import rendered

_READINGS = {
    "authors": "Questions near each other ask about the same; colour and shape show the author.",
    "sets": "All sets on one map; colour and shape show the set.",
}
_HELD_OUT = {
    "domains": "whole domains were held out, so that only what an author does in every domain "
    "counts",
    "questions": "single questions were held out",
}


def map_page(body: Mapping[str, Json]) -> bytes:
    """The page of one result of `protocols.question_bias`.

    The same result gives the same bytes. The page runs nothing and makes no request; texts of
    models are shown as they are.
    """
    return encoded(
        rendered(
            "question_map.html.j2",
            name=body["name"],
            encoder=body["encoder"],
            seed=body["seed"],
            side=SIDE,
            maps=[_map(one) for one in body["maps"]],
            sets=[_set(one) for one in body["sets"]],
            authors=_told(body["authors"]),
            domains=_told(body["domains"]),
            conclusion=conclusion(body),
        )
    )


def conclusion(body: Mapping[str, Json]) -> str:
    """What the separability comes to, in a sentence or two."""
    found = body["authors"]
    accuracy = found["accuracy"]
    if accuracy["value"] is None:
        return f"How distinguishable the authors are is not known: {accuracy['reason']}."
    null, chance = found["null"], found["chance"]
    p = None if null is None else null["p"]
    leaves_out = accuracy["low"] is None or accuracy["low"] > chance
    start = (
        f"Within a domain the author of {percent(accuracy['value'])} % of the questions is "
        f"identified correctly ({interval(accuracy)}; chance is {percent(chance)} %"
    )
    if p is None:
        return f"{start})."
    if p >= 0.05 and leaves_out and accuracy["low"] is not None:
        shows = (
            "not significant against the permutation baseline, though the interval, which takes "
            "the trained classifier as given, excludes chance"
        )
    elif p >= 0.05:
        shows = "not significant: the author is not detectable"
    elif not leaves_out:
        shows = (
            "the author is detectable in these questions; they are too few to say whether that "
            "holds in other domains"
        )
    else:
        shows = "the author is detectable from the questions"
    return f"{start}, p {_proper(p)}): {shows}."


def _proper(p: float) -> str:
    text = probability(p)
    return text if text.startswith("<") else f"= {text}"


def _map(one: Mapping[str, Json]) -> dict[str, Any]:
    drawing: Scatter | None = None
    by = one["by"]
    if one["points"]:
        key, places = ("author", "domain") if by == "authors" else ("set", "set")
        drawing = scatter(one["points"], key, places)
    return {
        "title": "By author and domain" if by == "authors" else "Beside other sets",
        "reading": _READINGS[by],
        "reason": one["reason"],
        "drawing": drawing,
    }


def _set(one: Mapping[str, Json]) -> dict[str, Any]:
    return {
        "name": one["name"],
        "drawn": one["drawn"],
        "of": one["questions"],
        "domains": one["domains"],
        "distance": decimal(one["distance"]["value"], 3),
        "distance_span": _decimals(one["distance"]),
        "uniformity": decimal(one["uniformity"]["value"], 2),
        "uniformity_span": _decimals(one["uniformity"], 2),
    }


def _told(found: Mapping[str, Json]) -> dict[str, Any]:
    null = found["null"]
    return {
        "value": percent(found["accuracy"]["value"]),
        "interval": interval(found["accuracy"]),
        "reason": found["accuracy"]["reason"],
        "p": probability(None if null is None else null["p"]),
        "chance": percent(found["chance"]),
        "null": MISSING
        if null is None
        else f"{percent(null['mean'])} %, 90 % of permutations {interval(null)}",
        "held_out": _HELD_OUT.get(found["held_out"], ""),
        "questions": found["questions"],
        "left_out": [(reason, count) for reason, count in found["left_out"].items() if count],
        "by_class": [
            (name, percent(one["value"]), interval(one), one["n"])
            for name, one in found["by_class"].items()
        ],
    }


def _decimals(one: Mapping[str, Json], digits: int = 3) -> str:
    return span(decimal(one["low"], digits), decimal(one["high"], digits))
