"""Proposing answers to a question, and choosing among answers (Self-[In]Correct, §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Request, Sampling, State
from peerexam.errors import CallError
from peerexam.examiners.discrimination.reading_labels import read_label, read_verbatim
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.examiners.reading.thinking import answer_of


class Worked(Protocol):
    """An example, as the templates read it."""

    @property
    def question(self) -> str:
        """What is asked."""

    @property
    def answer(self) -> str:
        """An answer in full."""

    @property
    def candidates(self) -> Sequence[str]:
        """Answers to choose from."""

    @property
    def best(self) -> int:
        """Number of the best of them, counted from 1."""

    @property
    def why(self) -> str:
        """For what reason."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that came before."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """One answer.

    Attributes:
        state: `ok` too where it was cut at the length limit.
        reason: Why there is no text, or that it was cut.
    """

    text: str
    state: State = "ok"
    reason: str | None = None
    prompt: str = ""
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """How the discrimination prompt is put.

    Attributes:
        number: 1 to 3 (appendix D).
        reasons: Whether the reply gives a reason before it chooses (§5.1).
        verbatim: Whether it names the answer by its text instead of its label (appendix C).
    """

    number: int = 1
    reasons: bool = False
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """What a reply names.

    Attributes:
        label: Counted from 1; None where it is not told by one, or cannot be read.
        text: Of a verbatim reply, what it names.
        state: `unparsed` where nothing can be read; `error` where the call failed.
        reply: As it came.
    """

    label: int | None
    text: str | None = None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str = ""
    call: str | None = None


def solving(
    prompts: PromptLibrary,
    chat: bool,
    task: str,
    examples: Sequence[Worked],
    question: str,
    earlier: Sequence[Turn] = (),
) -> Rendered:
    """The generation prompt."""
    return prompts.render(
        "solve",
        chat,
        task=task,
        worked=list(examples),
        question=question,
        earlier=list(earlier),
    )


async def propose(agent: Agent, rendered: Rendered, sampling: Sampling, draw: int) -> Proposed:
    """One answer of an agent; a failed call is a state.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    request = Request(rendered.messages, sampling, draw=draw)
    try:
        completion = await agent.complete(request)
    except CallError as error:
        reason = f"{type(error).__name__}: {error}"
        return Proposed("", "error", reason, rendered.prompt_hash, error.call)
    text = answer_of(completion)
    call = completion.call or None
    if text is None:
        reason = "the reply ends inside its thinking section"
        return Proposed("", "empty", reason, rendered.prompt_hash, call)
    state = "ok" if completion.state == "truncated" and text.strip() else completion.state
    if state == "ok" and not text.strip():
        state = "empty"
    why = "cut at the length limit" if completion.state == "truncated" else None
    if state not in ("ok", "truncated"):
        why = completion.finish_reason or f"the reply is {state}"
    return Proposed(text.strip(), state, why, rendered.prompt_hash, call)


def choosing(
    prompts: PromptLibrary,
    chat: bool,
    task: str,
    examples: Sequence[Worked],
    question: str,
    candidates: Sequence[str],
    wording: Wording,
    seed: int = 0,
) -> Rendered:
    """The discrimination prompt; question and candidates are fenced as data."""
    fence = fence_for(seed, question, [question, *candidates])
    rendered = prompts.render(
        "choose",
        chat,
        task=task,
        worked=list(examples),
        question=fence.around("Question", question),
        candidates=[
            fence.around(f"Answer {label}", text) for label, text in enumerate(candidates, 1)
        ],
        key=fence.key,
        reasons=wording.reasons,
        verbatim=wording.verbatim,
        wording_2=wording.number == 2,
        wording_3=wording.number == 3,
    )
    if chat or wording.reasons or wording.verbatim:
        return rendered
    # A text that goes on has said its label where the line ends.
    return replace(rendered, stop=("\n", *rendered.stop))


async def choose(
    agent: Agent, rendered: Rendered, n: int, max_tokens: int, verbatim: bool
) -> Named:
    """Let an agent choose greedily among n candidates; a failed call is a state.

    Raises:
        BudgetReachedError: The budget stops the call.
    """
    sampling = Sampling(0.0, max_tokens=max_tokens, stop=rendered.stop)
    try:
        completion = await agent.complete(Request(rendered.messages, sampling))
    except CallError as error:
        reason = f"{type(error).__name__}: {error}"
        return Named(
            None, state="error", reason=reason, prompt=rendered.prompt_hash, call=error.call
        )
    return _named(completion, rendered.prompt_hash, n, verbatim)


def _named(completion: Completion, prompt: str, n: int, verbatim: bool) -> Named:
    call, reply = completion.call or None, completion.text
    if completion.state not in ("ok", "truncated"):
        reason = completion.finish_reason or f"the reply is {completion.state}"
        return Named(None, None, completion.state, reason, reply, prompt, call)
    labels = [str(label) for label in range(1, n + 1)]
    read = read_verbatim(reply) if verbatim else read_label(reply, labels)
    if isinstance(read, Unreadable):
        return Named(None, None, "unparsed", read.reason, reply, prompt, call)
    if verbatim:
        return Named(None, read, "ok", None, reply, prompt, call)
    return Named(int(read), None, "ok", None, reply, prompt, call)
