"""Which effects stand behind which score, and what keeps them apart.

A cell is one (judge, examinee). Effects of authors with examinees and of judges with examinees
leave out the diagonal, which has effects of its own: home advantage (the author answers its own
question) and self-preference (the judge judges its own answer). So a rival's own bias is not part
of the comparison, as it is in a double-centred table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.tables import Floats, Ints

FAMILIES = ("examinee", "judge", "author × examinee", "judge × examinee", "home", "self")
"""Effects that differ within a question; author and question are what all its scores share."""


@dataclass(frozen=True, slots=True)
class RoleDesign:
    """Effects as columns.

    Attributes:
        columns: Per effect, its family and whom it is of.
        cells: Per author, which effects add up in each cell (shape: judges·examinees × effects).
        basis: Shape effects × free parameters: all effects that keep to the side conditions.
    """

    columns: tuple[tuple[str, tuple[str, ...]], ...]
    cells: tuple[Floats, ...]
    basis: Floats

    def family(self, name: str) -> Ints:
        """Which columns are of a family."""
        return np.array([k for k, (one, _) in enumerate(self.columns) if one == name], np.int64)


def role_design(
    authors: Sequence[str], judges: Sequence[str], examinees: Sequence[str], seen: Floats
) -> RoleDesign:
    """Lay out the effects that the scores seen can tell of.

    Side conditions: effects of examinees, and of judges, sum to zero; effects of pairs sum to zero
    over either, the diagonal left out.

    Args:
        authors: Names; a single author cannot be told from the questions, and has no effects.
        judges: Names.
        examinees: Names.
        seen: Shape authors × judges × examinees: above 0 where there is a score.
    """
    kinds = _kinds(authors, judges, examinees, seen)
    names = list(dict.fromkeys(column for cell in kinds.values() for column in cell))
    names.sort(key=lambda one: FAMILIES.index(one[0]))
    at = {name: place for place, name in enumerate(names)}
    size = len(judges) * len(examinees)
    cells = tuple(np.zeros((size, len(names))) for _ in authors)
    for (a, j, e), found in kinds.items():
        for column in found:
            cells[a][j * len(examinees) + e, at[column]] = 1.0
    return RoleDesign(tuple(names), cells, _free(names, at))


_Column = tuple[str, tuple[str, ...]]


def _kinds(
    authors: Sequence[str], judges: Sequence[str], examinees: Sequence[str], seen: Floats
) -> dict[tuple[int, int, int], list[_Column]]:
    found: dict[tuple[int, int, int], list[_Column]] = {}
    for a, j, e in np.argwhere(seen > 0).tolist():
        author, judge, examinee = authors[a], judges[j], examinees[e]
        columns: list[_Column] = [("examinee", (examinee,)), ("judge", (judge,))]
        if len(authors) > 1:
            home = author == examinee
            columns.append(
                ("home", (examinee,)) if home else ("author × examinee", (author, examinee))
            )
        if judge == examinee:
            columns.append(("self", (examinee,)))
        elif len(judges) > 1:
            columns.append(("judge × examinee", (judge, examinee)))
        found[a, j, e] = columns
    return found


def _free(names: Sequence[_Column], at: dict[_Column, int]) -> Floats:
    """An orthonormal basis of the effects that keep to the side conditions."""
    conditions: dict[tuple[str, int, str], list[int]] = {}
    for family, whose in names:
        place = at[family, whose]
        if family in ("examinee", "judge"):
            conditions.setdefault((family, -1, ""), []).append(place)
        elif "×" in family:
            for side, name in enumerate(whose):
                conditions.setdefault((family, side, name), []).append(place)
    rows = np.zeros((len(conditions), len(names)))
    for row, places in zip(rows, conditions.values(), strict=True):
        row[places] = 1.0
    if not len(names):
        return np.zeros((0, 0))
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > 1e-9).sum())
    return np.asarray(vectors[rank:].T, dtype=np.float64)
