"""Judging by likelihood, for models that cannot follow a judging prompt."""

from __future__ import annotations

import asyncio
import hashlib
import math
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Request, Sampling, State, canonical_json, joined_calls
from peerexam.errors import CallError, ContextTooLongError, SetupError
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.prompting.overflow import overflow_reason
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.records import Answer, Mark, Question, Verdict, Winner


@dataclass(frozen=True, slots=True)
class LikelihoodOptions:
    """How likelihoods become verdicts and marks.

    Attributes:
        tie_within: Two values that differ by no more are a tie; in nats, or in nats a token.
        pass_at: The gain in nats a token from which an answer gets the full mark.
        per_token: Compare gains a token instead of whole gains. Whole gains favour the longer of
            two fitting answers, gains a token the shorter.
    """

    tie_within: float = 0.0
    pass_at: float = 1.0
    per_token: bool = False


@dataclass(frozen=True, slots=True)
class Gain:
    """How much likelier a question makes an answer.

    Attributes:
        nats: log P(answer | question) − log P(answer), summed over the answer's tokens.
        tokens: How many these are.
        calls: Ledger keys of the two calls.
    """

    nats: float
    tokens: int
    calls: tuple[str, ...] = ()

    @property
    def per_token(self) -> float:
        """Nats a token."""
        return self.nats / self.tokens


@dataclass(frozen=True, slots=True)
class NoGain:
    """Why an answer has no value, and the ledger keys of the calls that were made for it."""

    state: State
    reason: str
    calls: tuple[str, ...] = ()


class LikelihoodJudge:
    """A judge that is never asked for a judgement.

    The value of an answer X to a question Q is log P(X | Q) − log P(X), in nats, the pointwise
    mutual information of the two under the judge's model. The better of two answers is the one
    with the higher value, by default of the whole answer. Values do not know of positions, so the
    judge cannot prefer the first place; it can prefer its own words, and that is worth measuring.

    A mark has an overall score only: low + ⌊(high − low) · gain a token / `pass_at`⌋, kept within
    the rubric's overall scale, by default 1 to 5. It is not calibrated: `pass_at` was chosen, not
    measured, and such marks should not be held against those of judges by prompt.

    A chat model sees the question as the user's turn, and for P(X) an empty turn; another model
    sees "Question: Q⏎Answer:", and "Question:⏎Answer:".

    Args:
        agent: A model with the feature `score`.
        prompts: Its words.
        options: How likelihoods become verdicts and marks.
        rubric: Its overall scale and the names of its dimensions; the paper's by default.

    Raises:
        SetupError: The agent cannot score a text.
    """

    def __init__(
        self,
        agent: Agent,
        prompts: PromptLibrary,
        options: LikelihoodOptions | None = None,
        rubric: Rubric | None = None,
    ) -> None:
        if "score" not in agent.features:
            raise SetupError(
                f"agent '{agent.name}' gives no log-probabilities of a text, so it cannot judge by "
                "likelihood; let it judge by prompt, or take it out of the judges"
            )
        self.agent = agent
        self.prompts = prompts
        self.options = options or LikelihoodOptions()
        self.rubric = rubric or Rubric()
        self._gains: dict[bytes, Gain | NoGain] = {}
        self._running: dict[bytes, asyncio.Lock] = {}

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def gain(self, question: Question, answer: Answer) -> Gain | NoGain:
        """The value of an answer; asked for once a question and text, then remembered.

        Raises:
            BudgetReachedError: The budget stops a call.
        """
        if not answer.text.strip():
            return NoGain("empty", "there is no text to score")
        body = canonical_json([question.text, answer.text]).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(body).digest()
        if key in self._gains:
            return self._gains[key]
        async with self._running.setdefault(key, asyncio.Lock()):
            if key not in self._gains:
                self._gains[key] = await self._measure(question.text, answer.text)
        self._running.pop(key, None)
        return self._gains[key]

    async def mark(self, question: Question, answer: Answer) -> Mark:
        """Score one answer by its gain a token."""
        gain = await self.gain(question, answer)
        return Mark(
            question_id=question.id,
            examinee=answer.examinee,
            judge=self.name,
            scores=dict.fromkeys(self.rubric.dimensions),
            overall=None if isinstance(gain, NoGain) else self._overall(gain),
            state=gain.state if isinstance(gain, NoGain) else "ok",
            reason=gain.reason if isinstance(gain, NoGain) else None,
            prompt=self._prompt("").prompt_hash,
            call=_keys(gain),
        )

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        """Compare the values of two answers; their order makes no difference."""
        one = await self.gain(question, first)
        two = await self.gain(question, second)
        failed = next((each for each in (one, two) if isinstance(each, NoGain)), None)
        winner: Winner | None = None
        if not isinstance(one, NoGain) and not isinstance(two, NoGain):
            winner = self._winner(one, two)
        return Verdict(
            question_id=question.id,
            judge=self.name,
            first=first.examinee,
            second=second.examinee,
            winner=winner,
            state=failed.state if failed else "ok",
            reason=failed.reason if failed else None,
            prompt=self._prompt("").prompt_hash,
            call=_keys(one, two),
        )

    def _winner(self, one: Gain, two: Gain) -> Winner:
        values = (one.per_token, two.per_token) if self.options.per_token else (one.nats, two.nats)
        lead = values[0] - values[1]
        if abs(lead) <= self.options.tie_within:
            return "tie"
        return "first" if lead > 0 else "second"

    def _overall(self, gain: Gain) -> int:
        low, high = self.rubric.overall
        steps = math.floor((high - low) * min(gain.per_token / self.options.pass_at, 1.0))
        return max(low, low + steps)

    def _prompt(self, question: str) -> Rendered:
        return self.prompts.render(
            "likelihood", "chat" in self.agent.features, question=question.strip()
        )

    async def _measure(self, question: str, text: str) -> Gain | NoGain:
        # A text that goes on after "Answer:" begins with a space.
        continuation = text.strip() if "chat" in self.agent.features else f" {text.strip()}"
        sums: list[float] = []
        tokens = 0
        calls: list[str] = []
        for asked in ("", question):
            request = Request(self._prompt(asked).messages, Sampling(), continuation=continuation)
            try:
                completion = await self.agent.complete(request)
            except CallError as error:
                return NoGain(
                    "error", self._reason(error), tuple(filter(None, (*calls, error.call)))
                )
            calls += filter(None, [completion.call])
            if not completion.logprobs or not math.isfinite(completion.logprob):
                reason = "the agent gave no finite log-probabilities of the answer"
                return NoGain("error", reason, tuple(calls))
            sums.append(completion.logprob)
            tokens = len(completion.logprobs)
        alone, given = sums
        return Gain(given - alone, tokens, tuple(calls))

    def _reason(self, error: CallError) -> str:
        if isinstance(error, ContextTooLongError):
            return overflow_reason(self.name, "answer", error)
        return f"{type(error).__name__}: {error}"


def _keys(*gains: Gain | NoGain) -> str | None:
    return joined_calls(*(key for gain in gains for key in gain.calls))
