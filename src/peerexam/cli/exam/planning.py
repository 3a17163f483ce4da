"""`init`, `plan` and `validate`: an exam before it runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from peerexam.cli.machine.commands import note_missing_weights
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.own_answers import pairs_without_judge
from peerexam.protocols.config.prices import price_text
from peerexam.protocols.planning.plan import Line, Plan, plan
from peerexam.protocols.planning.ranges import Range
from peerexam.protocols.run.pilot import nobody_may_judge
from peerexam.report.grid import grid

_PLAN_HEADS = ("agent", "does", "least", "expected", "most", "tokens", "cost (expected – most)")


def config_from(arguments: argparse.Namespace, *, setting_only: bool = False) -> ExamConfig:
    """The config that a command names, with its flags and the environment.

    Args:
        arguments: Of the command.
        setting_only: See `load_config`.
    """
    overrides = list(arguments.set)
    if arguments.seed is not None:
        overrides.append(f"seed={arguments.seed}")
    if arguments.budget_usd is not None:
        overrides.append(f"limits.budget.usd={arguments.budget_usd!r}")
    return load_config(
        arguments.exam, environ=os.environ, overrides=overrides, setting_only=setting_only
    )


def write_first(arguments: argparse.Namespace) -> int:
    """Write a commented EXAM.yaml, over nothing."""
    path = Path(arguments.path)
    if path.is_dir():
        path = path / "EXAM.yaml"
    text = (resources.files("peerexam.cli") / "EXAM.yaml").read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text.replace("EXAM.yaml", path.name))
    except FileExistsError:
        raise SetupError(f"{path} is there already and is not overwritten; name another") from None
    if arguments.json:
        say_json({"config": str(path)})
        return 0
    say(f"wrote {path}")
    note_missing_weights(agent.model for agent in load_config(path, environ={}).agents)
    note(f"next: peerexam plan {path}, then peerexam run {path}")
    return 0


def validate(arguments: argparse.Namespace) -> int:
    """Check a config."""
    config = config_from(arguments)
    questions = plan(config).questions
    if arguments.json:
        say_json({"valid": True, "name": config.name, "agents": [a.name for a in config.agents]})
    else:
        say(f"{arguments.exam} is in order: {len(config.agents)} agents, {questions} questions")
    _warn(config)
    return 0


def print_plan(arguments: argparse.Namespace) -> int:
    """Print calls, tokens and cost."""
    config = config_from(arguments)
    planned = plan(config)
    if arguments.json:
        say_json(planned.to_json())
    else:
        say(plan_text(planned, columns()))
    _warn(config)
    return 0


_MOST_PAIRS = 3
"""Pairs that a warning names."""


def _warn(config: ExamConfig) -> None:
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
    table = grid(_PLAN_HEADS, rows, range(2, len(_PLAN_HEADS)), width=width, keys=(0, 1))
    head = f"{planned.questions} questions; calls least, expected and most, tokens expected"
    advice = (f"hint: {text}" for text in planned.hints)
    notes = [*planned.assumptions, *_prices(planned), *advice]
    return "\n".join([head, "", table, "", *(f"- {text}" for text in notes)])


def _plan_row(line: Line) -> tuple[str, ...]:
    tokens = line.prompt_tokens + line.completion_tokens
    does = {"own": "own comparisons", "questions": "sets questions"}.get(line.task, line.task)
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
    """A line for every agent that costs something, or of which nobody knows."""
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
