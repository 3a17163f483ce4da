"""Self-knowledge prompts (self-knowledge, "Self-Invariance"): what would you answer if asked p?

A model has self-knowledge if g(f(p', p)) ~ g(p) for templates p' that ask for its own reply to p.
Ours are four, each in words of its own; `protocols.own_choice` adds a choice among four replies.

Which replies are the same is for the task to say: nested sums as numbers; the replies to prompts of
a user's file as texts, whose case, spaces and punctuation at the ends make no difference, and
nothing cleverer: there the rate is a lower bound.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Json, Message, Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.parsing import Unreadable, answer_part
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, Study, flat, row_of
from peerexam.protocols.studies.consistency.answering_sums import read_sum, sum_prompt, sum_sampling
from peerexam.tasks.consistency.numerals import Numeral, same_number

TEMPLATES = ("asked", "given", "predict", "quoted")
"""`hypothetical_NAME` among the prompts."""

DIRECT = "direct"
MAX_TOKENS = 200
"""Of a reply to a user's own prompt."""


@dataclass(frozen=True, slots=True)
class Said:
    """A reply as it is compared.

    Attributes:
        text: As it stands in records and in a choice.
        number: Of a sum.
    """

    text: str
    number: Numeral | None = None

    def is_like(self, other: Said) -> bool:
        """Whether the two are the same reply; see the head of this module."""
        if self.number is not None and other.number is not None:
            return same_number(self.number, other.number)
        return plain(self.text) == plain(other.text)


def plain(text: str) -> str:
    """A text without case, without spaces and punctuation at its ends, its inner spaces single.

    >>> plain(' "The  Danube." ') == plain("the danube")
    True
    """
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(" .,;:!?'\"`*“”‘’()[]")


@dataclass(frozen=True, slots=True)
class Asking:
    """What the prompts are.

    Attributes:
        texts: A sum each, or a prompt of the user's.
        sums: Whether they are sums.
        seed: Of choices and fences.
    """

    texts: Sequence[str]
    sums: bool
    seed: int = 0

    def direct(self, prompts: PromptLibrary, chat: bool, text: str) -> Rendered:
        """The prompt p itself, as it is sent."""
        if self.sums:
            return sum_prompt(prompts, chat, text)
        return Rendered((Message("user", text),), "")

    def sampling(self, agent: Agent) -> Sampling:
        """The same for p and for f(p', p)."""
        if self.sums:
            return sum_sampling(agent.features, () if "chat" in agent.features else ("\n",))
        return Sampling(temperature=0.0, max_tokens=MAX_TOKENS)

    def read(self, reply: str) -> Said | Unreadable:
        """What a reply says."""
        if not self.sums:
            part = answer_part(reply)
            return part if isinstance(part, Unreadable) else Said(part.strip())
        found = read_sum(reply)
        return found if isinstance(found, Unreadable) else Said(found.text, found)


@dataclass(frozen=True, slots=True)
class Hypothetical:
    """One prompt of one agent.

    Attributes:
        item: Number of the prompt p, as `p0001`.
        agent: Who was asked.
        kind: `direct` for p itself, a template's name, or `choice`.
        prompt: The sum, or the user's prompt.
        said: What was answered; of a choice, the reply chosen.
        expected: What the agent answered to p.
        undone: Whether the call for p failed.
        rivals: Whose replies stood in a choice beside the agent's own, its own name for a reply of
            its own to another prompt.
        state: `ok`, or why nothing was read, or `not_asked`.
        reason: The same in words.
        reply: The reply, where it could not be read.
        call: Ledger key of the call.
    """

    item: str
    agent: str
    kind: str
    prompt: str
    said: Said | None
    expected: Said | None = None
    undone: bool = False
    rivals: tuple[str, ...] = ()
    state: str = "ok"
    reason: str | None = None
    reply: str | None = None
    call: str | None = None

    @property
    def counts(self) -> bool:
        """Whether anything came back at all, readable or not."""
        return self.state not in ("error", "not_asked")

    @property
    def consistent(self) -> bool | None:
        """Whether it is what was answered to p; None where either could not be read."""
        if self.said is None or self.expected is None or self.kind == DIRECT:
            return None
        return self.said.is_like(self.expected)

    def to_json(self) -> dict[str, Json]:
        """A row of `prompts.jsonl`."""
        return row_of(
            self,
            "item agent kind prompt said expected consistent rivals state reason reply call",
            said=None if self.said is None else self.said.text,
            expected=None if self.expected is None else self.expected.text,
            rivals=list(self.rivals),
        )


async def ask_templates(study: Study, asking: Asking) -> Progressed[Hypothetical]:
    """Ask every agent each prompt p, and every template over it.

    Args:
        study: Whom to ask, and with what words.
        asking: The prompts.
    """

    async def of_all(numbered: tuple[int, str]) -> list[Hypothetical]:
        number, text = numbered
        found = await together(
            _of_agent(study, asking, name, f"p{number:04d}", text) for name in study.agents
        )
        return [row for each in found for row in each]

    return flat(await study.over(list(enumerate(asking.texts, 1)), of_all))


async def _of_agent(
    study: Study, asking: Asking, name: str, item: str, text: str
) -> list[Hypothetical]:
    agent = study.agents[name]
    prompts = [
        hypothetical_prompt(study.prompts, asking, agent, text, kind)
        for kind in (DIRECT, *TEMPLATES)
    ]
    direct, *others = await together(_ask(study, asking, agent, prompt) for prompt in prompts)
    first = _row(item, name, DIRECT, text, direct, None)
    return [
        first,
        *(
            _row(item, name, kind, text, outcome, first)
            for kind, outcome in zip(TEMPLATES, others, strict=True)
        ),
    ]


def hypothetical_prompt(
    prompts: PromptLibrary, asking: Asking, agent: Agent, text: str, kind: str
) -> Rendered:
    """The prompt p, or f(p', p) for one of the templates."""
    chat = "chat" in agent.features
    direct = asking.direct(prompts, chat, text)
    if kind == DIRECT:
        return direct
    fence = fence_for(asking.seed, direct.text, [direct.text])
    around = fence.around("Prompt", direct.text)
    return prompts.render(f"hypothetical_{kind}", chat, question=around)


async def _ask(study: Study, asking: Asking, agent: Agent, prompt: Rendered) -> Outcome[Said]:
    asker = Asker(agent, study.prompts, asking.sampling(agent), reasks=0)
    outcome = await asker.ask(prompt, asking.read, "", {})
    if asking.sums or outcome.state != "truncated" or outcome.reply is None:
        return outcome
    # Both p and f(p', p) are cut at the same limit, so that what was cut can be compared.
    said = asking.read(outcome.reply)
    return outcome if isinstance(said, Unreadable) else Outcome(said, call=outcome.call)


def _row(
    item: str,
    agent: str,
    kind: str,
    text: str,
    outcome: Outcome[Said],
    direct: Hypothetical | None,
) -> Hypothetical:
    return Hypothetical(
        item=item,
        agent=agent,
        kind=kind,
        prompt=text,
        said=outcome.value,
        expected=direct.said if direct else None,
        undone=direct is not None and direct.state == "error",
        state=outcome.state,
        reason=outcome.reason,
        reply=outcome.reply,
        call=outcome.call,
    )
