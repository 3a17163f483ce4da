"""Which operators of FunQL the words of a question stand for; written for this project.

For questions without an alignment. A word that two operators of one program could stand for is
given to neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from peerexam.tasks.consistency.funql import Term

_BORDERING = "border borders bordering bordered neighbor neighbors neighboring adjacent surrounding"
_CROSSING = "run runs running flow flows flowing traverse traverses cross crosses pass passes go"
_HEIGHT = "high height tall elevation"
_PEOPLE = "population populations people citizens inhabitants residents live populous populated"

WORDS: Mapping[str, frozenset[str]] = {
    operator: frozenset(words.split())
    for operator, words in {
        "area_1": "area areas",
        "capital": "capital capitals",
        "capital_1": "capital capitals",
        "capital_2": "capital capitals",
        "city": "city cities town towns",
        "count": "many number count",
        "density_1": "density densities dense densely",
        "elevation_1": _HEIGHT,
        "elevation_2": _HEIGHT,
        "exclude": "not no excluding except without",
        "fewest": "fewest least",
        "high_point_1": "high highest",
        "high_point_2": "high highest",
        "higher_2": "higher taller above",
        "highest": "highest tallest maximum",
        "intersection": "and",
        "lake": "lake lakes",
        "largest": "largest biggest greatest",
        "largest_one": "largest biggest greatest highest most",
        "len": "long length",
        "loc_1": "has have with contains contain containing whose",
        "loc_2": "in of within inside",
        "longer": "longer",
        "longest": "longest largest biggest",
        "low_point_1": "low lowest",
        "low_point_2": "low lowest",
        "lower_2": "lower below",
        "lowest": "lowest minimum",
        "major": "major big main",
        "most": "most",
        "mountain": "mountain mountains peak peaks",
        "next_to_1": _BORDERING,
        "next_to_2": _BORDERING,
        "place": "point points place places spot spots elevation peak",
        "population_1": _PEOPLE,
        "river": "river rivers",
        "shortest": "shortest",
        "size": "big large size",
        "smallest": "smallest",
        "smallest_one": "smallest least lowest sparsest",
        "state": "state states",
        "sum": "total combined sum",
        "traverse_1": _CROSSING,
        "traverse_2": _CROSSING,
    }.items()
}

_COUNTRY = frozenset({"usa", "us", "united", "states", "america", "country"})


def labels_by_words(words: list[str], program: Term) -> list[str | None]:
    """Name of the operator that each word stands for; None where it stands for none or several."""
    claims: list[set[str]] = [set() for _ in words]
    for term in program.operators():
        for claim, word in zip(claims, words, strict=True):
            if word in WORDS.get(term.name, ()):
                claim.add(term.name)
        for place in _places_of_constants(words, term):
            # A name is a name: "mississippi river", "the united states".
            claims[place] = {term.name}
    return [claim.pop() if len(claim) == 1 else None for claim in claims]


def _places_of_constants(words: list[str], term: Term) -> list[int]:
    places: list[int] = []
    for constant in term.arguments or ():
        if constant.is_operator or not constant.quoted:
            continue
        phrase = constant.name.split()
        for start in range(len(words) - len(phrase) + 1):
            if words[start : start + len(phrase)] == phrase:
                places += range(start, start + len(phrase))
    if term.name == "countryid":
        united = "united" in words
        places += [
            place
            for place, word in enumerate(words)
            if word in _COUNTRY - {"states"}
            or (united and word == "states" and words[place - 1] == "united")
        ]
    return places
