"""What happens to one question: answers, marks, rankings, self-judgements, follow-ups.

Examiner paper, §3.1 (follow-ups), §3.2 (marks and ranking) and §3.3 (peers judge each other). A
judge never marks or ranks its own answer; where self-preference is measured it is asked to compare
its own answer with every other, and those verdicts are kept apart (`Verdict.is_self_judgement`).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from peerexam.examiners.base import Examinee, Examiner, FollowUp, Judge
from peerexam.protocols.exam.comparing import Comparison, Disagreement, compare
from peerexam.protocols.exam.ranking import METHODS, Groups
from peerexam.protocols.session.concurrency import both, in_turn, together
from peerexam.records import Answer, Mark, Question, Ranking, Verdict


@dataclass(frozen=True, slots=True)
class Roles:
    """Who has which role, by name, in the order of the exam."""

    examiners: Mapping[str, Examiner]
    examinees: Mapping[str, Examinee]
    judges: Mapping[str, Judge]

    @property
    def waits(self) -> bool:
        """Whether anyone's work takes time in which another could begin."""
        participants = (*self.examiners.values(), *self.examinees.values(), *self.judges.values())
        return not all(getattr(one, "never_waits", False) for one in participants)


@dataclass(frozen=True, slots=True)
class Rules:
    """How one question is examined.

    Attributes:
        seed: Decides the order in which answers enter a sort, and which full-mark answers are
            followed up.
        marks: Whether judges give Likert marks.
        ranking: How answers are ranked.
        panel: `all` judges judge every question, or its `author` alone (as in the paper).
        disagreement: The rule for orders that disagree.
        self_preference: Whether judges compare their own answers with the others', too.
        rounds: Follow-up rounds after the first.
        sample: At most so many of a question's full-mark answers are followed up; None is all.
        share: The part of all full-mark answers that may be followed up. Each is drawn by itself,
            before `sample` is.
        full_mark: The overall score that counts as correct.
        chief: Who marks and follows up questions whose author is no examiner here.
        examiners: Who is one, whether asked here or not; empty where every author is.
        own: Judge to the examinees whose answers count as its own, beside itself.
        shares: Judge to the part of the questions that it judges, where that is not all.
    """

    seed: int = 0
    marks: bool = True
    ranking: str = "merge_sort"
    panel: str = "all"
    disagreement: Disagreement = "tie"
    self_preference: bool = True
    rounds: int = 0
    sample: int | None = None
    share: float = 1.0
    full_mark: int = 5
    chief: str | None = None
    examiners: frozenset[str] = frozenset()
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def judges(self, judge: str, question: Question) -> bool:
        """Whether a question is in a judge's share; each is drawn by itself."""
        share = self.shares.get(judge, 1.0)
        return share >= 1 or rng_for(self.seed, "share", question.id, judge).random() < share

    def may_go_on(self, question: Question, examinee: str) -> bool:
        """Whether a full-mark answer is in the share that is followed up."""
        rng = rng_for(self.seed, "follow up share", question.id, examinee)
        return self.share >= 1 or rng.random() < self.share

    def is_own(self, judge: str, examinee: str) -> bool:
        """Whether a judge may not mark or rank this examinee."""
        return judge == examinee or examinee in self.own.get(judge, ())


@dataclass(frozen=True, slots=True)
class QuestionRecords:
    """All records of one question, its follow-ups' among them."""

    question: Question
    answers: Sequence[Answer] = ()
    marks: Sequence[Mark] = ()
    verdicts: Sequence[Verdict] = ()
    rankings: Sequence[Ranking] = ()
    follow_ups: Sequence[QuestionRecords] = field(default=())
    lost_follow_ups: int = 0
    failed_follow_ups: int = 0

    def walk(self) -> Iterator[QuestionRecords]:
        """These, then those of its follow-ups, depth first."""
        yield self
        for deeper in self.follow_ups:
            yield from deeper.walk()


async def examine(question: Question, roles: Roles, rules: Rules) -> QuestionRecords:
    """Examine one question.

    Raises:
        BudgetReachedError: The budget ended it; nothing of the question is then returned, and
            what was answered is in the ledger.
    """
    if roles.waits:
        return await _examine(question, roles, rules)
    with in_turn():
        return await _examine(question, roles, rules)


async def _examine(question: Question, roles: Roles, rules: Rules) -> QuestionRecords:
    chosen = [
        examinee for name, examinee in roles.examinees.items() if question.examinee in (None, name)
    ]
    answers = await together(examinee.answer(question) for examinee in chosen)
    return await judge_answers(question, answers, roles, rules)


async def judge_answers(
    question: Question, answers: Sequence[Answer], roles: Roles, rules: Rules
) -> QuestionRecords:
    """Judge answers that are already there, then follow up."""
    usable = [answer for answer in answers if answer.state == "ok"]
    judges = panel(question, roles, rules)
    marks, sheets = await both(
        together(_mark_all(judge, question, usable, rules) for judge in judges if rules.marks),
        together(
            _rank(judge, question, usable, rules) for judge in judges if rules.ranking != "none"
        ),
    )
    flat_marks = [mark for column in marks for mark in column]
    follow_ups = await follow_up(question, usable, flat_marks, roles, rules)
    return QuestionRecords(
        question,
        answers,
        flat_marks,
        [verdict for sheet in sheets for verdict in sheet.verdicts],
        [sheet.ranking for sheet in sheets if sheet.ranking is not None],
        **split_follow_ups(follow_ups),
    )


def panel(question: Question, roles: Roles, rules: Rules) -> list[Judge]:
    """The judges of a question, in the order of the exam."""
    if rules.panel == "author":
        author = _examiner_of(question, rules)
        return [judge for name, judge in roles.judges.items() if name == author]
    return [judge for name, judge in roles.judges.items() if rules.judges(name, question)]


def _examiner_of(question: Question, rules: Rules) -> str | None:
    author = question.author
    if author is None or (rules.examiners and author not in rules.examiners):
        return rules.chief
    return author


async def _mark_all(
    judge: Judge, question: Question, answers: Sequence[Answer], rules: Rules
) -> list[Mark]:
    return await together(
        judge.mark(question, answer)
        for answer in answers
        if not rules.is_own(judge.name, answer.examinee)
    )


@dataclass(frozen=True, slots=True)
class _Sheet:
    """One judge's comparisons on one question."""

    verdicts: Sequence[Verdict]
    ranking: Ranking | None


def line_up(judge: str, question: Question, answers: Sequence[Answer], rules: Rules) -> list[str]:
    """The examinees whose answers a judge ranks, in the order in which they enter its sort."""
    others = [one.examinee for one in answers if not rules.is_own(judge, one.examinee)]
    rng_for(rules.seed, "sort", question.id, judge).shuffle(others)
    return others


async def _rank(
    judge: Judge, question: Question, answers: Sequence[Answer], rules: Rules
) -> _Sheet:
    by_name = {answer.examinee: answer for answer in answers}
    others = line_up(judge.name, question, answers, rules)
    made: dict[tuple[str, str], Comparison] = {}

    async def points(a: str, b: str) -> float | None:
        comparison = await compare(judge, question, by_name[a], by_name[b], rules.disagreement)
        made[a, b] = comparison
        return comparison.points

    async def sort() -> Groups:
        return await METHODS[rules.ranking](others, points) if len(others) > 1 else []

    async def compare_own() -> None:
        if rules.self_preference and judge.name in by_name:
            await together(points(judge.name, other) for other in others)

    groups, _ = await both(sort(), compare_own())
    return _Sheet(list(_verdicts(made)), _ranking(question, judge.name, groups, made))


def _verdicts(made: Mapping[tuple[str, str], Comparison]) -> Iterator[Verdict]:
    # Sorted, since the order in which concurrent comparisons end is not part of the records.
    for pair in sorted(made):
        yield made[pair].forward
        yield made[pair].backward


def _ranking(
    question: Question, judge: str, groups: Groups, made: Mapping[tuple[str, str], Comparison]
) -> Ranking | None:
    if not groups:
        return None
    placed = {
        name
        for pair, comparison in made.items()
        if comparison.points is not None and judge not in pair
        for name in pair
    }
    order = [tuple(sorted(name for name in group if name in placed)) for group in groups]
    unranked = tuple(sorted(name for group in groups for name in group if name not in placed))
    return Ranking(question.id, judge, tuple(group for group in order if group), unranked)


class FollowedUp(TypedDict):
    """The fields of `QuestionRecords` that say what became of its follow-ups."""

    follow_ups: list[QuestionRecords]
    lost_follow_ups: int
    failed_follow_ups: int


def split_follow_ups(parts: Iterable[QuestionRecords | FollowUp]) -> FollowedUp:
    """Follow-ups that were generated, and how many were not, or failed."""
    kept = list(parts)
    lost = [part for part in kept if isinstance(part, FollowUp)]
    return {
        "follow_ups": [part for part in kept if isinstance(part, QuestionRecords)],
        "lost_follow_ups": len(lost),
        "failed_follow_ups": sum(part.failed for part in lost),
    }


async def follow_up(
    question: Question,
    answers: Sequence[Answer],
    marks: Iterable[Mark],
    roles: Roles,
    rules: Rules,
) -> list[QuestionRecords | FollowUp]:
    """Follow up the answers that count as correct; where none could be generated, say why."""
    examiner = roles.examiners.get(_examiner_of(question, rules) or "")
    if question.round > rules.rounds or examiner is None:
        return []
    correct = correct_examinees(marks, examiner.name, rules.full_mark)
    chosen = [answer for answer in answers if answer.examinee in correct]
    chosen = [answer for answer in chosen if answer.examinee != examiner.name]
    chosen = [answer for answer in chosen if rules.may_go_on(question, answer.examinee)]
    if rules.sample is not None and len(chosen) > rules.sample:
        rng = rng_for(rules.seed, "follow up", question.id)
        kept = set(rng.sample([answer.examinee for answer in chosen], rules.sample))
        chosen = [answer for answer in chosen if answer.examinee in kept]
    return await together(_go_on(examiner, question, answer, roles, rules) for answer in chosen)


async def _go_on(
    examiner: Examiner, question: Question, answer: Answer, roles: Roles, rules: Rules
) -> QuestionRecords | FollowUp:
    asked = await examiner.follow_up(question, answer)
    return asked if asked.question is None else await examine(asked.question, roles, rules)


def correct_examinees(marks: Iterable[Mark], examiner: str, full_mark: int) -> set[str]:
    """Examinees whose answer counts as correct: full mark from the examiner itself.

    Where the examiner gave no marks at all (it is no judge), a strict majority of the judges that
    marked the answer decides instead.
    """
    given: dict[str, list[Mark]] = {}
    for mark in marks:
        given.setdefault(mark.examinee, []).append(mark)
    own = {m.examinee: m for column in given.values() for m in column if m.judge == examiner}
    if own:
        return {name for name, mark in own.items() if mark.overall == full_mark}
    return {
        name
        for name, column in given.items()
        if 2 * sum(mark.overall == full_mark for mark in column) > len(column)
    }


def rng_for(seed: int, *parts: str) -> random.Random:
    """A generator that depends on what it is for and on nothing else (not on call order)."""
    digest = hashlib.sha256("\x1f".join((str(seed), *parts)).encode("utf-8", "surrogatepass"))
    return random.Random(digest.digest())
