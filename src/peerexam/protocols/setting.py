"""Setting the questions of an exam, and sealing them before any answer is asked."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from peerexam.calls import canonical_json
from peerexam.errors import SetupError
from peerexam.examiners.base import Examiner, Paper, Style
from peerexam.protocols.concurrency import together
from peerexam.records import Domain, Question, to_json


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """All first-round questions of an exam.

    Attributes:
        questions: Examiner by examiner, domain by domain, in the examiner's order.
        planned: How many were wanted.
        notes: One line for every shortfall, naming examiner, domain and reasons.
        failures: Papers that are short because a call failed, by examiner.
    """

    questions: tuple[Question, ...]
    planned: int
    notes: tuple[str, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def seal(self) -> str:
        """SHA-256 over the questions' records, fixed before any answer is asked."""
        digest = hashlib.sha256()
        for question in self.questions:
            line = canonical_json(to_json(question)) + "\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


async def set_questions(
    examiners: Sequence[Examiner], domains: Sequence[Domain], per_domain: int, style: Style
) -> QuestionSet:
    """Let every examiner set questions in every domain (examiner paper, §3.1 and §3.3).

    Raises:
        SetupError: Two questions have one id, so that their records could not be told apart.
    """
    jobs = [(examiner, domain) for examiner in examiners for domain in domains]
    papers = await together(
        examiner.questions(domain, per_domain, style) for examiner, domain in jobs
    )
    notes = [
        _shortfall(examiner.name, domain.name, paper)
        for (examiner, domain), paper in zip(jobs, papers, strict=True)
        if paper.shortfall
    ]
    questions = tuple(question for paper in papers for question in paper.questions)
    twice = [name for name, times in Counter(one.id for one in questions).items() if times > 1]
    if twice:
        raise SetupError(
            f"two questions have the id '{twice[0]}': rename an agent or a domain, so that no name "
            "runs on into another"
        )
    failures = Counter(job[0].name for job, paper in zip(jobs, papers, strict=True) if paper.failed)
    return QuestionSet(questions, per_domain * len(jobs), tuple(notes), failures)


def given_questions(questions: Iterable[Question]) -> QuestionSet:
    """A set of the user's own questions."""
    kept = tuple(questions)
    return QuestionSet(kept, len(kept))


def _shortfall(examiner: str, domain: str, paper: Paper) -> str:
    why = "; ".join(dict.fromkeys(paper.reasons)) or "no reason given"
    return (
        f"{examiner} set {len(paper.questions)} of {paper.wanted} questions on "
        f"'{domain[:80]}': {why}"
    )
