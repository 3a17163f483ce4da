"""A pilot: a first question goes through every role before the rest is asked.

It makes calls that the exam makes anyway: the questions of the first domain, the answers to the
first of them, one mark and one comparison of every judge. Afterwards they are in the ledger, so
that nothing is paid for twice. Where no standings could follow, the exam stops there.

One question may be unlucky, so that a second and a third are tried before anything is concluded.
A call that failed says nothing of what a later one brings: it is named, and the exam goes on, since
the same command asks for it again and everything else is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from typing import Any, TypeVar

from peerexam.agents.layers.transcript import Exchange, overhearing
from peerexam.errors import NoStandingsError
from peerexam.examiners.base import AuthoredQuestions, Examinee, Examiner, Judge
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.domains import chosen_domains
from peerexam.protocols.config.models import ExamConfig, RoleName
from peerexam.protocols.config.own_answers import own_answers
from peerexam.protocols.exam.archive import Archive
from peerexam.protocols.exam.examination import Roles, Rules, line_up, panel
from peerexam.protocols.exam.ranking import first_pair
from peerexam.protocols.questions.repetitions import RepetitionFinder, RepetitionRules
from peerexam.protocols.run.pilot_findings import Asked, Trial, cut_line, in_a_line, in_full
from peerexam.protocols.run.setup import Setup
from peerexam.protocols.session.concurrency import together
from peerexam.records import Answer, Domain, Mark, Question, Verdict

T = TypeVar("T")

ROUNDS = 3
"""Questions that are tried, at most, before it is concluded that no standings could follow."""

CONTINUE = "--no-pilot (in the config pilot: false) continues anyway"

_LOOKED_AT = 200
"""Questions among which one is looked for that a judge with a small share judges."""

_log = logging.getLogger("peerexam")

Answers = Callable[[Question], Awaitable[Sequence[Answer]]]
"""The answers to a question that judges are shown."""


def check_judges(config: ExamConfig) -> None:
    """Refuse an exam in which nobody may judge, which needs no call to be known.

    Raises:
        NoStandingsError: No judge may judge two of the agents that answer.
    """
    if all(agent.model.startswith(f"{PLAYS_DIRECTLY}/") for agent in config.agents):
        return  # nothing is spent
    why = nobody_may_judge(config)
    if why is not None:
        raise NoStandingsError(f"no standings could follow: {why}; {CONTINUE}")


def nobody_may_judge(config: ExamConfig) -> str | None:
    """Why no judge may judge two of the agents that answer; None where one may."""
    if not _is_judged(config):
        return None  # answers are collected, for others to judge
    examinees = [agent.name for agent in config.agents_in("examinee")]
    own, needed = own_answers(config), _needed(config, examinees)
    for judge in config.agents_in("judge"):
        others = {*examinees} - {judge.name} - own.get(judge.name, frozenset())
        if len(others) >= needed:
            return None
    return (
        f"no judge may judge {needed} of the agents that answer ({', '.join(examinees)}), since "
        "nobody judges its own answers: add an agent that answers, or one with roles: [judge]"
    )


def _is_judged(config: ExamConfig) -> bool:
    return config.judging.marks or config.judging.ranking != "none"


def _needed(config: ExamConfig, examinees: Sequence[str]) -> int:
    """Answers of others that a judge's vote needs; marks of a single examinee stand alone."""
    return 1 if config.judging.ranking == "none" and len(examinees) == 1 else 2


async def pilot(config: ExamConfig, setup: Setup, given: Sequence[Question] | None) -> None:
    """Send a first question through every role.

    Args:
        config: The exam.
        setup: Its roles and rules.
        given: The questions, where they are not set by the examiners.

    Raises:
        NoStandingsError: No standings could follow.
        BudgetReachedError: The budget ended it; what was answered is in the ledger.
    """
    if not setup.roles.waits or any(agent.joined for agent in config.agents):
        return  # simulated participants cost nothing, and who joined found an exam that was run
    trials = _Trials(config, setup.roles, setup.rules)
    questions = await _set_first(trials) if given is None else given
    if questions:
        await trials.run(questions, trials.ask)


async def pilot_of_judges(config: ExamConfig, setup: Setup, archive: Archive) -> None:
    """Show the first answers of a run to its new judges.

    Raises:
        NoStandingsError: No standings could follow.
        BudgetReachedError: The budget ended it.
    """
    if setup.roles.waits:
        trials = _Trials(config, Roles({}, {}, setup.roles.judges), setup.rules)
        await trials.run(archive.roots, _read(archive))


async def pilot_of_newcomer(config: ExamConfig, setup: Setup, archive: Archive, name: str) -> None:
    """Let an agent that joins answer, and judge, a first question.

    Raises:
        NoStandingsError: Nothing that it did can be used.
        BudgetReachedError: The budget ended it.
    """
    if not setup.roles.waits:
        return
    examinees = {one: role for one, role in setup.roles.examinees.items() if one == name}
    judges = {one: role for one, role in setup.roles.judges.items() if one == name}
    trials = _Trials(config, Roles({}, examinees, judges), setup.rules, newcomer=name)
    read = _read(archive)

    async def answers(question: Question) -> Sequence[Answer]:
        return [*await read(question), *await trials.ask(question)]

    await trials.run(archive.roots, answers)


def _read(archive: Archive) -> Answers:
    async def answers(question: Question) -> Sequence[Answer]:
        return archive.answers.get(question.id, ())

    return answers


@dataclass(slots=True)
class _Trials:
    """What the agents were asked for, and what may follow from it.

    Attributes:
        answered: Whose answers can be judged.
        awaited: Whose calls failed, or who has no recorded answer to the question.
        heard: Judges whose word can be read: of comparisons where there are any, else of marks.
        tried: Judges who replied when they were asked for that.
        spoke: Judges who said anything that can be read.
        all: Every trial.
    """

    config: ExamConfig
    roles: Roles
    rules: Rules
    newcomer: str | None = None
    answered: set[str] = field(default_factory=set)
    awaited: set[str] = field(default_factory=set)
    heard: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    spoke: set[str] = field(default_factory=set)
    all: list[Trial] = field(default_factory=list)

    async def run(self, questions: Iterable[Question], answers: Answers) -> None:
        """Try up to three questions, until standings could follow."""
        left = list(islice(questions, _LOOKED_AT))
        for _ in range(ROUNDS):
            chosen = self._chosen(left)
            left = [question for question in left if question not in chosen]
            for question in chosen:
                await self._go_through(question, await answers(question))
            if self._may_follow():
                self._name_failures()
                return
            if not left:
                break
        raise NoStandingsError(self._why())

    def _chosen(self, questions: Sequence[Question]) -> list[Question]:
        """The fewest first questions on which every judge that is still to be heard may speak."""
        wanted = self.roles.judges.keys() - self.heard
        chosen: list[Question] = []
        for question in questions:
            seated = {judge.name for judge in panel(question, self.roles, self.rules)} & wanted
            if seated:
                chosen.append(question)
                wanted -= seated
        return chosen or list(questions[:1])

    async def ask(self, question: Question) -> Sequence[Answer]:
        """Let every examinee answer."""
        return await together(
            self._answer(examinee, question)
            for name, examinee in self.roles.examinees.items()
            if question.examinee in (None, name)
        )

    async def _answer(self, examinee: Examinee, question: Question) -> Answer:
        answer, exchanges = await _overheard(examinee.answer(question))
        self._note(examinee.name, "examinee", "answer", answer, exchanges)
        return answer

    async def _go_through(self, question: Question, answers: Sequence[Answer]) -> None:
        usable = [answer for answer in answers if answer.state == "ok"]
        self.answered |= {answer.examinee for answer in usable}
        self.awaited |= {answer.examinee for answer in answers if answer.state == "error"}
        await together(
            self._judge(judge, question, usable)
            for judge in panel(question, self.roles, self.rules)
            if judge.name not in self.heard
        )

    async def _judge(self, judge: Judge, question: Question, answers: Sequence[Answer]) -> None:
        """One mark, and one comparison in both orders: what the exam will ask for, too."""
        others = line_up(judge.name, question, answers, self.rules)
        by_name = {answer.examinee: answer for answer in answers}
        compares = self.rules.ranking != "none"
        # Where verdicts decide, a mark is asked for once.
        if self.rules.marks and others and not (compares and judge.name in self.tried):
            shown = next(one for one in answers if one.examinee in others)
            await self._hear(judge.name, "mark", judge.mark(question, shown), not compares)
        if compares and len(others) > 1:
            one, two = await first_pair(others, self.rules.ranking)
            orders = ((by_name[one], by_name[two]), (by_name[two], by_name[one]))
            await together(
                self._hear(judge.name, "verdict", judge.verdict(question, *order), True)
                for order in orders
            )

    async def _hear(
        self,
        judge: str,
        asked: Asked,
        work: Coroutine[Any, Any, Mark | Verdict],
        decides: bool,
    ) -> None:
        record, exchanges = await _overheard(work)
        self._note(judge, "judge", asked, record, exchanges)
        if decides and record.state != "error":
            self.tried.add(judge)
        if record.state == "ok":
            self.spoke.add(judge)
            self.heard |= {judge} if decides else set()

    def _note(
        self,
        agent: str,
        role: RoleName,
        asked: Asked,
        record: Answer | Mark | Verdict,
        exchanges: Sequence[Exchange],
    ) -> None:
        self.all.append(Trial(agent, role, asked, record.state, record.reason, exchanges))

    def note_paper(
        self, examiner: str, paper: AuthoredQuestions, exchanges: Sequence[Exchange]
    ) -> None:
        """Take note of what an examiner set in the first domain."""
        if paper.questions:
            self.all.append(Trial(examiner, "examiner", "questions"))
            return
        why = "; ".join(dict.fromkeys(paper.reasons)) or "no question could be read"
        completion = exchanges[-1].completion if exchanges else None
        state = "error" if paper.failed else "unparsed" if completion is None else completion.state
        state = "unparsed" if state == "ok" else state
        self.all.append(Trial(examiner, "examiner", "questions", state, why, exchanges))

    # What follows

    def _may_follow(self) -> bool:
        if self.newcomer is not None:
            untried = self.roles.judges.keys() - self.tried
            return self.newcomer in self.answered | self.awaited | self.spoke | untried
        if not _is_judged(self.config):
            return bool(self.answered | self.awaited)
        silent = self.tried - self.spoke
        quorum = self.config.judging.quorum
        if len(self.roles.judges.keys() - silent) < quorum:
            return False
        return self._may_judge(self.roles.judges.keys() - (self.tried - self.heard))

    def _may_judge(self, judges: Iterable[str]) -> bool:
        """Whether one of them may judge answers enough."""
        needed = _needed(self.config, [one.name for one in self.config.agents_in("examinee")])
        return any(len(self._others(judge)) >= needed for judge in judges)

    def _others(self, judge: str) -> set[str]:
        return {name for name in self.answered | self.awaited if not self.rules.is_own(judge, name)}

    def _failures(self) -> list[Trial]:
        """The last failure of everyone at everything that never came out well."""
        last: dict[tuple[str, Asked], Trial] = {}
        for trial in self.all:
            if trial.state != "ok":
                last[trial.agent, trial.asked] = trial
        well = {(trial.agent, trial.asked) for trial in self.all if trial.state == "ok"}
        return [trial for key, trial in last.items() if key not in well]

    def _name_failures(self) -> None:
        for trial in self._failures():
            if not self._is_recorded(trial):
                _log.warning("pilot: %s; the run continues", in_a_line(self.config, trial))
        cut = cut_line(self.config, self.all)
        if cut is not None:
            _log.warning("pilot: %s", cut)

    def _is_recorded(self, trial: Trial) -> bool:
        """A file has answers to some questions, and the run says to which it has none."""
        return any(
            a.name == trial.agent and a.model.startswith("file/") for a in self.config.agents
        )

    def _why(self) -> str:
        failures = self._failures()
        asked, what = self._what_is_missing()
        shown = [trial for trial in failures if trial.asked in asked] or failures
        head = f"no standings could follow, so the rest is not asked: {what}"
        return "\n\n".join([head, *in_full(self.config, shown), f"every reply is kept; {CONTINUE}"])

    def _what_is_missing(self) -> tuple[tuple[Asked, ...], str]:
        if self.newcomer is not None:
            return ("answer", "verdict", "mark"), f"nothing that {self.newcomer} did can be used"
        if not _is_judged(self.config) or not self._may_judge(self.roles.judges):
            return ("answer",), (
                f"only {len(self.answered)} of {len(self.config.agents_in('examinee'))} agents "
                "gave an answer that can be judged"
            )
        asked: Asked = "mark" if self.rules.ranking == "none" else "verdict"
        quorum = self.config.judging.quorum
        if self.heard:
            spoke = f"{len(self.spoke)} of the {quorum} judges of the quorum"
            return (asked,), f"only {spoke} gave a usable reply"
        marks = ""
        if self.spoke:
            marks = "; marks can be read, and judging: {ranking: none} ranks by them alone"
        return (asked,), f"no judge gave a {asked} that can be read{marks}"


async def _overheard(work: Coroutine[Any, Any, T]) -> tuple[T, Sequence[Exchange]]:
    """What comes of a coroutine, and the calls that it made."""
    with overhearing() as exchanges:
        result = await work
    return result, exchanges


async def _set_first(trials: _Trials) -> list[Question]:
    """The questions of the first domain in which anyone sets one, the first of each author first.

    None where all calls failed: the exam itself says why.

    Raises:
        NoStandingsError: Nobody set any, in three domains.
    """
    config, examiners = trials.config, trials.roles.examiners
    for domain in chosen_domains(config.questions, config.seed)[:ROUNDS]:
        papers = await together(_paper(trials, one, domain) for one in examiners.values())
        kept = await _without_repetitions(config, papers)
        questions = [one for one in chain.from_iterable(zip_longest(*kept)) if one is not None]
        if questions:
            return questions
        if all(paper.failed for paper in papers):
            return []
    failures = [trial for trial in trials.all if trial.asked == "questions"]
    last = list({trial.agent: trial for trial in failures}.values())
    head = "no standings could follow, so the rest is not asked: no examiner set a question"
    raise NoStandingsError(
        "\n\n".join([head, *in_full(config, last), f"every reply is kept; {CONTINUE}"])
    )


async def _without_repetitions(
    config: ExamConfig, papers: Sequence[AuthoredQuestions]
) -> list[list[Question]]:
    """The papers without what repeats another's words: the exam takes it out, and asks nobody."""
    rules = replace(RepetitionRules.of(config.questions), embedding=None)
    if not rules.across:
        return [list(paper.questions) for paper in papers]
    texts = [question.text for paper in papers for question in paper.questions]
    found = iter(await RepetitionFinder(rules).find(texts))
    return [[one for one in paper.questions if next(found) is None] for paper in papers]


async def _paper(trials: _Trials, examiner: Examiner, domain: Domain) -> AuthoredQuestions:
    questions = trials.config.questions
    setting = examiner.questions(domain, questions.per_domain, questions.style)
    paper, exchanges = await _overheard(setting)
    trials.note_paper(examiner.name, paper, exchanges)
    return paper
