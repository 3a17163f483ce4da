"""An author's own answers to its questions (examiner paper, §3.1), and whether they say the same.

The paper asks each author once and has people check the answers. Beyond it, an author may be asked
several times: one that answers its question otherwise every time does not know the answer.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Request, Sampling, State
from peerexam.errors import CallError
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import choice_form
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.examiners.reading.thinking import answer_of
from peerexam.records import Question, Reference

_CHOICES: Choices[bool] = Choices(
    label="Same",
    synonyms=r"same(?:\s+answer)?|(?:is\s+it|are\s+they)\s+the\s+same|verdict|decision",
    words={"yes": True, "no": False, "true": True, "false": False},
    keys=("same", "verdict", "decision"),
)


@dataclass(frozen=True, slots=True)
class ReferenceOptions:
    """How an author is asked for its own answers.

    Attributes:
        max_tokens: Of one answer.
        temperature: Of the draws after the first, which is greedy.
    """

    max_tokens: int = 200
    temperature: float = 0.7


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How a checker is asked.

    Attributes:
        max_tokens: Of one reply.
        reasks: How often it is asked again where its reply cannot be read.
        temperature: Of every call.
        seed: The exam's; it keys the fences round the answers.
    """

    max_tokens: int = 512
    reasks: int = 1
    temperature: float = 0.0
    seed: int = 0


def read_same(reply: str) -> bool | Unreadable:
    """Whether a checker's reply declares two answers to say the same.

    >>> read_same("Same: no")
    False
    """
    return read_choice(reply, _CHOICES)


def same_words(one: str, other: str) -> bool:
    """Whether two answers are the same but for spaces and a full stop at the end.

    Case counts: mW is not MW.

    >>> same_words("Paris.", " Paris")
    True
    """
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).rstrip(". ")


class ModelAuthor:
    """An author that is a model.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: ReferenceOptions | None = None
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.options = options or ReferenceOptions()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def reference(self, question: Question, draw: int) -> Reference:
        """Answer one of its own questions; draw 0 is greedy.

        An answer that was cut at the length limit is no reference: its state is `truncated`.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: The prompt cannot be filled in.
        """
        chat = "chat" in self.agent.features
        rendered = self.prompts.render("reference", chat, question=question.text)
        sampling = Sampling(
            temperature=self.options.temperature if draw else 0.0,
            max_tokens=self.options.max_tokens,
            stop=rendered.stop,
        )
        prompt = rendered.prompt_hash
        try:
            completion = await self.agent.complete(Request(rendered.messages, sampling, draw))
        except CallError as error:
            why = f"{type(error).__name__}: {error}"
            return Reference(
                question.id, self.name, draw, "", None, "error", why, prompt, error.call
            )
        text, state, reason = _kept(completion)
        call = completion.call or None
        return Reference(question.id, self.name, draw, text, None, state, reason, prompt, call)


def _kept(completion: Completion) -> tuple[str, State, str | None]:
    """Text without its thinking, state and reason of an answer."""
    state, text = completion.state, answer_of(completion)
    if text is None:
        cut: State = "truncated" if state == "truncated" else "empty"
        return "", cut, "the reply ends inside its thinking section"
    text = text.strip()
    if state == "ok" and not text:
        return text, "empty", "the reply is empty"
    if state == "truncated":
        return text, state, "cut at the length limit"
    return text, state, None if state == "ok" else completion.finish_reason


class ModelChecker:
    """A model that says whether two answers of an author say the same.

    It sees the question and both answers, each fenced as data, and where its agent can be held to
    a form, it is.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: CheckOptions | None = None
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.options = options or CheckOptions()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def same(self, question: Question, reference: str, other: str) -> Outcome[bool]:
        """Say whether another answer says the same as the reference.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        options = self.options
        form = choice_form(_CHOICES.label, ["yes", "no"], self.agent.features)
        fence = fence_for(options.seed, question.text, [question.text, reference, other])
        fields = {"as_json": form is not None and form.kind == "json_schema"}
        rendered = self.prompts.render(
            "same_answer",
            "chat" in self.agent.features,
            question=fence.around("Question", question.text),
            answer_1=fence.around("Answer 1", reference),
            answer_2=fence.around("Answer 2", other),
            key=fence.key,
            **fields,
        )
        # A reply that is held to a form ends by itself.
        stop = () if form else rendered.stop
        sampling = Sampling(options.temperature, None, options.max_tokens, stop, form=form)
        asker = Asker(self.agent, self.prompts, sampling, options.reasks, "answers")
        return await asker.ask(rendered, read_same, "reask_same_answer", fields)
