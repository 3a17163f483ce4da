"""Setting the questions of an exam, and sealing them before any answer is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from peerexam.errors import SetupError
from peerexam.examiners.base import Examiner, Style
from peerexam.protocols.questions.duplicate_filter import Drafts, Job
from peerexam.protocols.questions.repetitions import RepetitionFinder, RepetitionRules
from peerexam.records import Domain, Question, to_json
from peerexam.runfolder.sealing import seal_of


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A paper with fewer questions than were wanted.

    Attributes:
        examiner: Who set it.
        domain: The domain's name.
        wanted: How many were asked for.
        found: How many there are.
        reasons: Why, one a failed attempt.
        repeated: Author to how many of its questions were repeated and are taken out.
    """

    examiner: str
    domain: str
    wanted: int
    found: int
    reasons: tuple[str, ...] = ()
    repeated: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        why = list(dict.fromkeys(self.reasons))
        why += [_repeated(self.examiner, self.repeated)] if self.repeated else []
        return (
            f"{self.examiner} set {self.found} of {self.wanted} questions on "
            f"'{self.domain[:80]}': {'; '.join(why) or 'no reason given'}"
        )


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """All first-round questions of an exam.

    Attributes:
        questions: Examiner by examiner, domain by domain, in the examiner's order.
        planned: How many were wanted.
        notes: One line for every shortfall, naming examiner, domain and reasons, and one for
            every examiner that repeated questions.
        failures: Papers that are short because a call failed, by examiner.
        shortfalls: The same as the notes, for programs.
        repeated: Examiner to the author whose questions it repeated, to how many; they are taken
            out, and what is there in their place is new.
        stopped: Why the setting ended early, None where it did not.
    """

    questions: tuple[Question, ...]
    planned: int
    notes: tuple[str, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    shortfalls: tuple[Shortfall, ...] = ()
    repeated: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def seal(self) -> str:
        """SHA-256 over the questions' records, fixed before any answer is asked."""
        return seal_of(map(to_json, self.questions))


async def set_questions(
    examiners: Sequence[Examiner],
    domains: Sequence[Domain],
    per_domain: int,
    style: Style,
    rules: RepetitionRules | None = None,
    *,
    partial: bool = False,
) -> QuestionSet:
    """Let every examiner set questions in every domain (examiner paper, §3.1 and §3.3).

    When all papers are there, repeated questions are taken out, and examiners that have attempts
    left are asked for others.

    Args:
        examiners: Who sets.
        domains: What about.
        per_domain: Questions of one examiner on one domain.
        style: How they are asked for.
        rules: When two questions count as one; None takes none out.
        partial: Where a budget ends it, return what there is, with the reason in `stopped`.

    Raises:
        BudgetReachedError: A budget ended it, and `partial` is false.
        SetupError: There is no such encoder; or two questions have one id, so that their records
            could not be distinguished.
    """
    finder = None if rules is None else RepetitionFinder(rules)
    jobs = [Job(examiner, domain) for examiner in examiners for domain in domains]
    drafts = Drafts(jobs, style, partial)
    await drafts.set(per_domain)
    if finder is not None and rules is not None:
        await drafts.replace_repetitions(finder, rules.across)
    questions = tuple(question for job in jobs for question in job.paper.questions)
    twice = [name for name, times in Counter(one.id for one in questions).items() if times > 1]
    if twice:
        raise SetupError(
            f"two questions have the id '{twice[0]}': rename an agent or a domain, so that no name "
            "runs on into another"
        )
    shortfalls = tuple(map(_shortfall, (job for job in jobs if job.paper.shortfall)))
    repeated = _by_examiner(jobs)
    return QuestionSet(
        questions,
        per_domain * len(jobs),
        (*map(str, shortfalls), *_repetition_notes(repeated)),
        Counter(job.examiner.name for job in jobs if job.paper.failed),
        shortfalls,
        repeated,
        drafts.stopped,
    )


def given_questions(questions: Iterable[Question]) -> QuestionSet:
    """A set of the user's own questions."""
    kept = tuple(questions)
    return QuestionSet(kept, len(kept))


def _shortfall(job: Job) -> Shortfall:
    paper = job.paper
    return Shortfall(
        job.examiner.name,
        job.domain.name,
        paper.wanted,
        len(paper.questions),
        paper.reasons,
        dict(sorted(job.repeated.items())),
    )


def _by_examiner(jobs: Iterable[Job]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for job in jobs:
        if job.repeated:
            found.setdefault(job.examiner.name, Counter()).update(job.repeated)
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def _repetition_notes(repeated: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [
        f"{name} {_repeated(name, counts)}; they were removed" for name, counts in repeated.items()
    ]


def _repeated(examiner: str, counts: Mapping[str, int]) -> str:
    whose = ", ".join(
        f"{times} of {'its own' if author == examiner else author}"
        for author, times in counts.items()
    )
    many = sum(counts.values())
    return f"repeated {many} question{'' if many == 1 else 's'} ({whose})"
