"""`plan`: calls, tokens and cost of an exam before any model is asked."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from peerexam.cli.arguments import config_flags as add_arguments
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.protocols.config.models import ExamConfig
    from peerexam.protocols.planning.plan import Line, Plan
    from peerexam.protocols.planning.ranges import Range

__all__ = ["add_arguments", "perform"]

_HEADS = ("agent", "task", "least", "expected", "most", "tokens", "cost (expected – most)")


def perform(arguments: argparse.Namespace) -> int:
    """Print calls, tokens and cost."""
    from peerexam.cli.exam_file import config_from
    from peerexam.protocols.planning.plan import plan

    config = config_from(arguments)
    print_plan(plan(config), as_json=arguments.json)
    warn(config)
    return 0


def print_plan(planned: Plan, *, as_json: bool) -> None:
    """A plan, as the result of a command."""
    if as_json:
        say_json(planned.to_json())
    else:
        say(plan_text(planned, columns()))


_MOST_PAIRS = 3
"""Pairs that a warning names."""


def warn(config: ExamConfig) -> None:
    """Name what a config lacks: weights, and judges for its standings."""
    from peerexam.cli.machine.weights import note_missing_weights
    from peerexam.protocols.config.own_answers import pairs_without_judge
    from peerexam.protocols.run.pilot import nobody_may_judge

    note_missing_weights(agent.model for agent in config.agents)
    why = nobody_may_judge(config)
    if why is not None:
        note(plain(f"warning: there will be no standings: {why}"))
        return
    pairs = [f"'{one}' with '{other}'" for one, other in pairs_without_judge(config)]
    if pairs:
        more = len(pairs) - _MOST_PAIRS
        named = ", ".join(pairs[:_MOST_PAIRS]) + (f" and {more} more pairs" if more > 0 else "")
        note(
            f"warning: nobody may compare {named}: every judge wrote one of the two answers, so "
            "their order would rest on no direct comparison; add a judge that wrote neither "
            "(roles: [judge])"
        )


def plan_text(planned: Plan, width: int | None = None) -> str:
    """A plan as a table, with what it rests on.

    Args:
        planned: The plan.
        width: Columns that the table may take; None lets it be as wide as it is.
    """
    rows = [_plan_row(line) for line in planned.lines]
    tokens = planned.tokens
    rows.append(("all", "", *_counts(planned.calls), _thousands(tokens.expected), _total(planned)))
    table = grid(_HEADS, rows, range(2, len(_HEADS)), width=width, keys=(0, 1))
    head = f"{planned.questions} questions; calls least, expected and most, tokens expected"
    advice = (f"hint: {text}" for text in planned.hints)
    notes = [*planned.assumptions, *_prices(planned), *advice]
    return "\n".join([head, "", table, "", *(f"- {text}" for text in notes)])


def _plan_row(line: Line) -> tuple[str, ...]:
    tokens = line.prompt_tokens + line.completion_tokens
    does = {"own": "own comparisons", "questions": "write questions"}.get(line.task, line.task)
    return (
        plain(line.agent),
        does,
        *_counts(line.calls),
        _thousands(tokens.expected),
        "unknown" if line.cost is None else _money(line.cost),
    )


def _counts(span: Range) -> tuple[str, str, str]:
    return _thousands(span.least), _thousands(span.expected), _thousands(span.most)


def _thousands(value: float) -> str:
    return f"{round(value):,}"


def _money(cost: Range) -> str:
    return "none" if not cost.most else f"${cost.expected:,.4f} – ${cost.most:,.4f}"


def _prices(planned: Plan) -> Iterator[str]:
    """A line for every agent that costs something, or may."""
    from peerexam.protocols.config.prices import price_text

    for name, quote in planned.prices.items():
        if quote is None:
            yield f"price of {plain(name)}: unknown; set price: {{input: …, output: …}} to have it"
        elif quote.source != "runs here":
            yield f"price of {plain(name)}: {price_text(quote)}"


def _total(planned: Plan) -> str:
    if not planned.unpriced:
        return _money(planned.cost)
    known = f"{_money(planned.cost)} + " if planned.cost.most else ""
    return known + "unknown for " + ", ".join(plain(name) for name in planned.unpriced)
