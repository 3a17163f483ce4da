"""Judging by prompt: Likert marks and pairwise verdicts (examiner paper, §3.2, B.4 and B.5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from peerexam.agents.base import Agent
from peerexam.calls import Form, Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.judging.marks import read_marks
from peerexam.examiners.judging.verdicts import read_verdict
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import marks_form, verdict_form
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.prompting.overflow import Shown
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.records import Answer, Mark, Question, Verdict, Winner


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """How a judge is asked.

    Attributes:
        reasks: How often it is asked again where its reply cannot be read.
        max_tokens: Of one reply.
        temperature: Of every call.
        ties: Whether a tie is offered; the examiner paper offers none.
        seed: The exam's; it keys the fences round the text of others.
    """

    reasks: int = 1
    max_tokens: int = 512
    temperature: float = 0.0
    ties: bool = True
    seed: int = 0


class PromptJudge:
    """A judge that is asked in words.

    It sees a question and one or two answers, by position and never by name, each fenced as data.
    Where its agent can be held to a form, it is. A reply that cannot be read is asked for again;
    after that the record's state is `unparsed` and the reply is kept. Nothing is cut: where the
    answers do not fit into its context, the record's state is `error` and its reason says so.

    Args:
        agent: The model.
        prompts: Its words.
        rubric: What it scores.
        options: How it is asked.
    """

    def __init__(
        self,
        agent: Agent,
        prompts: PromptLibrary,
        rubric: Rubric | None = None,
        options: JudgingOptions | None = None,
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.rubric = rubric or Rubric()
        self.options = options or JudgingOptions()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def mark(self, question: Question, answer: Answer) -> Mark:
        """Score one answer.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        form = marks_form(self.rubric, self.agent.features)
        fence = fence_for(self.options.seed, question.text, [question.text, answer.text])
        fields = {"rubric": self.rubric, "as_json": _as_json(form)}
        rendered = self._render(
            "mark",
            question=fence.around("Question", question.text),
            answer=fence.around("Answer", answer.text),
            key=fence.key,
            **fields,
        )
        outcome = await self._asker(rendered, form, "answer").ask(
            rendered, partial(read_marks, rubric=self.rubric), "reask_mark", fields
        )
        value = outcome.value
        return Mark(
            question_id=question.id,
            examinee=answer.examinee,
            judge=self.name,
            scores=value.scores if value else dict.fromkeys(self.rubric.dimensions),
            overall=value.overall if value else None,
            state=outcome.state,
            reason=outcome.reason,
            reply=outcome.reply,
            prompt=rendered.prompt_hash,
            call=outcome.call,
        )

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        """Say which of two answers is better, shown in this order.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        ties = self.options.ties
        form = verdict_form(ties, self.agent.features)
        shown = [question.text, first.text, second.text]
        fence = fence_for(self.options.seed, question.text, shown)
        fields = {"ties": ties, "as_json": _as_json(form)}
        rendered = self._render(
            "compare",
            question=fence.around("Question", question.text),
            response_1=fence.around("Response 1", first.text),
            response_2=fence.around("Response 2", second.text),
            key=fence.key,
            **fields,
        )
        outcome: Outcome[Winner] = await self._asker(rendered, form, "answers").ask(
            rendered, partial(read_verdict, ties=ties), "reask_compare", fields
        )
        return Verdict(
            question_id=question.id,
            judge=self.name,
            first=first.examinee,
            second=second.examinee,
            winner=outcome.value,
            state=outcome.state,
            reason=outcome.reason,
            reply=outcome.reply,
            prompt=rendered.prompt_hash,
            call=outcome.call,
        )

    def _render(self, name: str, **fields: object) -> Rendered:
        return self.prompts.render(name, "chat" in self.agent.features, **fields)

    def _asker(self, rendered: Rendered, form: Form | None, shown: Shown) -> Asker:
        sampling = Sampling(
            temperature=self.options.temperature,
            max_tokens=self.options.max_tokens,
            # A reply that is held to a form ends by itself.
            stop=() if form else rendered.stop,
            form=form,
        )
        return Asker(self.agent, self.prompts, sampling, self.options.reasks, shown)


def _as_json(form: Form | None) -> bool:
    return form is not None and form.kind == "json_schema"
