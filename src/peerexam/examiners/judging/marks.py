"""Reading a judge's scores. The prompts they belong to are `templates/mark*`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.examiners.prompting.rubric import OVERALL, Rubric
from peerexam.examiners.reading.own_words import own_lines, plain
from peerexam.examiners.reading.parsing import (
    Unreadable,
    answer_part,
    closing_json_object,
    json_object,
)

Scale = tuple[int, int]
"""The lowest and the highest score."""

_OVERALL_NAMES = ("score", "rating", "mark", "total", "final")
_QUOTED = re.compile(
    r"\"(?!\s?[0-9]{1,6}\s?\")[^\"\n]{0,500}\"|“[^”\n]{0,500}”|(?<!\w)'[^'\n]{0,500}'(?!\w)|‘[^’\n]{0,500}’(?!\w)"
)
# At most six digits: longer numbers are no scores, and Python refuses to convert the longest.
_DIGITS = r"[0-9]{1,6}"
_RANGE = rf"(?:{_DIGITS}\s*(?:-|–|—|to|\.\.)\s*{_DIGITS})"


def _stated_scale(group: str) -> str:
    """A pattern for a scale in brackets: (1-5), (out of 5), [/10]."""
    opening = r"[(\[]\s*(?:scale\s*:?\s*|out\s+of\s+|/\s*|from\s+)?"
    return rf"{opening}(?P<{group}>{_RANGE}|{_DIGITS})\s*[)\]]"


_VALUE = (
    rf"(?:\[\[?\s?|[\"'“(]\s?)?(?P<value>[-−]?{_DIGITS}(?:\.{_DIGITS})?)"
    rf"(?:\s*(?P<to>-|–|—|to\b|\.\.)\s*(?P<end>{_DIGITS}))?"
    rf"(?:\s*(?:/|out\s+of)\s*(?P<of>{_DIGITS}(?:\.{_DIGITS})?))?"
    r"(?:\s?\]\]?|\s?[\"'”)])?"
    rf"(?:\s*{_stated_scale('after')})?"
    # A digit behind a comma is a decimal, and one behind "and" a second score.
    r"(?=\s*(?:$|[,;](?!\s?\d)|[|(\[–—]|\.(?!\d)|-\s|because\b|and\b(?!\s?\d)"
    r"|points?\b|stars?\b))"
)
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Scores:
    """What a judge gave: a score for each dimension of the rubric, and the overall one."""

    scores: Mapping[str, int]
    overall: int


def read_marks(reply: str, rubric: Rubric) -> Scores | Unreadable:
    """The scores that a reply gives under a rubric; all of them, or none."""
    found = read_scores(reply, {**rubric.scales, OVERALL: rubric.overall})
    if isinstance(found, Unreadable):
        return found
    overall = found.pop(OVERALL)
    return Scores(found, overall)


def read_scores(reply: str, scales: Mapping[str, Scale]) -> dict[str, int] | Unreadable:
    """One whole score for each name, as the judge stated it.

    Read: a reply that is a JSON object; lines `name: score`, several to a line allowed; the same
    inside a sentence, where no line opens with one; a JSON object in a code block at the end. A
    repeated scale ("1 to 5", "(1-5)") is not a score; a denominator, or a scale that is not the
    rubric's, makes the reply unreadable, and so do a score out of range (it is never moved into
    it), a fraction, a missing score, and two different scores for one name.

    Args:
        reply: The judge's text.
        scales: Name to lowest and highest score.
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    body = json_object(text)
    if body is not None:
        return _from_json(body, scales)
    lines = [_QUOTED.sub(" ", line) for line in own_lines(text)]
    claims = _gather(lines, scales)
    if not claims:
        closing = closing_json_object(text)
        if closing is not None:
            return _from_json(closing, scales)
    return _settled(claims, scales)


def _spelled(name: str) -> str:
    """A pattern for a name, whatever joins its words."""
    return r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", name.strip()))


@functools.lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for one score of one of the names; the group `n0` belongs to the first of them."""
    labels = "|".join(f"(?P<n{at}>{_spelled(name)})" for at, name in enumerate(names))
    return re.compile(
        rf"(?P<lead>^(?:[-*•+]|\(?[0-9]{{1,2}}[.):]|[a-z][.)])?|[,;|.:(]|\band\b)\s*"
        rf"(?:(?:for|the|my|final)\s+)?(?:{labels})(?:[\s_]+(?:score|rating|mark))?"
        rf"\s*(?:{_stated_scale('before')})?\s*(?:[:：=|]|\bis\b|\s[-–—]\s)\s*"
        rf"(?:{_stated_scale('inside')}\s*:?\s*)?{_VALUE}",
        re.IGNORECASE,
    )


def _labels(scales: Mapping[str, Scale]) -> tuple[dict[str, str], dict[str, str]]:
    """Labels by their own name, and the other names of the overall score."""
    own = {name: name for name in scales}
    taken = {name.lower() for name in scales}
    other = {n: OVERALL for n in _OVERALL_NAMES if OVERALL in scales and n not in taken}
    return own, other


Claims = dict[str, list[int | Unreadable]]


def _gather(lines: list[str], scales: Mapping[str, Scale]) -> Claims:
    own, other = _labels(scales)
    claims = _claims(lines, own, scales)
    if other and OVERALL not in claims:
        claims |= _claims(lines, other, scales)
    return claims


def _claims(lines: list[str], names: Mapping[str, str], scales: Mapping[str, Scale]) -> Claims:
    if not names:
        return {}
    labels = tuple(sorted(names, key=len, reverse=True))
    pattern = _pattern(labels)
    opening = [line for line in lines if pattern.match(line)]
    claims: Claims = {}
    for found in _matches(pattern, opening or lines):
        label = next(label for at, label in enumerate(labels) if found[f"n{at}"] is not None)
        name = names[label]
        value = _stated(found, name, scales[name])
        if value is not None:
            claims.setdefault(name, []).append(value)
    return claims


def _matches(pattern: re.Pattern[str], lines: list[str]) -> Iterator[re.Match[str]]:
    for line in lines:
        yield from pattern.finditer(line)


def _stated(found: re.Match[str], name: str, scale: Scale) -> int | Unreadable | None:
    """The score of one match; None where it only repeats the scale."""
    for group in ("before", "inside", "after"):
        if found[group] is not None and not _same_scale(found[group], scale):
            return Unreadable(f"{name} is scored on another scale than {scale[0]} to {scale[1]}")
    if found["end"] is not None:
        if (int(found["value"].lstrip("-−").split(".")[0]), int(found["end"])) == scale:
            return None
        return Unreadable(f"{name} has a range instead of one score")
    if found["of"] is not None and float(found["of"]) != scale[1]:
        return Unreadable(f"{name} is scored out of {found['of']}, not out of {scale[1]}")
    return _whole(found["value"].replace("−", "-"), name, scale)


def _same_scale(text: str, scale: Scale) -> bool:
    numbers = [int(number) for number in _NUMBER.findall(text)]
    return numbers == list(scale) or numbers == [scale[1]]


def _whole(text: str, name: str, scale: Scale) -> int | Unreadable:
    number = float(text)
    if number != number // 1:
        return Unreadable(f"{name} is {text}, which is not a whole number")
    if not scale[0] <= number <= scale[1]:
        return Unreadable(f"{name} is {text}, which is outside {scale[0]} to {scale[1]}")
    return int(number)


def _settled(claims: Claims, scales: Mapping[str, Scale]) -> dict[str, int] | Unreadable:
    scores: dict[str, int] = {}
    for name in scales:
        stated = claims.get(name, [])
        for value in stated:
            if isinstance(value, Unreadable):
                return value
            if scores.setdefault(name, value) != value:
                return Unreadable(f"{name} has two different scores")
    missing = [name for name in scales if name not in scores]
    return Unreadable(f"there is no score for {', '.join(missing)}") if missing else scores


def _flat(body: Mapping[str, Json], depth: int = 2) -> Iterator[tuple[str, Json]]:
    """The entries of an object, those of the objects in it included (`scores: {…}`)."""
    for key, value in body.items():
        if isinstance(value, dict) and "score" in value:
            yield key, value["score"]
        elif isinstance(value, dict):
            if depth:
                yield from _flat(value, depth - 1)
        else:
            yield key, value


def _from_json(
    body: Mapping[str, Json], scales: Mapping[str, Scale]
) -> dict[str, int] | Unreadable:
    own, other = _labels(scales)
    spelled = {_folded(label): name for label, name in {**other, **own}.items()}
    claims: Claims = {}
    for key, value in _flat(body):
        name = spelled.get(_folded(key))
        if name is not None:
            claims.setdefault(name, []).append(_json_score(value, name, scales[name]))
    return _settled(claims, scales)


@functools.lru_cache(maxsize=256)
def _folded(label: str) -> str:
    words = re.sub(r"[\s_-]+", " ", label.strip()).lower()
    return re.sub(r"(?<=\S) (?:score|rating|mark)$", "", words)


def _json_score(value: Json, name: str, scale: Scale) -> int | Unreadable:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return Unreadable(f"{name} is not a number")
    line = f"{name}: {plain(str(value)[:80])}"
    found = _pattern((name,)).match(line)
    stated = _stated(found, name, scale) if found else None
    return Unreadable(f"{name} is not a number") if stated is None else stated
