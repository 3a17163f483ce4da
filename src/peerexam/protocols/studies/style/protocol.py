"""Whether judges prefer a style where the content is the same (examiner paper, §4.4, Figure 7).

Each answer is rewritten by one model, the content is checked by a second, and every judge compares
the answer with its rewritten self in both orders. What is judged is the judge as an exam builds it.
The judges are not told names; records call the two texts `ORIGINAL` and `REWRITTEN`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from peerexam.errors import SetupError
from peerexam.examiners.base import Judge
from peerexam.examiners.style import (
    ContentCheck,
    ModelContentChecker,
    ModelRewriter,
    Rewriting,
)
from peerexam.protocols.exam.comparing import Comparison, compare
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, over
from peerexam.records import Answer, Question
from peerexam.runfolder import RunFolder

ORIGINAL, REWRITTEN = "(original)", "(rewritten)"
"""Who "wrote" the two texts, as judges that are no models see it: nobody they know."""

SHORTEST, LONGEST = 0.5, 2.0
"""Length of a rewritten text, in characters, as a multiple of its original's."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer to be rewritten.

    Attributes:
        root: Id of the first-round question that its question goes back to.
    """

    question: Question
    answer: Answer
    root: str


@dataclass(frozen=True, slots=True)
class StyleTrial:
    """What became of one sample.

    Attributes:
        ratio: Length of the rewritten text to that of the original, in characters; None where
            there is none.
        check: None where nothing was checked.
        dropped: Why it was not shown to the judges; None where it was.
        comparisons: One a judge, `a` the original and `b` the rewritten text; points by the mean
            of the two orders (examiner paper, appendix C.3).
    """

    sample: Sample
    rewriting: Rewriting
    ratio: float | None = None
    check: ContentCheck | None = None
    dropped: str | None = None
    comparisons: Mapping[str, Comparison] | None = None


def draw_samples(
    folder: RunFolder, n: int, *, seed: int = 0, of: str | None = None
) -> list[Sample]:
    """Answers of a run that can be rewritten.

    Args:
        folder: The run.
        n: How many at most. A larger draw holds every smaller one of the seed.
        seed: Of the draw.
        of: Whose; everybody's by default.

    Raises:
        SetupError: `n` is below 1, or there is no such answer.
        RecordFileError: A line of the run is damaged.
    """
    if n < 1:
        raise SetupError(f"--samples is a number of answers, 1 or more, not {n}")
    questions = {question.id: question for question in folder.questions()}
    found = [
        Sample(questions[answer.question_id], answer, _root(answer.question_id, questions))
        for answer in folder.answers()
        if answer.state == "ok" and answer.text.strip() and answer.question_id in questions
    ]
    names = sorted({one.answer.examinee for one in found})
    if not found:
        raise SetupError(f"{folder.path} holds no answer that could be rewritten; name a run")
    if of is not None and of not in names:
        raise SetupError(f"'{of}' answered nothing in {folder.path}; {', '.join(names)} did")
    chosen = [one for one in found if of is None or one.answer.examinee == of]
    return sorted(chosen, key=lambda one: _ticket(one, seed))[:n]


def _root(name: str, questions: Mapping[str, Question]) -> str:
    seen = {name}
    parent = questions[name].parent_id
    while parent is not None and parent in questions and parent not in seen:
        name = parent
        seen.add(name)
        parent = questions[name].parent_id
    return name


def _ticket(sample: Sample, seed: int) -> bytes:
    text = f"{seed}\x1f{sample.question.id}\x1f{sample.answer.examinee}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


async def probe_style(
    samples: Sequence[Sample],
    rewriter: ModelRewriter,
    checker: ModelContentChecker,
    judges: Mapping[str, Judge],
    window: int = 64,
) -> Progressed[StyleTrial]:
    """Rewrite, check and compare, until all is done or a budget is reached.

    Args:
        samples: What to work on.
        rewriter: Who rewrites.
        checker: Who says whether the content was kept.
        judges: By name.
        window: Samples under way at once.
    """

    async def work(sample: Sample) -> StyleTrial:
        trial = await _rewritten(sample, rewriter, checker)
        return trial if trial.dropped is not None else await _compared(trial, judges)

    return await over(samples, work, window)


async def _rewritten(
    sample: Sample, rewriter: ModelRewriter, checker: ModelContentChecker
) -> StyleTrial:
    rewriting = await rewriter.rewrite(sample.answer)
    trial = StyleTrial(sample, rewriting)
    if rewriting.state != "ok":
        return replace(trial, dropped=f"rewriting: {rewriting.state}")
    original = sample.answer.text
    trial = replace(trial, ratio=len(rewriting.text) / len(original.strip()))
    if _plain(rewriting.text) == _plain(original):
        return replace(trial, dropped="unchanged")
    if trial.ratio is None or not SHORTEST <= trial.ratio <= LONGEST:
        return replace(trial, dropped="length too different")
    check = await checker.check(original, rewriting.text)
    trial = replace(trial, check=check)
    if check.kept is None:
        return replace(trial, dropped=f"check: {check.state}")
    return trial if check.kept else replace(trial, dropped="content not kept")


async def _compared(trial: StyleTrial, judges: Mapping[str, Judge]) -> StyleTrial:
    question = trial.sample.question
    original = Answer(question.id, ORIGINAL, trial.sample.answer.text)
    rewritten = Answer(question.id, REWRITTEN, trial.rewriting.text)
    found = await together(
        compare(judge, question, original, rewritten, "average") for judge in judges.values()
    )
    return replace(trial, comparisons=dict(zip(judges, found, strict=True)))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
