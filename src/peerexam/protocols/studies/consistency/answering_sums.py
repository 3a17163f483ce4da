"""Asking a model for the value of an expression, directly: no working, no second asking.

The papers' completions are greedy, so the temperature is 0. Where an agent can be held to a
grammar, its reply is a number and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from peerexam.agents.base import Agent, Feature
from peerexam.calls import Form, Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.parsing import Unreadable, answer_part
from peerexam.tasks.consistency.numerals import Numeral, read_numeral

MAX_TOKENS = 64
"""Of a reply that is one number; an agent's own `max_tokens` comes before it."""

_MOST_DIGITS = 18

# Bounded, since a small model that may go on with digits does.
_DIGITS = "[0-9]" + " ([0-9]" * (_MOST_DIGITS - 1) + ")?" * (_MOST_DIGITS - 1)
_NUMBER = f"""root ::= " "? "-"? digits ("." digits | "/" digits)?
digits ::= {_DIGITS}"""


def sum_prompt(prompts: PromptLibrary, chat: bool, expression: str) -> Rendered:
    """The prompt for the value of an expression."""
    return prompts.render("calculate", chat, question=expression)


def sum_sampling(features: Iterable[Feature], stop: tuple[str, ...] = ()) -> Sampling:
    """How a reply that is one number is drawn."""
    form = Form("grammar", _NUMBER) if "grammar" in features else None
    return Sampling(temperature=0.0, max_tokens=MAX_TOKENS, stop=stop, form=form)


def read_sum(reply: str) -> Numeral | Unreadable:
    """The number that a reply gives; see `tasks.numerals`."""
    part = answer_part(reply)
    if isinstance(part, Unreadable):
        return part
    found = read_numeral(part)
    return Unreadable(found) if isinstance(found, str) else found


async def answer_sum(agent: Agent, prompts: PromptLibrary, expression: str) -> Outcome[Numeral]:
    """Ask for the value of an expression.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    rendered = sum_prompt(prompts, "chat" in agent.features, expression)
    return await ask_sum(agent, prompts, rendered, rendered.stop)


async def ask_sum(
    agent: Agent, prompts: PromptLibrary, rendered: Rendered, stop: tuple[str, ...] = ()
) -> Outcome[Numeral]:
    """Ask whatever is to be answered by a number.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    asker = Asker(agent, prompts, sum_sampling(agent.features, stop), reasks=0)
    return await asker.ask(rendered, read_sum, "", {})
