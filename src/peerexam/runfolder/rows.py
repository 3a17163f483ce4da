"""JSON objects back to records, each complaint naming the key; unknown keys are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

from peerexam.calls import Json, State
from peerexam.records import (
    Answer,
    Group,
    Level,
    LevelVote,
    Mark,
    Probe,
    Question,
    Ranking,
    Reference,
    Verdict,
    Winner,
)

T = TypeVar("T")
Body = Mapping[str, Json]

_STATES: tuple[State, ...] = get_args(State)
_GROUPS: tuple[Group, ...] = get_args(Group)
_LEVELS: tuple[Level, ...] = get_args(Level)
_WINNERS: tuple[Winner, ...] = get_args(Winner)
_PLACES: tuple[Literal["first", "second"], ...] = ("first", "second")
_PROBED: tuple[Literal["right", "wrong", "tie"], ...] = ("right", "wrong", "tie")
_MARK_KEYS = frozenset(Mark.__dataclass_fields__)


def question_from(body: Body) -> Question:
    """A line of `questions.jsonl`."""
    return Question(
        id=_text(body, "id"),
        text=_text(body, "text"),
        domain=_text(body, "domain"),
        domain_path=_names(body.get("domain_path") or [], "domain_path"),
        author=_optional_text(body, "author"),
        group=_one_of(body, "group", _GROUPS) or "own",
        round=_whole(body, "round", 1),
        parent_id=_optional_text(body, "parent_id"),
        level=_one_of(body, "level", _LEVELS),
        examinee=_optional_text(body, "examinee"),
        reference=_optional_text(body, "reference"),
        reference_agreement=_share(body, "reference_agreement"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def level_vote_from(body: Body) -> LevelVote:
    """A line of `levels.jsonl`."""
    return LevelVote(
        question_id=_text(body, "question_id"),
        classifier=_text(body, "classifier"),
        level=_one_of(body, "level", _LEVELS),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        reply=_optional_text(body, "reply"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def reference_from(body: Body) -> Reference:
    """A line of `references.jsonl`."""
    return Reference(
        question_id=_text(body, "question_id"),
        author=_text(body, "author"),
        draw=_whole(body, "draw", 0),
        text=_text(body, "text"),
        agrees=_one_of(body, "agrees", (True, False)),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def answer_from(body: Body) -> Answer:
    """A line of `answers.jsonl`."""
    return Answer(
        question_id=_text(body, "question_id"),
        examinee=_text(body, "examinee"),
        text=_text(body, "text"),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def mark_from(body: Body) -> Mark:
    """A line of `marks.jsonl`: every further key with a whole number or null is a dimension."""
    scores = {
        name: value
        for name, value in body.items()
        if name not in _MARK_KEYS
        and (value is None or (isinstance(value, int) and not isinstance(value, bool)))
    }
    overall = body.get("overall")
    return Mark(
        question_id=_text(body, "question_id"),
        examinee=_text(body, "examinee"),
        judge=_text(body, "judge"),
        scores=scores,
        overall=None if overall is None else _whole(body, "overall", 0),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        reply=_optional_text(body, "reply"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def verdict_from(body: Body) -> Verdict:
    """A line of `verdicts.jsonl`."""
    return Verdict(
        question_id=_text(body, "question_id"),
        judge=_text(body, "judge"),
        first=_text(body, "first"),
        second=_text(body, "second"),
        winner=_one_of(body, "winner", _WINNERS),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        reply=_optional_text(body, "reply"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def ranking_from(body: Body) -> Ranking:
    """A line of `rankings.jsonl`."""
    order = body.get("order")
    if not isinstance(order, list):
        raise ValueError("'order' must be a list of lists of names")
    return Ranking(
        question_id=_text(body, "question_id"),
        judge=_text(body, "judge"),
        order=tuple(_names(group, "order") for group in order),
        unranked=_names(body.get("unranked") or [], "unranked"),
    )


def probe_from(body: Body) -> Probe:
    """A line of `probes.jsonl`."""
    overall = body.get("overall")
    return Probe(
        judge=_text(body, "judge"),
        canary=_text(body, "canary"),
        style=_text(body, "style"),
        place=_one_of(body, "place", _PLACES),
        winner=_one_of(body, "winner", _PROBED),
        overall=None if overall is None else _whole(body, "overall", 0),
        state=_one_of(body, "state", _STATES) or "ok",
        reason=_optional_text(body, "reason"),
        reply=_optional_text(body, "reply"),
        prompt=_optional_text(body, "prompt"),
        call=_optional_text(body, "call"),
    )


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise ValueError(f"'{name}' must be text, found {value!r:.60}")
    return value


def _optional_text(body: Body, name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _whole(body: Body, name: str, default: int) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"'{name}' must be a whole number, found {value!r:.60}")
    return value


def _share(body: Body, name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"'{name}' must be a share from 0 to 1, found {value!r:.60}")
    return float(value)


def _one_of(body: Body, name: str, choices: tuple[T, ...]) -> T | None:
    value: Any = body.get(name)
    if value is None:
        return None
    if value not in choices:
        raise ValueError(f"'{name}' must be one of {', '.join(map(str, choices))}: {value!r:.60}")
    return choices[choices.index(value)]


def _names(value: Json, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"'{name}' must be a list of names, found {value!r:.60}")
    return tuple(value)
