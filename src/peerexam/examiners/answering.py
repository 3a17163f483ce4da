"""Answering questions, each seen alone.

A model that follows instructions gets the question; one that only goes on with a text gets five
answered questions before it (examiner paper, appendix C.2). Either can be asked the other way: with
no example, or with five.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Request, Sampling, State
from peerexam.errors import CallError
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.reading.thinking import answer_of
from peerexam.records import Answer, Question

CUT = "cut at the length limit"
"""The reason of an answer that was cut and is judged as it stands."""


def is_cut(state: State, reason: str | None) -> bool:
    """Whether an answer was cut at the length limit, by its record's state and reason."""
    return state == "truncated" or reason == CUT


@dataclass(frozen=True, slots=True)
class AnsweringOptions:
    """How examinees are asked (examiner paper, appendix C.2: 200 tokens, temperature 0).

    Attributes:
        max_tokens: Of one answer.
        temperature: Of the call.
        truncated: What becomes of an answer that was cut at the length limit: `judge` takes it as
            it stands (state `ok`, with a reason), `fail` records it as `truncated`.
        shots: How many answered questions are shown first; None is 0 for a chat model and 5 for
            one that goes on with a text.
        stop_at_line: Whether an answer ends at its first line break; None is so for a model that
            goes on with a text alone. Such a model is told to stop there, and is cut there where
            it cannot. A chat model is not told, since it may think before it answers: its first
            line is taken.
    """

    max_tokens: int = 200
    temperature: float = 0.0
    truncated: Literal["judge", "fail"] = "judge"
    shots: Literal[0, 5] | None = None
    stop_at_line: bool | None = None


class ModelExaminee:
    """An examinee that is a model.

    Args:
        agent: The model.
        prompts: Its words: the question alone, or five answered questions before it.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: AnsweringOptions | None = None
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.options = options or AnsweringOptions()
        self._file = _recorded_answers(agent)

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def answer(self, question: Question) -> Answer:
        """Answer one question; a follow-up too is asked without what went before it.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: The prompt cannot be filled in.
        """
        chat = "chat" in self.agent.features
        rendered = self.prompts.render(self._prompt(chat), chat, question=question.text)
        sampling = Sampling(
            temperature=self.options.temperature,
            max_tokens=self.options.max_tokens,
            stop=() if self.options.stop_at_line is False else rendered.stop,
        )
        try:
            if self._file is not None:
                completion = self._file.answer_for(question.id, question.text)
            else:
                completion = await self.agent.complete(Request(rendered.messages, sampling))
        except CallError as error:
            reason = f"{type(error).__name__}: {error}"
            return Answer(
                question.id, self.name, "", "error", reason, rendered.prompt_hash, error.call
            )
        return self._recorded(question, completion, chat, rendered.prompt_hash)

    def _prompt(self, chat: bool) -> str:
        """The prompt's name; asked as by default it is the one that everybody has."""
        if self.options.shots in (None, 0 if chat else 5):
            return "answer"
        return "answer_five" if chat else "answer_zero"

    def _ends_at_line(self, chat: bool) -> bool:
        told = self.options.stop_at_line
        return not chat if told is None else told

    def _recorded(
        self, question: Question, completion: Completion, chat: bool, prompt: str
    ) -> Answer:
        state, reason = completion.state, None
        text = answer_of(completion)
        if text is None:
            text, reason = "", "the reply ends inside its thinking section"
            state = "truncated" if state == "truncated" else "empty"
        elif text != completion.text or not chat:
            text = text.strip()
        if self._ends_at_line(chat) and "\n" in text.strip():
            # Of an answer that went on, this part is whole.
            text = text.strip().split("\n", 1)[0].strip()
            state = "ok" if state == "truncated" else state
        if state == "truncated":
            reason = reason or CUT
            state = "ok" if text.strip() and self.options.truncated == "judge" else "truncated"
        elif state == "ok" and not text.strip():
            state = "empty"
        if state not in ("ok", "truncated"):
            reason = reason or completion.finish_reason
        return Answer(question.id, self.name, text, state, reason, prompt, completion.call or None)


@runtime_checkable
class _Recorded(Protocol):
    def answer_for(self, question_id: str | None, text: str | None) -> Completion: ...


def _recorded_answers(agent: Agent) -> _Recorded | None:
    """The agent, or one that it wraps, that looks answers up by question id."""
    inner: object = agent
    while inner is not None:
        if isinstance(inner, _Recorded):
            return inner
        inner = getattr(inner, "inner", None)
    return None
