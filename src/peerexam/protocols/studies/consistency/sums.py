"""Compositional self-consistency on nested sums (self-knowledge, "Compositional self-consistency").

A model is self-consistent if g(f(p', p)) ~ g(f(p', g(p))): its answer to an expression stays what
it was when a part of that expression is replaced by its own answer for the part, right or wrong.
As in "Synthetic arithmetic experimental set-up", every operator of a graph makes an initial prompt,
and every pair of an operator and one below it a self-knowledge prompt, with that one part replaced.
The paper's example `(2*3)+(16/4)` makes three and two.

Beside them each initial prompt is asked with operands the other way round and with brackets moved,
the "other kinds of arithmetic semantic equivalence" of the paper's notes.

Where a part's answer cannot be read there is nothing to put in its place, and where the answer
would make a divisor of zero the prompt would have no meaning; such prompts are not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from peerexam.calls import Json
from peerexam.examiners.asking import Outcome
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, Study, flat, row_of
from peerexam.protocols.studies.consistency.answering_sums import answer_sum
from peerexam.protocols.studies.consistency.result import PROMPTS
from peerexam.tasks.consistency.arithmetic import ArithmeticGraph, VariantKind
from peerexam.tasks.consistency.numerals import Numeral, is_number, same_number

NOT_ASKED = "not_asked"
"""The state of a prompt that could not be made."""

Kind = Literal["initial", "self_knowledge"] | VariantKind


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of one agent.

    Attributes:
        item: The graph's name.
        agent: Who was asked.
        kind: What prompt it is.
        node: Whose value is asked for.
        replaced: Which node stands replaced by the agent's own answer for it.
        depth: Height of the node's expression, nothing replaced.
        expression: What was asked.
        value: The exact value of the node's expression, nothing replaced.
        stated: The exact value of what was asked; None where it was not asked.
        answer: What the agent answered.
        expected: What it answered to the node's initial prompt.
        part_right: Whether the answer that was put in is right.
        whole: Whether the values of node and replaced part are whole numbers.
        undone: Whether a call that it builds on failed.
        state: `ok`, `not_asked`, or why nothing was read.
        reason: The same in words.
        reply: The reply, where it could not be read.
        call: Ledger key of the call.
    """

    item: str
    agent: str
    kind: Kind
    node: int
    depth: int
    expression: str | None
    value: Fraction
    stated: Fraction | None
    answer: Numeral | None
    expected: Numeral | None = None
    replaced: int | None = None
    part_right: bool | None = None
    whole: bool = True
    undone: bool = False
    state: str = "ok"
    reason: str | None = None
    reply: str | None = None
    call: str | None = None

    @property
    def counts(self) -> bool:
        """Whether anything came back at all, readable or not."""
        return self.state not in ("error", NOT_ASKED)

    @property
    def correct(self) -> bool | None:
        """Whether the answer is the value of the whole expression; None where none came back."""
        if not self.counts:
            return None
        return self.answer is not None and is_number(self.answer, self.value)

    @property
    def follows(self) -> bool | None:
        """Whether the answer is the value of what was asked, errors put in and all."""
        if not self.counts or self.stated is None:
            return None
        return self.answer is not None and is_number(self.answer, self.stated)

    @property
    def consistent(self) -> bool | None:
        """Whether the answer is the same number as that to the initial prompt.

        None where either could not be read, and of an initial prompt.
        """
        if self.answer is None or self.expected is None:
            return None
        return same_number(self.answer, self.expected)

    def to_json(self) -> dict[str, Json]:
        """A row of `prompts.jsonl`; values as text, since they may be fractions."""
        return row_of(
            self,
            "item agent kind node replaced depth expression value stated answer expected correct "
            "consistent part_right state reason reply call",
            value=str(self.value),
            stated=None if self.stated is None else str(self.stated),
            answer=None if self.answer is None else self.answer.text,
            expected=None if self.expected is None else self.expected.text,
        )


@dataclass(frozen=True, slots=True)
class Sums:
    """What is asked: all prompts of every graph."""

    graphs: Sequence[ArithmeticGraph]

    async def ask(self, study: Study) -> Progressed[Prompt]:
        """Graph by graph, every agent."""

        async def of_all(graph: ArithmeticGraph) -> list[Prompt]:
            found = await together(of_graph(study, name, graph) for name in study.agents)
            return [prompt for each in found for prompt in each]

        return flat(await study.over(self.graphs, of_all))

    def files(self, rows: Sequence[Prompt]) -> dict[str, Iterable[dict[str, Json]]]:
        """The prompts, one a row."""
        return {PROMPTS: (prompt.to_json() for prompt in rows)}


async def of_graph(study: Study, agent: str, graph: ArithmeticGraph) -> list[Prompt]:
    """All prompts of one graph for one agent: those of nodes, then what builds on their answers.

    Raises:
        BudgetReachedError: The budget stops a call.
    """
    nodes = graph.inner
    outcomes = await together(_ask(study, agent, graph.text(node)) for node in nodes)
    initial = {
        node: _initial(agent, graph, node, outcome)
        for node, outcome in zip(nodes, outcomes, strict=True)
    }
    drafts = [*_self_knowledge(agent, graph, initial), *_variants(agent, graph, initial)]
    later = await together(_asked(study, draft) for draft in drafts)
    return [*initial.values(), *later]


async def _ask(study: Study, agent: str, expression: str) -> Outcome[Numeral]:
    return await answer_sum(study.agents[agent], study.prompts, expression)


def _initial(agent: str, graph: ArithmeticGraph, node: int, outcome: Outcome[Numeral]) -> Prompt:
    return Prompt(
        item=graph.name,
        agent=agent,
        kind="initial",
        node=node,
        depth=graph.depths[node],
        expression=graph.text(node),
        value=graph.values[node],
        stated=graph.values[node],
        answer=outcome.value,
        whole=_are_whole(graph, node),
        state=outcome.state,
        reason=outcome.reason,
        reply=outcome.reply,
        call=outcome.call,
    )


def _are_whole(graph: ArithmeticGraph, *nodes: int) -> bool:
    return all(graph.values[node].denominator == 1 for node in nodes)


def _self_knowledge(
    agent: str, graph: ArithmeticGraph, initial: Mapping[int, Prompt]
) -> list[Prompt]:
    """The prompts with one part replaced, not asked yet."""
    return [
        _replaced(agent, graph, initial[node], initial[part])
        for node in graph.inner
        for part in graph.parts(node)
    ]


def _replaced(agent: str, graph: ArithmeticGraph, whole: Prompt, part: Prompt) -> Prompt:
    put_in = part.answer
    stated = None
    expression, reason = None, f"the answer for its part {part.expression} could not be read"
    if part.state == "error":
        reason = f"the call for its part {part.expression} failed"
    if put_in is not None:
        stated = graph.value_with(whole.node, part.node, put_in.value)
        expression = graph.text(whole.node, {part.node: put_in.operand})
        reason = f"{expression} divides by zero"
    return Prompt(
        item=graph.name,
        agent=agent,
        kind="self_knowledge",
        node=whole.node,
        replaced=part.node,
        depth=whole.depth,
        expression=expression,
        value=whole.value,
        stated=stated,
        answer=None,
        expected=whole.answer,
        part_right=part.correct,
        whole=_are_whole(graph, whole.node, part.node),
        undone="error" in (whole.state, part.state),
        state=NOT_ASKED if stated is None else "ok",
        reason=reason if stated is None else None,
    )


def _variants(agent: str, graph: ArithmeticGraph, initial: Mapping[int, Prompt]) -> list[Prompt]:
    return [
        Prompt(
            item=graph.name,
            agent=agent,
            kind=variant.kind,
            node=variant.node,
            depth=graph.depths[variant.node],
            expression=variant.text,
            value=graph.values[variant.node],
            stated=graph.values[variant.node],
            answer=None,
            expected=initial[variant.node].answer,
            whole=_are_whole(graph, variant.node),
            undone=initial[variant.node].state == "error",
        )
        for variant in graph.variants
    ]


async def _asked(study: Study, draft: Prompt) -> Prompt:
    if draft.expression is None or draft.state != "ok":
        return draft
    outcome = await _ask(study, draft.agent, draft.expression)
    return replace(
        draft,
        answer=outcome.value,
        state=outcome.state,
        reason=outcome.reason,
        reply=outcome.reply,
        call=outcome.call,
    )
