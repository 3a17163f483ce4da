"""Self-consistency of programs (self-knowledge, "Semantic parsing experimental set-up").

An agent writes the FunQL program of a question and of each of its sub-questions; it is consistent
on a sub-question if the program it wrote for that is a subtree of the one it wrote for the whole.
Whether either is the gold program is another column. `answer(…)` round the program of a
sub-question is taken off first, since no part of a program has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerexam.agents.base import Agent
from peerexam.calls import Json, Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.parsing import Unreadable, answer_part
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, Study, flat, row_of
from peerexam.protocols.studies.consistency.result import PROMPTS
from peerexam.tasks.consistency.funql import Term, body, holds, read_program, same_program
from peerexam.tasks.consistency.geoquery import GeoQuestion
from peerexam.tasks.consistency.geoquery_parts import Part

MAX_TOKENS = 160
"""Of a program; the longest of the data has 130 characters."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question shown with its program."""

    question: str
    program: str


EXAMPLES = (
    Example("name the lakes of montana", "answer(lake(loc_2(stateid('montana'))))"),
    Example("which is the shortest river", "answer(shortest(river(all)))"),
    Example("how many towns has nevada", "answer(count(city(loc_2(stateid('nevada')))))"),
    Example("what states touch utah", "answer(state(next_to_2(stateid('utah'))))"),
)
"""Our own, for data without a train split."""


@dataclass(frozen=True, slots=True)
class GeoItem:
    """A question and its sub-questions."""

    question: GeoQuestion
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Parse:
    """The program that one agent wrote for a question or a sub-question.

    Attributes:
        item: The question's id.
        agent: Who wrote it.
        part: Number of the sub-question, from 1; 0 for the question itself.
        text: What was asked.
        gold: The gold program, of a sub-question without `answer`.
        program: What was written; None where it is no program.
        parent: What was written for the whole question.
        undone: Whether the call for the whole question failed.
        state: `ok`, or why nothing was read.
        reason: The same in words.
        reply: The reply, where it could not be read.
        call: Ledger key of the call.
    """

    item: str
    agent: str
    part: int
    text: str
    gold: Term
    program: Term | None
    parent: Term | None = None
    undone: bool = False
    state: str = "ok"
    reason: str | None = None
    reply: str | None = None
    call: str | None = None

    @property
    def counts(self) -> bool:
        """Whether anything came back at all, readable or not."""
        return self.state != "error"

    @property
    def depth(self) -> int:
        """Of the gold program."""
        return self.gold.depth

    @property
    def correct(self) -> bool | None:
        """Whether it is the gold program; None where nothing came back."""
        if not self.counts:
            return None
        if self.program is None:
            return False
        return same_program(self.program if not self.part else body(self.program), self.gold)

    @property
    def consistent(self) -> bool | None:
        """Whether the program of the whole question holds it; None where either is none."""
        if not self.part or self.program is None or self.parent is None:
            return None
        return holds(self.parent, body(self.program))

    def to_json(self) -> dict[str, Json]:
        """A row of `prompts.jsonl`."""
        return row_of(
            self,
            "item agent kind part depth text gold program correct consistent state reason reply "
            "call",
            kind="part" if self.part else "question",
            gold=str(self.gold),
            program=None if self.program is None else str(self.program),
        )


def shots(train: Sequence[GeoQuestion], count: int, seed: int) -> list[Example]:
    """Examples drawn from the train split; our own where there is no split.

    No two of them have the same program, as far as there are others.

    Args:
        train: To draw from.
        count: How many.
        seed: Of the draw.
    """
    if not train:
        return list(EXAMPLES[:count])
    order = [train[int(at)] for at in np.random.default_rng(seed).permutation(len(train))]
    first: dict[Term, GeoQuestion] = {}
    for question in order:
        first.setdefault(question.program, question)
    again = [question for question in order if first[question.program] is not question]
    chosen = [*first.values(), *again][:count]
    return [Example(question.text, str(question.program)) for question in chosen]


def program_prompt(
    prompts: PromptLibrary, chat: bool, question: str, pairs: Sequence[Example]
) -> Rendered:
    """The prompt for the program of a question."""
    return prompts.render("funql", chat, question=question, pairs=list(pairs))


def _read(reply: str) -> Term | Unreadable:
    part = answer_part(reply)
    if isinstance(part, Unreadable):
        return part
    found = read_program(part)
    return Unreadable(found) if isinstance(found, str) else found


async def write_program(
    agent: Agent, prompts: PromptLibrary, question: str, pairs: Sequence[Example]
) -> Outcome[Term]:
    """Ask for the program of a question; a reply cut after a whole program counts.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    rendered = program_prompt(prompts, "chat" in agent.features, question, pairs)
    sampling = Sampling(temperature=0.0, max_tokens=MAX_TOKENS, stop=rendered.stop)
    outcome = await Asker(agent, prompts, sampling, reasks=0).ask(rendered, _read, "", {})
    if outcome.state != "truncated" or outcome.reply is None:
        return outcome
    found = _read(outcome.reply)
    return outcome if isinstance(found, Unreadable) else Outcome(found, call=outcome.call)


@dataclass(frozen=True, slots=True)
class Programs:
    """What is asked: the programs of all questions and sub-questions.

    Attributes:
        items: What to ask.
        pairs: Examples shown with every one.
    """

    items: Sequence[GeoItem]
    pairs: Sequence[Example]

    async def ask(self, study: Study) -> Progressed[Parse]:
        """Question by question, every agent."""

        async def of_all(item: GeoItem) -> list[Parse]:
            found = await together(_of_item(study, name, item, self.pairs) for name in study.agents)
            return [parse for each in found for parse in each]

        return flat(await study.over(self.items, of_all))

    def files(self, rows: Sequence[Parse]) -> dict[str, Iterable[dict[str, Json]]]:
        """The programs, one a row."""
        return {PROMPTS: (parse.to_json() for parse in rows)}


async def _of_item(
    study: Study, agent: str, item: GeoItem, pairs: Sequence[Example]
) -> list[Parse]:
    whole = Part(item.question.text, item.question.program)

    async def one(number: int, part: Part) -> Parse:
        outcome = await write_program(study.agents[agent], study.prompts, part.text, pairs)
        return Parse(
            item=item.question.id,
            agent=agent,
            part=number,
            text=part.text,
            gold=part.program,
            program=outcome.value,
            state=outcome.state,
            reason=outcome.reason,
            reply=outcome.reply,
            call=outcome.call,
        )

    found = await together(one(n, part) for n, part in enumerate((whole, *item.parts)))
    parent, undone = found[0].program, not found[0].counts
    return [found[0], *(replace(each, parent=parent, undone=undone) for each in found[1:])]
