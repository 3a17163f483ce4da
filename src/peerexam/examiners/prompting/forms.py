"""Forms that hold a reply to what its reader reads, for agents that can be held to one.

A grammar is preferred where both are possible: it yields the very lines that the prompt asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from peerexam.agents.base import Feature
from peerexam.calls import Form, Json, canonical_json
from peerexam.examiners.prompting.rubric import OVERALL, Rubric

_QUESTION = r"question ::= [^\n? ] [^\n?]+ [?]"


def marks_form(rubric: Rubric, features: Iterable[Feature]) -> Form | None:
    """The form of a reply with scores, or None where the agent cannot be held to one."""
    scales = {**rubric.scales, OVERALL: rubric.overall}
    choices = {name: range(low, high + 1) for name, (low, high) in scales.items()}
    if "grammar" in features:
        lines = ' "\\n" '.join(
            f"{json.dumps(f'{name}: ')} ({' | '.join(json.dumps(str(n)) for n in numbers)})"
            for name, numbers in choices.items()
        )
        return Form("grammar", f"root ::= {lines}")
    if "json_schema" in features:
        fields: dict[str, Json] = {
            name: {"type": "integer", "enum": list(numbers)} for name, numbers in choices.items()
        }
        return _schema(fields)
    return None


def verdict_form(ties: bool, features: Iterable[Feature]) -> Form | None:
    """The form of a reply with a verdict, or None where the agent cannot be held to one."""
    return choice_form(
        "Verdict", ["Response 1", "Response 2", *(["Tie"] if ties else [])], features
    )


def choice_form(label: str, choices: Sequence[str], features: Iterable[Feature]) -> Form | None:
    """The form of a reply that names one of a few choices; None where there is none.

    Args:
        label: What opens the line, without its colon; in lower case the key of a JSON object.
        choices: What may follow.
        features: The agent's.
    """
    if "grammar" in features:
        either = " | ".join(json.dumps(one) for one in choices)
        return Form("grammar", f"root ::= {json.dumps(f'{label}: ')} ({either})")
    if "json_schema" in features:
        return _schema({label.lower(): {"type": "string", "enum": list(choices)}})
    return None


def questions_form(n: int, features: Iterable[Feature], opened: str = "") -> Form | None:
    """The form of a numbered list of n questions; None where the agent holds to no grammar.

    Args:
        n: How many.
        features: The agent's.
        opened: The number with which the prompt already opens the first item ("3.").
    """
    if "grammar" not in features:
        return None
    first = int(opened.rstrip(".)")) if opened else 1
    openings = [f"{number}. " for number in range(first, first + n)]
    if opened:
        openings[0] = " "
    items = ' "\\n" '.join(f"{json.dumps(opening)} question" for opening in openings)
    return Form("grammar", f"root ::= {items}\n{_QUESTION}")


def follow_up_form(opening: str, features: Iterable[Feature]) -> Form | None:
    """The form of one question after an opening; None where the agent holds to no grammar."""
    if "grammar" not in features:
        return None
    return Form("grammar", f"root ::= {json.dumps(opening)} question\n{_QUESTION}")


def _schema(fields: dict[str, Json]) -> Form:
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    return Form("json_schema", canonical_json(schema))
