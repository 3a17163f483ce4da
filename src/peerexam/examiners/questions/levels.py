"""Saying what cognitive level a question asks for (examiner paper, §3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from peerexam.agents.base import Agent
from peerexam.calls import Sampling
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import choice_form
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.reading.choices import Choices, read_choice
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.records import Level, LevelVote, Question

LEVELS: tuple[Level, ...] = get_args(Level)
"""From the lowest to the highest."""

_CHOICES: Choices[Level] = Choices(
    label="Level",
    synonyms=r"(?:cognitive\s+|knowledge\s+)?(?:level|category|classification)",
    words={
        **{level: level for level in LEVELS},
        **{f"knowledge {level}": level for level in LEVELS},
        "memorisation": "memorization",
        "knowledge memorisation": "memorization",
    },
    keys=("level", "category", "classification"),
)


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """How a classifier is asked.

    Attributes:
        max_tokens: Of one reply.
        reasks: How often it is asked again where its reply cannot be read.
        temperature: Of every call.
        seed: The exam's; it keys the fence round the question.
    """

    max_tokens: int = 64
    reasks: int = 1
    temperature: float = 0.0
    seed: int = 0


def read_level(reply: str) -> Level | Unreadable:
    """Which level a classifier's reply declares; what it says of levels in passing is not read.

    >>> read_level("Level: analysis")
    'analysis'
    """
    return read_choice(reply, _CHOICES)


class LevelClassifier:
    """A classifier that is asked in words.

    It sees the question alone, fenced as data, and where its agent can be held to a form, it is.
    A reply that cannot be read is asked for again; after that the vote's state is `unparsed`, the
    reply is kept, and there is no level.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: LevelOptions | None = None
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.options = options or LevelOptions()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    async def level(self, question: Question) -> LevelVote:
        """Say what level a question asks for.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        options = self.options
        form = choice_form(_CHOICES.label, LEVELS, self.agent.features)
        fence = fence_for(options.seed, question.text, [question.text])
        fields = {"as_json": form is not None and form.kind == "json_schema"}
        rendered = self.prompts.render(
            "level",
            "chat" in self.agent.features,
            question=fence.around("Question", question.text),
            key=fence.key,
            **fields,
        )
        # A reply that is held to a form ends by itself.
        stop = () if form else rendered.stop
        sampling = Sampling(options.temperature, None, options.max_tokens, stop, form=form)
        asker = Asker(self.agent, self.prompts, sampling, options.reasks, "question")
        outcome: Outcome[Level] = await asker.ask(rendered, read_level, "reask_level", fields)
        return LevelVote(
            question_id=question.id,
            classifier=self.name,
            level=outcome.value,
            state=outcome.state,
            reason=outcome.reason,
            reply=outcome.reply,
            prompt=rendered.prompt_hash,
            call=outcome.call,
        )
