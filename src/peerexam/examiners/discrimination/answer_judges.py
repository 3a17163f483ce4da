"""Judges of single answers that have no key: a mark from 1 to 10, true or not, helpful or not.

Self-[In]Correct, §4.1: MT-bench answers are marked by a strong model, answers to TruthfulQA are
judged for truth and for information.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from peerexam.agents.base import Agent
from peerexam.calls import Request, Sampling, joined_calls
from peerexam.errors import CallError, SetupError
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.discrimination.choosing import Turn
from peerexam.examiners.prompting.delimiters import Fence, fence_for
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.own_words import own_lines
from peerexam.examiners.reading.parsing import Unreadable, answer_part

Kind = Literal["rating", "truth", "information"]

LOWEST, HIGHEST = 1.0, 10.0
_RATING = re.compile(r"\[\[\s*([0-9]{1,4}(?:\.[0-9]{1,4})?)\s*\]\]")
_RATING_TOKENS, _WORD_TOKENS = 512, 16
_WORDS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a judge is shown.

    Attributes:
        right: Answers that are known to be true, or references.
        wrong: Answers that are known to be false.
        earlier: Turns before the question.
        earlier_right: References of these.
    """

    question: str
    answer: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    earlier: tuple[Turn, ...] = ()
    earlier_right: tuple[str, ...] = ()


def read_rating(reply: str) -> float | Unreadable:
    """The mark in double brackets; where there are several, they must agree.

    >>> read_rating("Sound, but short. Rating: [[7]]")
    7.0
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    found = {float(mark) for mark in _RATING.findall("\n".join(own_lines(text)))}
    if len(found) != 1:
        return Unreadable("two different marks are given" if found else "there is no mark [[…]]")
    mark = found.pop()
    if not LOWEST <= mark <= HIGHEST:
        return Unreadable(f"the mark {mark:g} is outside 1 to 10")
    return mark


_TRUE: Choices[bool] = Choices("True", r"true|truthful", _WORDS, ("true", "truthful"))
_HELPFUL: Choices[bool] = Choices(
    "Helpful", r"helpful|informative", _WORDS, ("helpful", "informative")
)


def read_truth(reply: str) -> bool | Unreadable:
    """Whether a reply says yes to "True:"; nothing but yes or no is read."""
    return read_choice(reply, _TRUE)


def read_information(reply: str) -> bool | Unreadable:
    """Whether a reply says yes to "Helpful:"; nothing but yes or no is read."""
    return read_choice(reply, _HELPFUL)


class RatingJudge:
    """Marks an answer from 1 to 10, with a reference where there is one.

    Args:
        agent: The judge's model.
        prompts: Its words.
        seed: It keys the fences.
    """

    def __init__(self, agent: Agent, prompts: PromptLibrary, seed: int = 0) -> None:
        self.agent, self.prompts, self.seed = agent, prompts, seed

    async def judge(self, asked: Asked) -> Outcome[float]:
        """The mark, or why there is none.

        Raises:
            BudgetReachedError: The budget stops the call.
        """
        texts = [asked.question, asked.answer, *asked.right, *asked.earlier_right]
        fence = fence_for(self.seed, asked.question, [*texts, *(t.answer for t in asked.earlier)])
        references = (*asked.earlier_right, *asked.right)
        rendered = self.prompts.render(
            "rate_answer",
            "chat" in self.agent.features,
            earlier=_turns(fence, asked.earlier),
            question=fence.around("Instruction", asked.question),
            references=[
                fence.around(f"Reference {at}" if len(references) > 1 else "Reference", text)
                for at, text in enumerate(references, 1)
            ],
            answer=fence.around("Response", asked.answer),
            key=fence.key,
        )
        sampling = Sampling(0.0, max_tokens=_RATING_TOKENS, stop=rendered.stop)
        asker = Asker(self.agent, self.prompts, sampling)
        return await asker.ask(rendered, read_rating, "reask_line", {"form": "Rating: [[5]]"})


class YesNoJudge:
    """Says whether an answer is true, or whether it is informative.

    Args:
        agent: The judge's model. One that only goes on with a text is asked in the layout on which
            such judges are fine-tuned.
        kind: `truth` or `information`.
        prompts: Its words.
        seed: It keys the fences.
        by_likelihood: Compare log P(yes) with log P(no) instead of reading a reply; of a tie
            nothing is known.

    Raises:
        SetupError: The agent gives no log-probabilities, and was to judge by them.
    """

    def __init__(
        self,
        agent: Agent,
        kind: Literal["truth", "information"],
        prompts: PromptLibrary,
        seed: int = 0,
        *,
        by_likelihood: bool = False,
    ) -> None:
        if by_likelihood and "score" not in agent.features:
            raise SetupError(
                f"agent '{agent.name}' gives no log-probabilities of a text, so it cannot judge by "
                "likelihood; let it judge by prompt"
            )
        self.agent, self.kind, self.prompts, self.seed = agent, kind, prompts, seed
        self.by_likelihood = by_likelihood

    async def judge(self, asked: Asked) -> Outcome[bool]:
        """Yes or no, or why neither.

        Raises:
            BudgetReachedError: The budget stops the call.
        """
        rendered = self._rendered(asked)
        label = "True" if self.kind == "truth" else "Helpful"
        if self.by_likelihood:
            return await self._likelier(rendered, label)
        sampling = Sampling(0.0, max_tokens=_WORD_TOKENS, stop=rendered.stop)
        read = read_truth if self.kind == "truth" else read_information
        asker = Asker(self.agent, self.prompts, sampling)
        return await asker.ask(rendered, read, "reask_line", {"form": f"{label}: yes|no"})

    def _rendered(self, asked: Asked) -> Rendered:
        chat = "chat" in self.agent.features
        name = "truthful" if self.kind == "truth" else "informative"
        if not chat:
            question, answer = (" ".join(t.split()) for t in (asked.question, asked.answer))
            return self.prompts.render(name, chat, question=question, answer=answer)
        fence = fence_for(self.seed, asked.question, [asked.question, asked.answer])
        return self.prompts.render(
            name,
            chat,
            question=fence.around("Question", asked.question),
            answer=fence.around("Answer", asked.answer),
            right=list(asked.right),
            wrong=list(asked.wrong),
            key=fence.key,
        )

    async def _likelier(self, rendered: Rendered, label: str) -> Outcome[bool]:
        opening = f"{label}: " if "chat" in self.agent.features else " "
        values: list[float] = []
        calls: list[str] = []
        for word in _WORDS:
            request = Request(rendered.messages, Sampling(), continuation=opening + word)
            try:
                completion = await self.agent.complete(request)
            except CallError as error:
                reason = f"{type(error).__name__}: {error}"
                return Outcome(None, "error", reason, call=joined_calls(*calls, error.call))
            values.append(completion.logprob if completion.logprobs else math.nan)
            calls.append(completion.call)
        call = joined_calls(*calls)
        if not all(map(math.isfinite, values)):
            return Outcome(None, "error", "the agent gave no finite log-probabilities", call=call)
        if values[0] == values[1]:
            return Outcome(None, "unparsed", "yes and no are equally likely", call=call)
        return Outcome(values[0] > values[1], call=call)


def _turns(fence: Fence, earlier: Sequence[Turn]) -> list[str]:
    texts: list[str] = []
    for at, turn in enumerate(earlier, 1):
        texts.append(fence.around(f"Instruction {at}", turn.question))
        texts.append(fence.around(f"Response {at}", turn.answer))
    return texts
