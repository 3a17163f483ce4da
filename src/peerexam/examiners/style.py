"""Saying the same in another style, and checking that it is the same (examiner paper, B.6, §4.4).

The paper has ChatGPT rewrite answers of Vicuna, and people choose the rewritten ones that mirror
their originals. Here a second model is asked whether the content was kept, and what it does not
vouch for is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Request, Sampling, State
from peerexam.errors import CallError
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.delimiters import MARK, fence_for
from peerexam.examiners.prompting.forms import choice_form
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.parsing import Unreadable, answer_part
from peerexam.records import Answer

FEWEST_TOKENS, MOST_TOKENS = 64, 4096
"""Bounds of what a rewriting may take; in between it is about twice its original."""

CHECK_TOKENS = 512
"""Of a checker's reply; it may think aloud before it decides."""

_CHOICES: Choices[bool] = Choices(
    label="Kept",
    synonyms=r"(?:content\s+)?(?:was\s+)?kept|verdict|decision",
    words={"yes": True, "no": False, "true": True, "false": False},
    keys=("kept", "verdict", "decision"),
)
_BYTES_A_TOKEN = 2
_LABEL = re.compile(r"rewritten\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """An answer in other words, or why there is none; `text` is empty then.

    Attributes:
        reply: The rewriter's text where it could not be used.
    """

    text: str
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class ContentCheck:
    """Whether a checker says that the content was kept; None where it said nothing readable."""

    kept: bool | None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None


def read_rewriting(reply: str) -> str | Unreadable:
    r"""The rewritten text in a reply: all of it but thinking, and marks or a label around it.

    >>> read_rewriting("[[begin Text 0a]]\nSo be it.\n[[end Text 0a]]")
    'So be it.'
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    text = _within_marks(text.strip())
    label = _LABEL.match(text)
    text = text[label.end() :] if label else text
    if MARK.search(text):
        return Unreadable("it repeats marks of the prompt")
    return text or Unreadable("the reply is empty")


def _within_marks(text: str) -> str:
    """What stands between two marks on the first and the last line; else the text as it is."""
    first, _, rest = text.partition("\n")
    inside, _, last = rest.rpartition("\n")
    both = MARK.fullmatch(first.strip()) and MARK.fullmatch(last.strip())
    return inside.strip() if both else text


def read_kept(reply: str) -> bool | Unreadable:
    """Whether a checker's reply declares the content to be kept.

    >>> read_kept("Kept: yes")
    True
    """
    return read_choice(reply, _CHOICES)


class ModelRewriter:
    """A model that puts answers into more eloquent language.

    It sees the answer alone, fenced as data, neither its question nor who wrote it.

    Args:
        agent: The model.
        prompts: Its words.
        seed: It keys the fences.
    """

    def __init__(self, agent: Agent, prompts: PromptLibrary, seed: int = 0) -> None:
        self.agent = agent
        self.prompts = prompts
        self.seed = seed

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def rewrite(self, answer: Answer) -> Rewriting:
        """Rewrite one answer; greedy, once.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: The prompt cannot be filled in.
        """
        fence = fence_for(self.seed, "", [answer.text])
        rendered = self.prompts.render(
            "rewrite",
            "chat" in self.agent.features,
            answer=fence.around("Text", answer.text),
            key=fence.key,
        )
        sampling = Sampling(0.0, None, _room_for(answer.text), rendered.stop)
        prompt = rendered.prompt_hash
        try:
            completion = await self.agent.complete(Request(rendered.messages, sampling))
        except CallError as error:
            reason = f"{type(error).__name__}: {error}"
            return Rewriting("", "error", reason, prompt=prompt, call=error.call)
        return _rewriting(completion, prompt)


def _room_for(text: str) -> int:
    """Tokens for twice a text: about four bytes a token, whatever the script."""
    room = len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN
    return min(max(room, FEWEST_TOKENS), MOST_TOKENS)


def _rewriting(completion: Completion, prompt: str) -> Rewriting:
    call = completion.call or None
    if completion.state != "ok":
        reason = completion.finish_reason or f"the reply is {completion.state}"
        return Rewriting("", completion.state, reason, completion.text or None, prompt, call)
    text = read_rewriting(completion.text)
    if isinstance(text, Unreadable):
        return Rewriting("", "unparsed", text.reason, completion.text, prompt, call)
    return Rewriting(text, prompt=prompt, call=call)


class ModelContentChecker:
    """A model that says whether a rewritten text says all that its original says, and no more.

    It sees both texts, each fenced as data, and where its agent can be held to a form, it is.

    Args:
        agent: The model.
        prompts: Its words.
        seed: It keys the fences.
        reasks: How often it is asked again where its reply cannot be read.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, seed: int = 0, reasks: int = 1
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.seed = seed
        self.reasks = reasks

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def check(self, original: str, rewritten: str) -> ContentCheck:
        """Say whether the content was kept.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        form = choice_form(_CHOICES.label, ["yes", "no"], self.agent.features)
        fence = fence_for(self.seed, "", [original, rewritten])
        fields = {"as_json": form is not None and form.kind == "json_schema"}
        rendered = self.prompts.render(
            "content_kept",
            "chat" in self.agent.features,
            answer_1=fence.around("Text 1", original),
            answer_2=fence.around("Text 2", rewritten),
            key=fence.key,
            **fields,
        )
        # A reply that is held to a form ends by itself.
        stop = () if form else rendered.stop
        sampling = Sampling(0.0, None, CHECK_TOKENS, stop, form=form)
        asker = Asker(self.agent, self.prompts, sampling, self.reasks, "answers")
        found: Outcome[bool] = await asker.ask(rendered, read_kept, "reask_content_kept", fields)
        return ContentCheck(
            found.value, found.state, found.reason, found.reply, rendered.prompt_hash, found.call
        )
