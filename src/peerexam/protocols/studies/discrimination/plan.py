"""How many calls a study of discrimination takes, and about how many tokens."""

from __future__ import annotations

from collections.abc import Iterator

from peerexam.examiners.discrimination.choosing import choosing, solving
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.ranges import Range, exactly
from peerexam.protocols.studies.discrimination.answer_scoring import kinds_of_judges
from peerexam.protocols.studies.discrimination.protocol import Discrimination
from peerexam.protocols.studies.discrimination.variations import PLAIN, Variation
from peerexam.protocols.studies.plan import (
    CHARACTERS_PER_TOKEN,
    StudyPlan,
    StudyWork,
    study_plan,
)
from peerexam.tasks.discrimination.examples import examples_of

_LOOKED_AT = 50
"""Items whose prompts are measured; the others are taken to be like them."""

_JUDGE_WORDS, _RATING_WORDS = 8, 150
"""Tokens of a judge's reply."""

_JUDGE_PROMPT = 400
"""Tokens of a judge's prompt beside question, references and answer."""


def plan_discrimination(settings: Discrimination, config: ExamConfig) -> StudyPlan:
    """Count the calls; they are exact but for judges, who judge equal answers once.

    Raises:
        SetupError: A model's name cannot be read, or the judges do not fit the task.
    """
    counting = _Counting(settings)
    return study_plan(config, list(counting.work()), counting.assumptions())


class _Counting:
    def __init__(self, settings: Discrimination) -> None:
        self.settings = settings
        self.prompts = PromptLibrary()
        step = max(1, len(settings.items) // _LOOKED_AT)
        self.looked_at = settings.items[::step][:_LOOKED_AT]
        # Half of what an answer may have is what it is taken to have.
        self.answer = (settings.max_tokens or settings.task.max_tokens) // 2

    def work(self) -> Iterator[StudyWork]:
        for name in self.settings.agents:
            yield from self._candidates(name)
            for variation in self.settings.variations:
                yield self._choices(name, variation, f"choices, {variation.name}", 1)
            if self.settings.peers:
                others = len(self.settings.agents) - 1
                yield self._choices(name, self.settings.head, "choices for peers", others)
        for kind, name in kinds_of_judges(self.settings.task, self.settings.judges):
            yield self._judgements(kind, name)

    def assumptions(self) -> list[str]:
        settings = self.settings
        found = [f"an answer: {self.answer} tokens, half of what it may have"]
        if {PLAIN.name, "rotated"} <= {one.name for one in settings.variations}:
            found.append("rotated: its first rotation is the plain prompt, and asked once")
        if settings.judges:
            found.append("judges: every candidate differs (expected), or all are equal (least)")
        return found

    def _candidates(self, name: str) -> Iterator[StudyWork]:
        settings = self.settings
        own = settings.own(name)
        asked = [one for one in settings.items if own is None or one.id not in own]
        drawn = {one.id for one in asked}
        # A later turn needs the first draw of those before it; where they are asked anyway, that
        # is the same call.
        before = {
            f"{one.cluster}-{at + 1}" for one in asked for at in range(len(one.earlier))
        } - drawn
        before -= set(own or ())
        calls = len(asked) * settings.candidates + len(before)
        if calls:
            yield self._line(name, "candidates", calls, self._solving_tokens(), self.answer)

    def _choices(self, name: str, variation: Variation, purpose: str, times: int) -> StudyWork:
        settings = self.settings
        rotations = len(variation.rotations(settings.candidates))
        plain_too = any(one.name == PLAIN.name for one in settings.variations)
        if variation.rotated and plain_too:
            rotations -= 1
        calls = len(settings.items) * rotations * times
        reply = variation.max_tokens(settings.task) // 2
        # Where no candidate is wrong, simplified is the plain prompt.
        least = 0 if variation.simplified and plain_too else calls
        count, prompt = Range(least, calls, calls), self._choosing_tokens(variation)
        return StudyWork(name, purpose, count, count * prompt, count * reply)

    def _judgements(self, kind: str, name: str) -> StudyWork:
        settings = self.settings
        least = len(settings.items)
        most = least * settings.candidates * len(settings.agents)
        reply = _RATING_WORDS if kind == "rating" else _JUDGE_WORDS
        calls = Range(least, most, 2 * most)
        prompt = _JUDGE_PROMPT + self.answer
        return StudyWork(name, f"judging {kind}", calls, calls * prompt, calls * reply)

    def _line(self, name: str, purpose: str, calls: int, prompt: float, reply: float) -> StudyWork:
        count = exactly(calls)
        return StudyWork(name, purpose, count, count * prompt, count * reply)

    def _solving_tokens(self) -> float:
        task = self.settings.task
        sizes = [
            len(solving(self.prompts, True, task.name, examples_of(task), one.question).text)
            / CHARACTERS_PER_TOKEN
            + len(one.earlier) * self.answer
            for one in self.looked_at
        ]
        return sum(sizes) / len(sizes)

    def _choosing_tokens(self, variation: Variation) -> float:
        settings, n = self.settings, self.settings.candidates
        sizes = [
            len(
                choosing(
                    self.prompts,
                    True,
                    settings.task.name,
                    variation.examples(settings.task, n),
                    one.question,
                    [""] * n,
                    variation.wording,
                ).text
            )
            for one in self.looked_at
        ]
        return sum(sizes) / len(sizes) / CHARACTERS_PER_TOKEN + n * self.answer
