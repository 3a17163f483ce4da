"""All papers of an exam while they are set: repeated questions are removed and replaced."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from peerexam.errors import BudgetReachedError
from peerexam.examiners.base import AuthoredQuestions, Examiner, Replenisher, Style
from peerexam.protocols.questions.repetitions import RepetitionFinder
from peerexam.protocols.session.concurrency import together
from peerexam.records import Domain

MOST_AVOIDED = 30
"""Questions of others that an examiner is told not to repeat."""

_MOST_CHARACTERS = 6_000
"""Of all of them together."""


@dataclass(slots=True)
class Job:
    """One examiner's paper on one domain.

    Attributes:
        paper: As it is now.
        repeated: Author to how many questions of its this paper repeated.
        avoid: What they were, in order.
        settled: Texts of its questions that are known to repeat nothing.
    """

    examiner: Examiner
    domain: Domain
    paper: AuthoredQuestions = field(default_factory=lambda: AuthoredQuestions((), 0))
    repeated: Counter[str] = field(default_factory=Counter)
    avoid: list[str] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)


class Drafts:
    """All papers of an exam.

    Args:
        jobs: In the order of the questions.
        style: How questions are asked for.
        partial: Whether a budget that is reached leaves what there is.

    Attributes:
        stopped: What the first reached budget said, None where none was reached.
    """

    def __init__(self, jobs: Sequence[Job], style: Style, partial: bool) -> None:
        self._jobs = jobs
        self._on: defaultdict[Domain, list[Job]] = defaultdict(list)
        for job in jobs:
            self._on[job.domain].append(job)
        self._style = style
        self._partial = partial
        self.stopped: str | None = None

    async def set(self, per_domain: int) -> None:
        """Let every paper be set."""
        for job in self._jobs:
            job.paper = AuthoredQuestions((), per_domain, ("the budget was reached",))
        await together(
            self._put(job, job.examiner.questions(job.domain, per_domain, self._style))
            for job in self._jobs
        )

    async def replace_repetitions(self, finder: RepetitionFinder, across: bool) -> None:
        """Take repeated questions out and ask for others, until none is or nobody can be asked.

        Every round takes an attempt from each paper that is asked for, so it ends.
        """
        while True:
            for scope in [self._jobs] if across else [[job] for job in self._jobs]:
                await _take_out(scope, finder)
            short = [job for job in self._jobs if job.paper.shortfall and job.paper.attempts_left]
            asked = [job for job in short if isinstance(job.examiner, Replenisher)]
            if not asked or self.stopped is not None:
                return
            # What to avoid is gathered before anyone is asked: it must not depend on who is first.
            shown = [self._avoided(job) for job in asked]
            await together(
                self._put(job, _more(job, self._style, avoid))
                for job, avoid in zip(asked, shown, strict=True)
            )

    def _avoided(self, job: Job) -> list[str]:
        """What the paper repeated, and what others ask in its domain, within bounds."""
        others = (
            question.text
            for other in self._on[job.domain]
            if other is not job
            for question in other.paper.questions
        )
        return list(_bounded(dict.fromkeys((*job.avoid, *others))))

    async def _put(self, job: Job, paper: Awaitable[AuthoredQuestions]) -> None:
        try:
            job.paper = await paper
        except BudgetReachedError as reached:
            if not self._partial:
                raise
            self.stopped = self.stopped or str(reached)


async def _more(job: Job, style: Style, avoid: Sequence[str]) -> AuthoredQuestions:
    examiner = job.examiner
    if not isinstance(examiner, Replenisher):
        return job.paper
    return await examiner.more(job.domain, style, job.paper, avoid)


def _bounded(texts: dict[str, None]) -> Iterator[str]:
    room = _MOST_CHARACTERS
    for text in list(texts)[:MOST_AVOIDED]:
        room -= len(text)
        if room < 0:
            return
        yield text


async def _take_out(jobs: Sequence[Job], finder: RepetitionFinder) -> None:
    """Take repetitions out of papers; what stayed in an earlier round stays in this."""
    entries = [(job, question) for job in jobs for question in job.paper.questions]
    entries.sort(key=lambda entry: entry[1].text not in entry[0].settled)  # stable: order is kept
    settled = sum(question.text in job.settled for job, question in entries)
    found = await finder.find([question.text for _, question in entries], settled)
    out: set[int] = set()
    for (job, question), place in zip(entries, found, strict=True):
        if place is None:
            job.settled.add(question.text)
        else:
            author, repeated = entries[place][0].examiner.name, entries[place][1]
            job.repeated[author] += 1
            job.avoid.append(repeated.text)
            out.add(id(question))
    for job in jobs:
        kept = tuple(one for one in job.paper.questions if id(one) not in out)
        if len(kept) < len(job.paper.questions):
            job.paper = replace(job.paper, questions=kept)
