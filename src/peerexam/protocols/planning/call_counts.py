"""Who is asked how often, for how many tokens: the closed forms behind a plan.

Follow-ups are due after answers that count as correct; nobody knows how many those are, so the
expected figure takes half of the answers of every round. Tokens are taken at four characters each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from peerexam.agents.layers.configured import widened
from peerexam.agents.spec import parse_model
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.domains import domain_count
from peerexam.protocols.config.models import AgentConfig, ExamConfig, RoleName
from peerexam.protocols.config.own_answers import own_answers
from peerexam.protocols.config.token_limits import Reply, token_limit
from peerexam.protocols.exam.injection_probe import probe_plan
from peerexam.protocols.planning.ranges import Range, comparisons, exactly, total

Task = Literal[
    "questions",
    "levels",
    "references",
    "agreement checks",
    "follow-ups",
    "answers",
    "marks",
    "comparisons",
    "own",
    "scoring",
    "probes",
]
"""`references` are authors' own answers, `own` comparisons with the judge's own answer, `scoring`
log-probabilities of answers, and `probes` judgements of canaries."""

Part = RoleName | Literal["classifier", "checker"]
"""What an agent is asked as: in a role, or about the questions before they are sealed."""

BEFORE_ANY_ANSWER: frozenset[Task] = frozenset(
    {"questions", "levels", "references", "agreement checks", "probes"}
)
"""What is done with before the first question is examined."""

CORRECT = 0.5
"""Share of answers that the expected figure takes as correct."""

_CHARACTERS_PER_TOKEN = 4
_WORDS_OF_PROMPT: dict[Task, int] = {
    "questions": 350,
    "levels": 250,
    "references": 40,
    "agreement checks": 250,
    "follow-ups": 250,
    "answers": 30,
    "marks": 450,
    "comparisons": 300,
    "own": 300,
    "scoring": 10,
    "probes": 350,
}
"""Tokens of the prompt's own words, before question and answers are put in."""

_IN_WORDS = {"merge_sort": "merge sort", "rank_merge": "rank merge"}
"""The rankings whose number of comparisons depends on how they fall out."""

_ASKED_ONCE: frozenset[Task] = frozenset({"answers", "references", "scoring"})
"""What is taken as it comes, so that no message says what was wrong with a reply."""

_REASK = 60
"""Tokens of the message that says what was wrong with a reply."""

_CANARY = Range(15, 110, 400)
"""Tokens of a canary question and the answers shown with it."""

_EXAMPLES = 250
"""Tokens of the five answered questions that may stand before a question."""

_MAY_GO_ON = frozenset({"hf", "gguf", "local"})
"""Providers of models that may only go on with a text, which is known when they are built."""

_QUESTION = 30
_ANSWER = 400
_REPLY = 60
"""Expected tokens of a question, of an answer without a short limit, and of a judge's reply."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one agent does in one role; tokens are sums over the calls."""

    agent: AgentConfig
    role: Part
    task: Task
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range


@dataclass(frozen=True, slots=True)
class Ranked:
    """What one judge ranks.

    Attributes:
        answers: In one ranking.
        times: How many rankings of the first round, expected.
    """

    judge: AgentConfig
    answers: int
    times: float


class CallCounts:
    """The counts of one exam.

    Args:
        config: The exam.
        own_questions: Texts of the user's own questions, None where the examiners set them.
        authors: Who set them, where a data set says so; who is no examiner here does not count.
    """

    def __init__(
        self,
        config: ExamConfig,
        own_questions: Sequence[str] | None,
        authors: Sequence[str | None] = (),
    ) -> None:
        self._config = config
        self._own = own_questions
        self._authors = authors
        self._examiners = config.agents_in("examiner")
        self._examinees = config.agents_in("examinee")
        self._judges = config.agents_in("judge")
        self._own_answers = own_answers(config)
        self._set = self._questions_by_author()

    @property
    def questions(self) -> int:
        """Questions of the first round."""
        return sum(self._set.values())

    @property
    def by_author(self) -> Mapping[str | None, int]:
        """Questions of the first round by their author; None stands for the user's own."""
        return self._set

    def work(self) -> Iterator[Work]:
        """Everything that is asked, agent by agent."""
        for agent in self._config.agents:
            if self._own is None and agent in self._examiners:
                yield self._setting(agent)
            if agent in self._examiners and self._follow_ups_by(agent.name).most:
                yield self._following_up(agent)
            if agent in self._examinees:
                yield self._answering(agent)
            if agent in self._judges:
                yield from self._judging(agent)
                yield from self._probing(agent)

    def assumptions(self) -> Iterator[str]:
        """What the figures rest on, a sentence each."""
        yield "a call that fails in transit and is sent again counts once"
        by_prompt = any(judge.judge.by == "prompt" for judge in self._judges)
        method = _IN_WORDS.get(self._config.judging.ranking)
        if by_prompt and method:
            yield f"comparisons: {method} over answers in random order; ties make it fewer"
        if any(self._follow_ups_by(agent.name).most for agent in self._examiners):
            share = self._config.follow_ups.share
            drawn = f", {share:.3g} of them drawn" if share < 1 else ""
            yield f"follow-ups: expected after {CORRECT:.0%} of the answers of every round{drawn}"
        yield (
            f"tokens: {_CHARACTERS_PER_TOKEN} characters each; answers are expected to have half "
            f"their limit, and {_ANSWER} at most; a model that thinks takes several times as many"
        )

    def rankings(self) -> Iterator[Ranked]:
        """The rankings of every judge."""
        for judge in self._judges:
            times = self._judged_questions(judge) * judge.judge.share
            yield Ranked(judge, len(self._others(judge)), times)

    # Questions and follow-ups

    def _questions_by_author(self) -> dict[str | None, int]:
        if self._own is not None:
            known = {agent.name for agent in self._examiners}
            counts: Counter[str | None] = Counter(one for one in self._authors if one in known)
            others = len(self._own) - counts.total()
            return {**({None: others} if others else {}), **counts}
        each = domain_count(self._config.questions) * self._config.questions.per_domain
        return {agent.name: each for agent in self._examiners}

    def _examiner_of(self, author: str | None) -> str | None:
        chief = self._config.examiner or next((a.name for a in self._examiners), None)
        return chief if author is None else author

    def _follow_ups_on(self, author: str | None) -> Range:
        """Follow-ups after one first-round question, over all examinees and rounds."""
        rounds, sample = self._config.follow_ups.rounds, self._config.follow_ups.sample
        examiner = self._examiner_of(author)
        marked = self._config.judging.marks and bool(self._panel(author))
        if not rounds or not marked or examiner not in {a.name for a in self._examiners}:
            return Range()
        answers = len(self._asked_further(author))
        most = answers if sample is None else min(sample, answers)
        on = CORRECT * self._config.follow_ups.share
        return Range(0, min(most, on * answers) * sum(on**r for r in range(rounds)), most * rounds)

    def _asked_further(self, author: str | None) -> list[AgentConfig]:
        examiner = self._examiner_of(author)
        return [agent for agent in self._examinees if agent.name != examiner]

    def _follow_ups_by(self, examiner: str | None) -> Range:
        return total(
            [
                self._follow_ups_on(author) * count
                for author, count in self._set.items()
                if self._examiner_of(author) == examiner
            ]
        )

    def _follow_ups_to(self, examinee: AgentConfig, author: str | None) -> Range:
        """Where only a sample goes on, it is spread evenly over the examinees."""
        asked = self._asked_further(author)
        if examinee not in asked:
            return Range()
        return self._follow_ups_on(author) * (self._set[author] / len(asked))

    # Judges

    def _panel(self, author: str | None) -> list[AgentConfig]:
        if self._config.judging.panel == "all":
            return list(self._judges)
        return [judge for judge in self._judges if judge.name == self._examiner_of(author)]

    def _others(self, judge: AgentConfig) -> list[AgentConfig]:
        own = {judge.name, *self._own_answers.get(judge.name, ())}
        return [agent for agent in self._examinees if agent.name not in own]

    def _judged_questions(self, judge: AgentConfig) -> float:
        return sum(n for author, n in self._set.items() if judge in self._panel(author))

    def _answers_to_mark(self, judge: AgentConfig) -> Range:
        others = self._others(judge)
        later = [
            self._follow_ups_to(agent, author)
            for author in self._set
            if judge in self._panel(author)
            for agent in others
        ]
        return exactly(self._judged_questions(judge) * len(others)) + total(later)

    def _own_comparisons(self, judge: AgentConfig) -> float:
        """Comparisons of a judge's own answer with the others', a question."""
        answers = judge.name in {agent.name for agent in self._examinees}
        wanted = self._config.judging.self_preference and self._config.judging.ranking != "none"
        return len(self._others(judge)) if answers and wanted else 0

    # Work

    def _setting(self, agent: AgentConfig) -> Work:
        settings = self._config.questions
        papers = domain_count(settings)
        calls = Range(papers, papers, papers * settings.attempts)
        limit = token_limit(self._config, agent, "questions")
        most = with_more_room(limit, settings.attempts)
        reply = Range(1, min(limit, _QUESTION * settings.per_domain), most)
        return work_of(agent, "examiner", "questions", calls, Range(), reply)

    def _following_up(self, agent: AgentConfig) -> Work:
        limit = token_limit(self._config, agent, "follow_ups")
        attempts = self._config.questions.attempts
        calls = self._follow_ups_by(agent.name) * Range(1, 1, attempts)
        shown = self.question_tokens() + self._answer_tokens()
        reply = Range(1, min(limit, _QUESTION), with_more_room(limit, attempts))
        return work_of(agent, "examiner", "follow-ups", calls, shown, reply)

    def _answering(self, agent: AgentConfig) -> Work:
        later = total([self._follow_ups_to(agent, author) for author in self._set])
        calls = exactly(self.questions) + later
        shown = self.question_tokens() + _examples_for(agent)
        return work_of(agent, "examinee", "answers", calls, shown, _answer_of(agent, self._config))

    def _judging(self, agent: AgentConfig) -> Iterator[Work]:
        share = agent.judge.share
        drawn = exactly(1) if share == 1 else Range(0, share, 1)
        for work in self._judging_all(agent):
            yield replace(
                work,
                calls=work.calls * drawn,
                prompt_tokens=work.prompt_tokens * drawn,
                completion_tokens=work.completion_tokens * drawn,
            )

    def _judging_all(self, agent: AgentConfig) -> Iterator[Work]:
        judging = self._config.judging
        questions, others = self._judged_questions(agent), len(self._others(agent))
        marks = self._answers_to_mark(agent) if judging.marks else Range()
        own = questions * self._own_comparisons(agent)
        if agent.judge.by == "likelihood":
            ranked = exactly(questions * others if judging.ranking != "none" else 0)
            scored = marks if judging.marks else ranked
            calls = (scored + exactly(questions if own else 0)) * 2
            shown = self.question_tokens() + self._answer_tokens()
            yield work_of(agent, "judge", "scoring", calls, shown, Range())
            return
        pairs = comparisons(others, judging.ranking) * questions
        again = Range(1, 1, 1 if _provider(agent) == PLAYS_DIRECTLY else 1 + judging.reasks)
        reply = self._judgement(agent)
        one = self.question_tokens() + self._answer_tokens()
        two = one + self._answer_tokens()
        both_orders = again * 2
        if judging.marks:
            yield work_of(agent, "judge", "marks", marks * again, one, reply)
        if pairs.most:
            yield work_of(agent, "judge", "comparisons", pairs * both_orders, two, reply)
        if own:
            yield work_of(agent, "judge", "own", exactly(own) * both_orders, two, reply)

    def _probing(self, agent: AgentConfig) -> Iterator[Work]:
        """ProbeQuestion answers, which a judge is shown whatever its share of the questions."""
        probes = probe_plan(self._config)
        if probes is None or agent.judge.by == "likelihood" or _provider(agent) == PLAYS_DIRECTLY:
            return
        again = Range(1, 1, 1 + self._config.judging.reasks)
        reply = self._judgement(agent)
        calls = exactly(probes.verdicts_asked + probes.marks_asked) * again
        yield work_of(agent, "judge", "probes", calls, _CANARY, reply)

    # Tokens

    def _judgement(self, agent: AgentConfig) -> Range:
        limit = token_limit(self._config, agent, "judging")
        return Range(1, min(limit, _REPLY), with_more_room(limit, 1 + self._config.judging.reasks))

    def question_tokens(self) -> Range:
        """Tokens of a question as it is shown."""
        if self._own:
            sizes = [len(text) / _CHARACTERS_PER_TOKEN for text in self._own]
            mean = sum(sizes) / len(sizes)
            deeper = self._longest("follow_ups") if self._config.follow_ups.rounds else 0
            return Range(mean, mean, max(mean, deeper))
        return Range(5, _QUESTION, self._longest("questions"))

    def _longest(self, reply: Reply) -> int:
        """The longest that any examiner may write."""
        return max((token_limit(self._config, one, reply) for one in self._examiners), default=0)

    def _answer_tokens(self) -> Range:
        ranges = [_answer_of(agent, self._config) for agent in self._examinees] or [Range()]
        mean = total(ranges) * (1 / len(ranges))
        return Range(1, mean.expected, max(span.most for span in ranges))


def _provider(agent: AgentConfig) -> str:
    return parse_model(agent.model)[0]


def _examples_for(agent: AgentConfig) -> Range:
    """Tokens of the examples that an examinee is shown, at most those of a text that goes on."""
    if agent.shots is not None:
        return exactly(_EXAMPLES if agent.shots else 0)
    return Range(0, 0, _EXAMPLES if _provider(agent) in _MAY_GO_ON else 0)


def _answer_of(agent: AgentConfig, config: ExamConfig) -> Range:
    return answer_within(token_limit(config, agent, "answers"))


def answer_within(limit: int) -> Range:
    """Tokens of an answer: half of a short limit, and no more than answers have by themselves."""
    return Range(1, min(limit / 2, _ANSWER), limit)


def with_more_room(limit: int, calls: int) -> float:
    """The most tokens of a reply, as the mean over calls of which each was cut at its limit."""
    return sum(widened(limit, 2**before) for before in range(calls)) / calls


def work_of(
    agent: AgentConfig, role: Part, task: Task, calls: Range, shown: Range, reply: Range
) -> Work:
    """Tokens from tokens a call; simulated participants need none."""
    if _provider(agent) == PLAYS_DIRECTLY:
        return Work(agent, role, task, calls, Range(), Range())
    words = _WORDS_OF_PROMPT[task] + len(agent.system or "") / _CHARACTERS_PER_TOKEN
    asked_again = Range(0, 0, reply.most + _REASK)
    prompt = exactly(words) + shown + (Range() if task in _ASKED_ONCE else asked_again)
    return Work(agent, role, task, calls, calls * prompt, calls * reply)
