"""Which of four replies would be yours? (self-knowledge, "Self-Invariance" and its notes).

A self-knowledge prompt for replies of which no two are alike word for word: the agent is shown the
prompt and four replies, of which one is its own. The others are, in this order, those of the other
agents to the same prompt, and the agent's own to other prompts, drawn by the seed; all four differ.
Where fewer do, nothing is asked. Chance is one in four.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerexam.agents.base import Agent
from peerexam.calls import Json, Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import choice_form
from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.protocols.studies.base import Progressed, Study
from peerexam.protocols.studies.consistency.hypothetical import (
    DIRECT,
    Asking,
    Hypothetical,
    Said,
    ask_templates,
)
from peerexam.protocols.studies.consistency.result import PROMPTS

CHOICE = "choice"
LETTERS = "ABCD"

_CHOICES: Choices[str] = Choices(
    label="Choice",
    synonyms=r"choice|answer|reply",
    words={letter.lower(): letter for letter in LETTERS},
    keys=("choice", "answer"),
)


@dataclass(frozen=True, slots=True)
class Hypothetically:
    """What is asked: each prompt, what an agent would answer to it, and which reply is its own."""

    asking: Asking

    async def ask(self, study: Study) -> Progressed[Hypothetical]:
        """Prompt by prompt, every agent; the choices once all have replied."""
        told = await ask_templates(study, self.asking)
        if told.stopped is not None:
            return told
        chosen = await study.over(
            drafts(told.found, self.asking.seed), lambda draft: choose(study, self.asking, draft)
        )
        return Progressed((*told.found, *chosen.found), chosen.stopped)

    def files(self, rows: Sequence[Hypothetical]) -> dict[str, Iterable[dict[str, Json]]]:
        """The prompts, one a row."""
        return {PROMPTS: (row.to_json() for row in rows)}


@dataclass(frozen=True, slots=True)
class Draft:
    """A choice that is to be offered.

    Attributes:
        direct: The agent's own reply.
        options: By letter, whose reply and what it is; fewer than four where no more differ.
    """

    direct: Hypothetical
    options: tuple[tuple[str, Said], ...]


def drafts(rows: Sequence[Hypothetical], seed: int) -> list[Draft]:
    """The choices over some replies.

    Args:
        rows: Replies to prompts and templates; those to prompts are chosen among.
        seed: Of which replies, and of their order.
    """
    directs = [row for row in rows if row.kind == DIRECT]
    return [
        Draft(row, _options(row, directs, np.random.default_rng([seed, place])))
        for place, row in enumerate(directs)
    ]


def _options(
    own: Hypothetical, directs: Sequence[Hypothetical], rng: np.random.Generator
) -> tuple[tuple[str, Said], ...]:
    """The agent's reply and three that differ, shuffled; fewer where there are no more."""
    if own.said is None:
        return ()
    chosen = [(own.agent, own.said)]
    for rival in _rivals(own, directs, rng):
        if len(chosen) == len(LETTERS):
            break
        said = rival.said
        if said is not None and not any(said.is_like(other) for _, other in chosen):
            chosen.append((rival.agent, said))
    return tuple(chosen[int(at)] for at in rng.permutation(len(chosen)))


def _rivals(
    own: Hypothetical, directs: Sequence[Hypothetical], rng: np.random.Generator
) -> Iterator[Hypothetical]:
    yield from (row for row in directs if row.item == own.item and row.agent != own.agent)
    mine = [row for row in directs if row.agent == own.agent and row.item != own.item]
    yield from (mine[int(at)] for at in rng.permutation(len(mine)))


async def choose(study: Study, asking: Asking, draft: Draft) -> Hypothetical:
    """Ask an agent which of four replies is its own.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    own, options = draft.direct, draft.options
    row = Hypothetical(
        item=own.item,
        agent=own.agent,
        kind=CHOICE,
        prompt=own.prompt,
        said=None,
        expected=own.said,
        undone=own.state == "error",
        rivals=tuple(name for name, said in options if said is not own.said),
        state="not_asked",
        reason="the call for its own reply failed"
        if own.state == "error"
        else "its own reply could not be read"
        if own.said is None
        else f"only {len(options)} replies differ",
    )
    if len(options) < len(LETTERS):
        return row
    outcome = await _ask_choice(study, asking, study.agents[own.agent], own.prompt, options)
    said = None if outcome.value is None else options[LETTERS.index(outcome.value)][1]
    return replace(
        row,
        said=said,
        state=outcome.state,
        reason=outcome.reason,
        reply=outcome.reply,
        call=outcome.call,
    )


async def _ask_choice(
    study: Study,
    asking: Asking,
    agent: Agent,
    text: str,
    options: Sequence[tuple[str, Said]],
) -> Outcome[str]:
    chat = "chat" in agent.features
    direct = asking.direct(study.prompts, chat, text).text
    texts = [said.text for _, said in options]
    fence = fence_for(asking.seed, direct, [direct, *texts])
    form = choice_form("Choice", LETTERS, agent.features)
    rendered = study.prompts.render(
        "own_choice",
        chat,
        question=fence.around("Prompt", direct),
        options="\n".join(
            fence.around(f"Reply {letter}", text)
            for letter, text in zip(LETTERS, texts, strict=True)
        ),
        key=fence.key,
        as_json=form is not None and form.kind == "json_schema",
    )
    sampling = Sampling(temperature=0.0, max_tokens=32, stop=rendered.stop, form=form)
    return await Asker(agent, study.prompts, sampling, reasks=0).ask(rendered, read_letter, "", {})


def read_letter(reply: str) -> str | Unreadable:
    """The letter that a reply chooses."""
    return read_choice(reply, _CHOICES)
