"""What a run says of its questions' levels and references, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from peerexam.protocols.config.models import ExamConfig, References
from peerexam.records import LevelVote, Question, Reference

_TELLING = 10
"""Questions from which on it is remarkable that all are on one level."""


def note_lines(
    asked: Sequence[Question],
    noted: Sequence[Question],
    votes: Iterable[LevelVote],
    references: Iterable[Reference],
    config: ExamConfig,
) -> list[str]:
    """The notes of a run on its questions.

    Args:
        asked: The questions as they were set.
        noted: The same questions, none left out, with their levels and references.
        votes: What the classifiers said.
        references: What the authors answered.
        config: The exam.
    """
    lines: list[str] = []
    if config.questions.levels.classifiers:
        lines += _on_levels(asked, votes)
    settings = config.questions.references
    if settings.draws:
        lines += _on_references(asked, list(references), settings)
    lines += _on_agreement(noted, settings)
    if settings.draws > 1:
        lines += _on_temperature(config)
    return lines


def _on_levels(asked: Sequence[Question], votes: Iterable[LevelVote]) -> Iterator[str]:
    brought = sum(question.level is not None for question in asked)
    if brought:
        yield (
            f"{brought} of {len(asked)} questions came with their level, which was not asked for "
            "again"
        )
    missing: dict[str, Counter[str]] = {}
    given: dict[str, Counter[str]] = {}
    for vote in votes:
        if vote.level is None:
            missing.setdefault(vote.classifier, Counter())[vote.state] += 1
        else:
            given.setdefault(vote.classifier, Counter())[vote.level] += 1
    for classifier, states in missing.items():
        yield (
            f"{classifier} gave {states.total()} of {len(asked) - brought} questions no level: "
            f"{_counted(states)}"
        )
    for classifier, levels in given.items():
        level, count = levels.most_common(1)[0]
        if count == levels.total() >= _TELLING:
            yield (
                f"{classifier} gave all {count} questions one level, {level}: it may not "
                "distinguish levels"
            )


def _on_references(
    asked: Sequence[Question], references: Sequence[Reference], settings: References
) -> Iterator[str]:
    first = [one for one in references if one.draw == 0]
    further = [one for one in references if one.draw]
    brought = sum(question.reference is not None for question in asked)
    if brought:
        yield (
            f"{brought} of {len(asked)} questions came with their reference, which was not asked "
            "for again"
        )
    nobody = len(asked) - brought - len(first)
    if nobody:
        yield (
            f"{nobody} of {len(asked)} questions have no reference: their author is none of the "
            "examiners here"
        )
    failed: Counter[str] = Counter(one.state for one in first if one.state != "ok")
    if failed:
        longer = "; a higher questions.references.max_tokens lets answers end"
        yield (
            f"{failed.total()} of {len(first)} authors' answers are no reference: "
            f"{_counted(failed)}{longer if failed['truncated'] else ''}"
        )
    unknown = sum(one.agrees is None for one in further)
    if unknown:
        drawn = Counter(
            one.state if one.state != "ok" else "unchecked" for one in further if one.agrees is None
        )
        yield (
            f"{unknown} of {len(further)} further draws could not be compared: {_counted(drawn)}"
        )


def _on_agreement(noted: Sequence[Question], settings: References) -> Iterator[str]:
    known = [one.reference_agreement for one in noted if one.reference_agreement is not None]
    marked = sum(agreement < settings.min_agreement for agreement in known)
    if not marked:
        return
    least = "half" if settings.min_agreement == 0.5 else f"{100 * settings.min_agreement:.4g} %"
    draws = settings.draws - 1
    of = f"{draws} further draw{'s' if draws > 1 else ''}" if draws > 0 else "further draws"
    done = "left out" if settings.drop_inconsistent else "marked"
    yield (
        f"{marked} of {len(noted)} questions are {done}: their author gave the same answer in "
        f"less than {least} of {of}"
    )


def _on_temperature(config: ExamConfig) -> Iterator[str]:
    for agent in config.agents_in("examiner"):
        if agent.temperature == 0:
            yield (
                f"{agent.name} answers at its own temperature of 0, so that repeating its "
                "answer says little"
            )


def _counted(states: Counter[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
