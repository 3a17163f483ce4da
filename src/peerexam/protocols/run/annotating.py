"""What is noted on questions before they are sealed: their level, and their author's own answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from peerexam.calls import joined_calls
from peerexam.examiners.asking import Outcome
from peerexam.examiners.base import Checker
from peerexam.examiners.prompting.overflow import is_overflow
from peerexam.examiners.questions.references import same_words
from peerexam.protocols.config.models import ExamConfig, References
from peerexam.protocols.questions.annotators import Annotators
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.annotation_summary import note_lines
from peerexam.protocols.run.loop import OutcomeCounts
from peerexam.protocols.run.setup import Setup
from peerexam.protocols.session.concurrency import both, in_order, together
from peerexam.records import LevelVote, Question, Reference
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import Kind


@dataclass(frozen=True, slots=True)
class Annotated:
    """Questions with what is noted on them.

    Attributes:
        questions: With their level, reference and agreement; those that an author could not
            answer the same way are left out where the config says so.
        votes: What the classifiers said, in the order of the questions.
        references: The authors' answers, likewise; those of left out questions are among them.
        failed_calls: Who could not be asked, and why, a pair a record.
    """

    questions: QuestionSet
    votes: tuple[LevelVote, ...] = ()
    references: tuple[Reference, ...] = ()
    failed_calls: tuple[tuple[str, str | None], ...] = ()

    def count_failures(self, counts: OutcomeCounts) -> None:
        """Add the calls that failed to those of the run."""
        for who, reason in self.failed_calls:
            if not is_overflow(reason):
                counts.count(who, "error", reason)


@dataclass(frozen=True, slots=True)
class _Noted:
    """One question, and all that was said of it."""

    question: Question
    votes: Sequence[LevelVote] = ()
    references: Sequence[Reference] = ()
    failed_checks: Sequence[tuple[str, str | None]] = ()

    def failed_calls(self) -> Iterator[tuple[str, str | None]]:
        for vote in self.votes:
            if vote.state == "error":
                yield f"{vote.classifier} as classifier", vote.reason
        for reference in self.references:
            if reference.state == "error":
                yield f"{reference.author} as author", reference.reason
        yield from self.failed_checks


async def annotate(questions: QuestionSet, setup: Setup, config: ExamConfig) -> Annotated:
    """Ask for the questions' levels and their authors' own answers (examiner paper, §3.1).

    What a question of a file brings with it is kept, and not asked for again. A question without
    an author among the examiners gets no reference.

    Args:
        questions: As they are set; they are sealed with what is noted on them.
        setup: Who is asked.
        config: The exam; its seed, levels and references count.

    Raises:
        BudgetReachedError: The budget ended it. What was paid for is in the ledger.
        SetupError: A prompt cannot be filled in.
    """
    asked = setup.annotators
    if not asked.classifiers and not asked.authors:
        return Annotated(questions)

    async def note(question: Question) -> _Noted:
        return await _note(question, asked, config.questions.references)

    noted = [one async for one in in_order(questions.questions, note, setup.window)]
    votes = tuple(vote for one in noted for vote in one.votes)
    references = tuple(reference for one in noted for reference in one.references)
    failed = tuple(failure for one in noted for failure in one.failed_calls())
    whole = [one.question for one in noted]
    lines = note_lines(questions.questions, whole, votes, references, config)
    kept = tuple(one for one in whole if not _is_dropped(one, config.questions.references))
    held = replace(questions, questions=kept, notes=(*questions.notes, *lines))
    return Annotated(held, votes, references, failed)


def write_notes(
    folder: RunFolder, votes: Iterable[LevelVote], references: Iterable[Reference]
) -> None:
    """Put `levels.jsonl` and `references.jsonl` into a folder; none leave no file."""
    held: tuple[tuple[Kind, Sequence[LevelVote | Reference]], ...] = (
        ("levels", tuple(votes)),
        ("references", tuple(references)),
    )
    for kind, records in held:
        if not records:
            folder.records_path(kind).unlink(missing_ok=True)
            continue
        with folder.writer(kind) as writer:
            for record in records:
                writer.emit(record)


def _is_dropped(question: Question, settings: References) -> bool:
    agreement = question.reference_agreement
    return (
        settings.drop_inconsistent and agreement is not None and agreement < settings.min_agreement
    )


async def _note(question: Question, asked: Annotators, settings: References) -> _Noted:
    votes, (references, failed) = await both(
        _votes(question, asked), _references(question, asked, settings)
    )
    if votes:
        question = replace(question, level=votes[0].level)
    if references and references[0].state == "ok":
        question = replace(
            question,
            reference=references[0].text,
            reference_agreement=_agreement(references[1:]),
        )
    return _Noted(question, votes, references, failed)


async def _votes(question: Question, asked: Annotators) -> list[LevelVote]:
    if question.level is not None:
        return []
    return await together(one.level(question) for one in asked.classifiers.values())


def _agreement(draws: Sequence[Reference]) -> float | None:
    """The share that agrees of those draws for which it is known."""
    known = Counter(draw.agrees for draw in draws if draw.agrees is not None)
    return known[True] / known.total() if known else None


async def _references(
    question: Question, asked: Annotators, settings: References
) -> tuple[list[Reference], list[tuple[str, str | None]]]:
    """The author's answers, the reference first, and the checks that failed."""
    author = asked.authors.get(question.author or "")
    if author is None or question.reference is not None:
        return [], []
    first = await author.reference(question, 0)
    if first.state != "ok":
        return [first], []  # further draws would have nothing to be held against
    others = await together(author.reference(question, draw) for draw in range(1, settings.draws))
    checker = asked.checkers.get(settings.checker or author.name)
    checked = await together(_checked(question, first, other, checker) for other in others)
    failed = [
        (f"{checker.name} as checker", outcome.reason)
        for _, outcome in checked
        if checker is not None and outcome is not None and outcome.state == "error"
    ]
    return [first, *(draw for draw, _ in checked)], failed


async def _checked(
    question: Question, first: Reference, other: Reference, checker: Checker | None
) -> tuple[Reference, Outcome[bool] | None]:
    """A further draw with whether it agrees, and what the checker said where it was asked."""
    if other.state != "ok":
        return other, None
    if same_words(first.text, other.text):
        return replace(other, agrees=True), None
    if checker is None:
        return replace(other, reason="not checked: the checker is not here"), None
    outcome = await checker.same(question, first.text, other.text)
    other = replace(other, call=joined_calls(other.call, outcome.call))
    if outcome.value is None:
        why = f"not checked ({outcome.state}): {outcome.reason}"
        return replace(other, reason=why), outcome
    return replace(other, agrees=outcome.value), outcome
