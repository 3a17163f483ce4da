"""Examining a set of questions into a run's folder: the loop that every protocol shares.

Records are written in the order of the questions, so that a resumed run leaves the same
bytes as an undisturbed one. A question is written whole or not at all.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field

from peerexam.calls import State
from peerexam.errors import BudgetReachedError
from peerexam.examiners.answering import is_cut
from peerexam.examiners.prompting.overflow import is_overflow
from peerexam.protocols.exam.examination import QuestionRecords
from peerexam.protocols.run.resume import Resume
from peerexam.protocols.run.setup import Setup
from peerexam.protocols.session.concurrency import in_order
from peerexam.records import Answer, Question
from peerexam.runfolder import RecordWriter, RunFolder
from peerexam.runfolder.checkpoint import Checkpoint
from peerexam.runfolder.folder import Kind

_KINDS: tuple[Kind, ...] = ("questions", "answers", "marks", "verdicts", "rankings")

_OFTEN, _SHARE = 5, 0.2
"""So many answers of an agent, and such a share of them, are warned of where they are cut."""

RETRY = "run the same command: failed calls are retried"
BIGGER_BUDGET = "run the same command with a bigger budget to continue (one of seconds starts anew)"

_log = logging.getLogger("peerexam")


@dataclass(slots=True)
class OutcomeCounts:
    """What happened while the questions were examined.

    Attributes:
        examined: Questions of the first round that are completed.
        failures: Failed calls behind the records, by agent and role.
        why: What the first of them said, by agent and role.
        follow_ups: Follow-ups that were due, generated or not.
        lost_follow_ups: Those that could not be generated.
        too_long: Judgements that are missing since the answers did not fit, by agent and role.
        lost: Why agents were disabled, by agent.
        odd_endings: Usable replies with an odd finish reason, by agent and that reason.
        stopped: Why the run ended early, None where it did not.
        inherited: What was missing before it began, None where nothing was.
        retry: How failed calls are retried, in words.
    """

    examined: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    why: dict[str, str] = field(default_factory=dict)
    follow_ups: int = 0
    lost_follow_ups: int = 0
    too_long: Counter[str] = field(default_factory=Counter)
    lost: Mapping[str, str] = field(default_factory=dict)
    odd_endings: Mapping[tuple[str, str], int] = field(default_factory=dict)
    stopped: str | None = None
    inherited: str | None = None
    retry: str = RETRY
    _answered: Counter[str] = field(default_factory=Counter)
    _cut: Counter[str] = field(default_factory=Counter)

    def note_answer(self, answer: Answer) -> None:
        """Take note of an answer; whose are often cut at the length limit is warned of, once."""
        name = answer.examinee
        self.count(f"{name} as examinee", answer.state, answer.reason)
        self._answered[name] += 1
        if not is_cut(answer.state, answer.reason):
            return
        self._cut[name] += 1
        cut, of = self._cut[name], self._answered[name]
        if cut == _OFTEN and cut / of >= _SHARE:
            _log.warning(
                "%d of %d answers of %s so far were cut at the length limit: raise "
                "answers.max_tokens (or the agent's own), or ask for shorter answers",
                cut,
                of,
                name,
            )

    def count(self, who: str, state: State, reason: str | None) -> None:
        """Take note of a record, where the call behind it failed."""
        if state == "error" and is_overflow(reason):
            self.too_long[who] += 1
        elif state == "error":
            self.failures[who] += 1
            self.why.setdefault(who, reason or "no reason given")


async def examine_all(
    questions: Iterable[Question],
    examine: Callable[[Question], Awaitable[QuestionRecords]],
    folder: RunFolder,
    setup: Setup,
    resume: Resume | None = None,
) -> OutcomeCounts:
    """Examine questions, a window of them at a time, and write their records.

    Args:
        questions: Of the first round; they are written first, follow-ups behind them.
        examine: Examines one question.
        folder: Where the records go.
        setup: With its admission, which is asked before each question; without room, only what is
            paid for is replayed.
        resume: Takes over what an earlier session left under the same set-up; None takes over
            nothing.
    """
    counts = OutcomeCounts()
    asked = list(questions)

    async def guarded(question: Question) -> QuestionRecords | None:
        # Without room a question is still replayed, as far as the ledger holds all of it.
        await setup.admission.admit()
        try:
            return await examine(question)
        except BudgetReachedError as reached:
            counts.stopped = str(reached)
            return None
        finally:
            setup.admission.release()

    with ExitStack() as stack:
        writers: dict[str, RecordWriter] = {
            kind: stack.enter_context(folder.writer(kind)) for kind in _KINDS
        }
        for question in asked:
            writers["questions"].emit(question)
        writers["questions"].flush()
        found = Checkpoint("") if resume is None else await resume.take_over(writers)
        counts.examined = found.whole
        counts.follow_ups, counts.lost_follow_ups = found.follow_ups, found.lost_follow_ups
        left = asked[counts.examined :]
        async with aclosing(in_order(left, guarded, setup.window)) as examined:
            async for records in examined:
                if records is not None:
                    counts.examined += 1
                    _write(records, writers, counts)
                if resume is not None:
                    resume.note(records, writers)
        if resume is not None:
            resume.keep(writers)
    counts.lost, counts.odd_endings = setup.lost(), setup.odd_endings()
    return counts


def _write(
    records: QuestionRecords, writers: dict[str, RecordWriter], counts: OutcomeCounts
) -> None:
    for part in records.walk():
        counts.follow_ups += len(part.follow_ups) + part.lost_follow_ups
        counts.lost_follow_ups += part.lost_follow_ups
        examiner = f"{part.question.author or 'the examiner'} as examiner"
        counts.failures[examiner] += part.failed_follow_ups
        if part.question.round > 1:
            writers["questions"].emit(part.question)
        for answer in part.answers:
            writers["answers"].emit(answer)
            counts.note_answer(answer)
        for mark in part.marks:
            writers["marks"].emit(mark)
            counts.count(f"{mark.judge} as judge", mark.state, mark.reason)
        for verdict in part.verdicts:
            writers["verdicts"].emit(verdict)
            counts.count(f"{verdict.judge} as judge", verdict.state, verdict.reason)
        for ranking in part.rankings:
            writers["rankings"].emit(ranking)
