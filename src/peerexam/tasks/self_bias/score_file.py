"""Scores from outside in CSV, for self-bias: one row a segment, target and benchmark.

::

    segment, target, benchmark, score, role

`target` is the model whose output is scored, `benchmark` the model in whose role it is: author of
the test set, evaluator, or both (paper 004, §2). `role` may be left out, and other columns may
stand beside them; `source` is taken as the segment's text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.rows import csv_table

Role = Literal["test set", "evaluator", "both", ""]
"""What a benchmark is; empty where the file does not say."""

_ROLES: Mapping[str, Role] = {
    "": "",
    "testset": "test set",
    "author": "test set",
    "evaluator": "evaluator",
    "judge": "evaluator",
    "both": "both",
    "benchmark": "both",
}
_NEEDED = ("segment", "target", "benchmark", "score")
_LARGEST = 1e100
"""Squares of scores and their sums must be numbers too."""
_NO_SCORE = frozenset({"", "na", "nan", "none", "null"})


@dataclass(frozen=True, slots=True)
class RoleScores:
    """The scores of one role.

    Attributes:
        targets: Names, in the order of the file.
        benchmarks: Names, likewise.
        segments: Ids, likewise.
        segment: Per row, the number of its segment.
        benchmark: Per row, the number of its benchmark.
        scores: Shape rows × targets, NaN where there is none.
        shared: Whether any segment is under more than one benchmark.
        sources: Benchmark to the texts of its segments.
    """

    targets: tuple[str, ...]
    benchmarks: tuple[str, ...]
    segments: tuple[str, ...]
    segment: NDArray[np.int64]
    benchmark: NDArray[np.int64]
    scores: NDArray[np.float64]
    shared: bool
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_scores(path: Path) -> dict[Role, RoleScores]:
    """Read a file of scores, role by role.

    Raises:
        SetupError: There is no such file, or a column is missing.
        RecordFileError: A row has no name, a score that is no number, an unknown role, or a score
            that another row gives too.
    """
    collected: dict[Role, _Collected] = {}
    for number, row in csv_table(path, *_NEEDED):
        written = row.get("role", "").strip()
        role = _ROLES.get(written.lower().replace(" ", "").replace("-", "").replace("_", ""))
        if role is None:
            raise RecordFileError(
                f"'{written}' is no role: testset, evaluator, both, or nothing", path, number
            )
        collected.setdefault(role, _Collected()).add(row, path, number)
    if not collected:
        raise SetupError(f"{path} holds no score")
    return {role: one.scores() for role, one in collected.items()}


@dataclass(slots=True)
class _Collected:
    """Scores by (segment, benchmark) and target."""

    cells: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, row: Mapping[str, str], path: Path, number: int) -> None:
        segment, target, benchmark = (row[name].strip() for name in _NEEDED[:3])
        if not (segment and target and benchmark):
            raise RecordFileError("segment, target and benchmark must be named", path, number)
        cell = self.cells.setdefault((segment, benchmark), {})
        if target in cell:
            raise RecordFileError(
                f"{target} has a score on segment {segment} by {benchmark} already: leave one out, "
                "or average them",
                path,
                number,
            )
        self.targets.setdefault(target, len(self.targets))
        cell[target] = _score(row["score"], path, number)
        if row.get("source", "").strip():
            self.texts[segment, benchmark] = row["source"]

    def scores(self) -> RoleScores:
        benchmarks = {name: at for at, name in enumerate(dict.fromkeys(b for _, b in self.cells))}
        segments = {name: at for at, name in enumerate(dict.fromkeys(s for s, _ in self.cells))}
        table = np.full((len(self.cells), len(self.targets)), np.nan)
        for at, cell in enumerate(self.cells.values()):
            for target, score in cell.items():
                table[at, self.targets[target]] = score
        texts: dict[str, list[str]] = {}
        for (_, benchmark), text in self.texts.items():
            texts.setdefault(benchmark, []).append(text)
        return RoleScores(
            tuple(self.targets),
            tuple(benchmarks),
            tuple(segments),
            np.array([segments[name] for name, _ in self.cells], dtype=np.int64),
            np.array([benchmarks[name] for _, name in self.cells], dtype=np.int64),
            table,
            len(self.cells) > len(segments),
            texts,
        )


def _score(text: str, path: Path, number: int) -> float:
    if text.strip().lower() in _NO_SCORE:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise RecordFileError(f"the score '{text:.40}' is no number", path, number)
    if abs(value) > _LARGEST:
        raise RecordFileError(
            f"the score {value:g} is too large: the largest is {_LARGEST:g}", path, number
        )
    return value
