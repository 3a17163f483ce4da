"""Which domains an exam asks about: named in its config, or drawn from a taxonomy."""

from __future__ import annotations

from collections.abc import Iterator

from peerexam.errors import SetupError
from peerexam.protocols.config.models import Questions
from peerexam.protocols.config.parsing import Place
from peerexam.records import Domain
from peerexam.tasks.taxonomy.domain_names import clean_name, problem_of, quoted, same_name
from peerexam.tasks.taxonomy.tree import BUILT_IN, Taxonomy, load_taxonomy

_MOST_NOTES = 20
"""Of one taxonomy; more are counted only, since they are kept in the manifest."""


def chosen_domains(questions: Questions, seed: int) -> list[Domain]:
    """The domains, in the order of the config or of the draw.

    Names given one by one are cleaned (`tasks.domain_names`); each is a path of its own.

    Args:
        questions: The config's; without domains and taxonomy there are none.
        seed: The exam's; of the draw.

    Raises:
        RecordFileError: The taxonomy's file cannot be read.
        SetupError: A name cannot be a domain's, one stands twice, or the taxonomy has fewer
            domains than are to be drawn.
    """
    problem = next(_bad_names(questions), None)
    if problem is not None:
        raise SetupError(problem[1])
    if questions.taxonomy is None:
        names = [clean_name(name) for name in questions.domains]
        return [Domain(name, (name,)) for name in names]
    taxonomy = load_taxonomy(questions.taxonomy)
    if questions.sample is None:
        return list(taxonomy.domains())
    return list(taxonomy.sample(questions.sample, seed, questions.stratified))


def domain_count(questions: Questions) -> int:
    """How many domains `chosen_domains` gives.

    Raises:
        SetupError: As there, where the taxonomy must be read to know.
    """
    if questions.taxonomy is None:
        return len(questions.domains)
    if questions.sample is not None:
        return questions.sample
    return len(load_taxonomy(questions.taxonomy))


def domain_notes(questions: Questions) -> tuple[str, ...]:
    """What had to be cleaned, dropped or put together to make domains of names, a sentence each.

    Raises:
        SetupError: The taxonomy cannot be read.
    """
    if questions.taxonomy is not None:
        notes = load_taxonomy(questions.taxonomy).notes
    else:
        pairs = [(name, clean_name(name)) for name in questions.domains]
        notes = tuple(
            f"the domain {quoted(name)} is taken as {quoted(clean)}"
            for name, clean in pairs
            if clean != name
        )
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else (*notes[:_MOST_NOTES], f"and {more:,} more names like these")


def domain_problems(questions: Questions) -> Iterator[tuple[Place, str]]:
    """What is wrong with the choice of domains, each with its place in the config."""
    yield from _bad_names(questions)
    if questions.taxonomy is None:
        return
    place: Place = ("questions", "taxonomy")
    try:
        taxonomy = load_taxonomy(questions.taxonomy)
    except SetupError as error:
        yield place, str(error)
        return
    yield from _too_few(taxonomy, questions)


def is_built_in(taxonomy: object) -> bool:
    """Whether a taxonomy's name is one of ours, and so no path."""
    return taxonomy in BUILT_IN


def _too_few(taxonomy: Taxonomy, questions: Questions) -> Iterator[tuple[Place, str]]:
    if questions.sample is not None:
        try:
            taxonomy.draw(questions.sample, 0)
        except SetupError as error:
            yield ("questions", "sample"), str(error)


def _bad_names(questions: Questions) -> Iterator[tuple[Place, str]]:
    seen: dict[str, str] = {}
    for at, raw in enumerate(questions.domains):
        place: Place = ("questions", "domains", at)
        problem = problem_of(clean_name(raw))
        if problem:
            yield place, f"the domain {quoted(raw)} {problem}; name a field of knowledge"
            continue
        first = seen.setdefault(same_name(raw), raw)
        if first is not raw:
            yield (
                place,
                f"the domains {quoted(first)} and {quoted(raw)} are one (case and spaces aside), "
                "and would get the same questions twice: remove one",
            )
