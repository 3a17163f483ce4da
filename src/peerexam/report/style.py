"""The page of `bias style`: whom the judges prefer where only the style differs (Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peerexam.calls import Json
from peerexam.report.grid import grid
from peerexam.report.inert import printable
from peerexam.report.numbers import MISSING, decimal, interval, percent, points
from peerexam.report.page.shell import encoded
from peerexam.report.page.study import rendered

WIDTH, ROW, TOP = 640, 34, 26
"""Of the bar chart, in SVG units."""

_LEFT, _RIGHT = 190, 60
_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One judge's bar, as SVG coordinates; `x` is None where there is no preference."""

    name: str
    y: int
    is_pooled: bool
    x: float | None = None
    low: float | None = None
    high: float | None = None
    label: str = MISSING


def style_page(body: Mapping[str, Json]) -> bytes:
    """The page of one `style.json`. It runs nothing and makes no request."""
    bars = [_bar(one["judge"], one["preference"], at) for at, one in enumerate(body["judges"])]
    bars.append(_bar("all judges", body["pooled"], len(bars), is_pooled=True))
    return encoded(
        rendered(
            "style.html.j2",
            **{key: body[key] for key in ("rewriter", "checker", "seed", "samples")},
            reason=body["status_reason"],
            is_partial=body["status"] != "complete",
            failed=body["failed_calls"],
            conclusion=conclusion(body),
            bars=bars,
            left=_LEFT,
            width=WIDTH,
            height=TOP + ROW * len(bars) + 8,
            half=_x(0.5),
            end=_x(1.0),
            rows=[_row(one) for one in body["judges"]],
            ratio={k: decimal(v, 2) for k, v in body["length_ratio"].items()},
            pooled=_measure(body["pooled"]),
            without=_measure(body["pooled_without_rewriter"]),
            has_own=any(one["is_rewriter"] for one in body["judges"]),
        )
    )


def conclusion(body: Mapping[str, Json]) -> str:
    """What the preferences come to, in a sentence or two."""
    pooled = body["pooled"]
    if pooled["value"] is None:
        return f"No preference is known: {pooled['reason']}."
    leaning = {
        "rewritten": [one["judge"] for one in body["judges"] if leans(one["preference"]) == 1],
        "original": [one["judge"] for one in body["judges"] if leans(one["preference"]) == -1],
    }
    said = [
        f"{printable(', '.join(names))} prefer{'s' if len(names) == 1 else ''} the {what} texts"
        for what, names in leaning.items()
        if names
    ]
    judges = "; ".join(said) or "no judge has a significant preference"
    return (
        f"Together the judges give the rewritten texts {percent(pooled['value'])} % "
        f"{interval(pooled)} of the points: {judges}."
    )


def leans(one: Mapping[str, Json]) -> int:
    """1 where the interval lies above ½, −1 below it, 0 where it holds it or there is none."""
    if one["low"] is None or one["high"] is None:
        return 0
    return int(one["low"] > 0.5) - int(one["high"] < 0.5)


def style_text(body: Mapping[str, Json], width: int | None = None) -> str:
    """The same as lines of text; its table takes at most so many columns, where that is said."""
    samples = body["samples"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in samples["dropped"].items())
    heads = ("judge", "rewritten", "interval", "of", "same in both orders", "first place", "longer")
    rows = [_line(_row(one)) for one in body["judges"]]
    for name, key in (("all judges", "pooled"), ("without rewriter", "pooled_without_rewriter")):
        found = _measure(body[key])
        of = f"{found['n']} questions"
        rows.append((name, found["value"], found["interval"], of, "", "", "", ""))
    return "\n".join(
        [
            conclusion(body),
            f"{samples['kept']} of {samples['drawn']} rewritten answers kept"
            + (f" (dropped: {reasons})" if reasons else ""),
            "",
            grid((*heads, ""), rows, width=width),
        ]
    )


def _line(one: Mapping[str, Any]) -> tuple[str, ...]:
    preference = one["preference"]
    return (
        printable(one["name"]),
        preference["value"],
        preference["interval"],
        f"{preference['n']} pairs",
        one["same"]["value"],
        one["first"],
        one["longer"],
        "; ".join(one["notes"]),
    )


def _row(one: Mapping[str, Json]) -> dict[str, Any]:
    failed = sum(count for state, count in one["verdicts"].items() if state != "ok")
    notes = ["its own style"] if one["is_rewriter"] else []
    notes += [f"wrote {one['own_answers']} of the originals"] if one["own_answers"] else []
    notes += [f"{failed} verdicts missing"] if failed else []
    return {
        "name": one["judge"],
        "preference": _measure(one["preference"]),
        "same": _measure(one["swap_consistency"]),
        "first": points(one["first_preference"]["value"]),
        "longer": points(one["longer_preference"]["value"]),
        "notes": notes,
    }


def _measure(one: Mapping[str, Json]) -> dict[str, str]:
    return {
        "value": percent(one["value"]),
        "interval": interval(one),
        "n": str(one["n"]),
        "reason": one["reason"] or "",
    }


def _bar(name: str, one: Mapping[str, Json], at: int, is_pooled: bool = False) -> Bar:
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    y = TOP + ROW * at
    if one["value"] is None:
        return Bar(short, y, is_pooled)
    low, high = (None if one[end] is None else _x(one[end]) for end in ("low", "high"))
    return Bar(short, y, is_pooled, _x(one["value"]), low, high, f"{percent(one['value'])} %")


def _x(share: float) -> float:
    return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)
