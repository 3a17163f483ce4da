"""What asking for levels and references will take: the closed forms behind that part of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from peerexam.agents.spec import parse_model
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.config.token_limits import Reply, token_limit
from peerexam.protocols.planning.call_counts import (
    CallCounts,
    Task,
    Work,
    answer_within,
    with_more_room,
    work_of,
)
from peerexam.protocols.planning.ranges import Range, exactly, total
from peerexam.protocols.questions.annotators import authors_of, checkers_of
from peerexam.records import Question

_NAMED = 6
"""Expected tokens of a reply that names one of a few words."""

_ORDER: tuple[Task, ...] = ("questions", "levels", "references", "agreement checks")


class AnnotationCounts:
    """The counts of one exam's levels and references.

    Args:
        config: The exam.
        counts: The counts of the exam itself.
        held: The user's own questions, where they are at hand: what they bring with them is not
            asked for.
    """

    def __init__(
        self, config: ExamConfig, counts: CallCounts, held: Sequence[Question] | None
    ) -> None:
        self._config = config
        self._counts = counts
        self._settings = config.questions.references
        self._without_level = counts.questions
        self._by_author: Mapping[str | None, int] = counts.by_author
        if held is not None:
            self._without_level = sum(one.level is None for one in held)
            self._by_author = Counter(one.author for one in held if one.reference is None)
        self._authors = authors_of(config)
        self._checkers = checkers_of(config)

    def work(self) -> Iterator[Work]:
        """Everything that is asked, agent by agent."""
        for agent in self._config.agents:
            if agent.name in self._config.questions.levels.classifiers and self._without_level:
                yield self._classifying(agent)
            if agent.name in self._authors and self._by_author.get(agent.name):
                yield self._answering(agent)
            if agent.name in self._checkers and self._drawn_for(agent.name):
                yield self._checking(agent)

    def assumptions(self) -> Iterator[str]:
        """What the figures rest on, a sentence each."""
        if any(self._drawn_for(name) for name in self._checkers):
            yield "agreement checks: expected for every further draw; equal answers need none"
        if self._settings.drop_inconsistent:
            yield "questions: none is left out because its author answers it otherwise"

    def _drawn_for(self, checker: str) -> int:
        """Further draws that a checker may have to look at."""
        checked = [checker] if self._settings.checker is None else self._authors
        asked = sum(self._by_author.get(author, 0) for author in checked)
        return asked * (self._settings.draws - 1)

    def _again(self, agent: AgentConfig) -> Range:
        simulated = parse_model(agent.model)[0] == PLAYS_DIRECTLY
        return Range(1, 1, 1 if simulated else 1 + self._config.judging.reasks)

    def _named(self, agent: AgentConfig, reply: Reply) -> Range:
        """Of a reply that names a word, and that has more room when it is asked for again."""
        limit = token_limit(self._config, agent, reply)
        return Range(1, min(limit, _NAMED), with_more_room(limit, round(self._again(agent).most)))

    def _classifying(self, agent: AgentConfig) -> Work:
        calls = exactly(self._without_level) * self._again(agent)
        shown = self._counts.question_tokens()
        return work_of(agent, "classifier", "levels", calls, shown, self._named(agent, "levels"))

    def _answering(self, agent: AgentConfig) -> Work:
        asked, draws = self._by_author.get(agent.name, 0), self._settings.draws
        # Without a reference, no further draw is asked for.
        calls = Range(asked, asked * draws, asked * draws)
        shown = self._counts.question_tokens()
        return work_of(agent, "examiner", "references", calls, shown, self._answer_of(agent))

    def _checking(self, agent: AgentConfig) -> Work:
        calls = exactly(self._drawn_for(agent.name)) * self._again(agent) * Range(0, 1, 1)
        shown = self._counts.question_tokens() + self._answer_shown() * 2
        named = self._named(agent, "judging")
        return work_of(agent, "checker", "agreement checks", calls, shown, named)

    def _answer_of(self, agent: AgentConfig) -> Range:
        return answer_within(token_limit(self._config, agent, "references"))

    def _answer_shown(self) -> Range:
        """Of whichever author."""
        ranges = [self._answer_of(one) for one in self._config.agents if one.name in self._authors]
        ranges = ranges or [Range()]
        mean = total(ranges) * (1 / len(ranges))
        return Range(1, mean.expected, max(span.most for span in ranges))


def in_order_of_file(config: ExamConfig, work: Iterable[Work]) -> list[Work]:
    """Work agent by agent; of each agent what comes before any answer stands first."""
    places = {agent.name: place for place, agent in enumerate(config.agents)}

    def key(one: Work) -> tuple[int, int]:
        early = _ORDER.index(one.task) if one.task in _ORDER else len(_ORDER)
        return places[one.agent.name], early

    return sorted(work, key=key)
