"""What a judge scores: dimensions with their scales, and an overall score."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Mark

OVERALL = "overall"
"""The name of the overall score in prompts and replies."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*")
# A mark's scores stand beside its other fields in marks.jsonl.
_RESERVED = frozenset(spec.name for spec in dataclasses.fields(Mark)) - {"scores"}
_WIDEST = 100


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of an answer.

    Attributes:
        low: Score of the worst.
        high: Score of the best.
        description: What is judged, as the judge is told.
    """

    low: int
    high: int
    description: str = ""


def _paper_dimensions() -> dict[str, Dimension]:
    return {
        "accuracy": Dimension(1, 3, "whether the answer correctly answers the question"),
        "coherence": Dimension(
            1, 3, "whether it is well built and logical, and a layman can follow it"
        ),
        "factuality": Dimension(1, 3, "whether it is free of factual errors, and nothing else"),
        "comprehensiveness": Dimension(
            1,
            3,
            "whether it covers the sides of the question; to a simple question (when, which, "
            "where, who) the plain answer is enough and deserves the highest score",
        ),
    }


@dataclass(frozen=True, slots=True)
class Rubric:
    """Named dimensions with whole-number scales, and the scale of the overall score.

    The default is the examiner paper's (§3.2, appendix B.4): four dimensions from 1 to 3 and an
    overall score from 1 to 5.

    Raises:
        SetupError: A name cannot be used, or a scale is empty, upside down or too wide.
    """

    name: str = "lmexam"
    dimensions: Mapping[str, Dimension] = field(default_factory=_paper_dimensions)
    overall: tuple[int, int] = (1, 5)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name, dimension in self.dimensions.items():
            folded = re.sub(r"[ _-]", " ", name.lower())
            if not _NAME.fullmatch(name) or len(name) > 40 or folded in _RESERVED | {"question id"}:
                raise SetupError(
                    f"rubric '{self.name}': '{name}' cannot be a dimension's name: use up to 40 "
                    f"letters, digits and single spaces, and none of {', '.join(sorted(_RESERVED))}"
                )
            if folded in seen:
                raise SetupError(f"rubric '{self.name}': dimension '{name}' stands twice")
            seen.add(folded)
            self._check_scale(name, (dimension.low, dimension.high))
        self._check_scale(OVERALL, self.overall)

    def _check_scale(self, name: str, scale: tuple[int, int]) -> None:
        low, high = scale
        if not 0 <= low < high <= low + _WIDEST:
            raise SetupError(
                f"rubric '{self.name}': the scale of '{name}' runs from {low} to {high}; it must "
                f"rise from 0 or more, by {_WIDEST} at most"
            )

    @property
    def scales(self) -> dict[str, tuple[int, int]]:
        """Dimension to its lowest and highest score; the overall score is not among them."""
        return {name: (each.low, each.high) for name, each in self.dimensions.items()}

    @property
    def full_mark(self) -> int:
        """The highest overall score."""
        return self.overall[1]

    def to_json(self) -> dict[str, Json]:
        """The rubric as plain JSON; `rubric_from_json` reads it."""
        return {
            "name": self.name,
            "dimensions": {
                name: {"low": each.low, "high": each.high, "description": each.description}
                for name, each in self.dimensions.items()
            },
            "overall": list(self.overall),
        }


def rubric_from_json(body: Json, name: str = "own") -> Rubric:
    """Read a rubric from what a YAML or JSON file holds.

    `dimensions` maps a name to `{low, high, description}` or to `[low, high, description]`, the
    description optional; `overall` is `[low, high]` or `{low, high}`, by default 1 to 5.

    Raises:
        SetupError: Something is missing, unknown or of the wrong kind.
    """
    if not isinstance(body, dict) or not isinstance(body.get("dimensions"), dict):
        raise SetupError("a rubric needs a mapping 'dimensions': a name to low, high, description")
    unknown = sorted(str(key) for key in body.keys() - {"name", "dimensions", "overall"})
    if unknown:
        raise SetupError(
            f"a rubric has no key '{unknown[0]}'; its keys are name, dimensions, overall"
        )
    dimensions = {
        str(key): _dimension(str(key), value) for key, value in body["dimensions"].items()
    }
    overall = _dimension(OVERALL, body.get("overall", [1, 5]))
    return Rubric(str(body.get("name", name)), dimensions, (overall.low, overall.high))


def _dimension(name: str, value: Json) -> Dimension:
    if isinstance(value, list) and len(value) in (2, 3):
        value = dict(zip(("low", "high", "description"), value, strict=False))
    wrong = SetupError(
        f"rubric: '{name}' needs {{low: 1, high: 3, description: …}} with whole numbers, or a list "
        "of the same"
    )
    if not isinstance(value, dict) or value.keys() - {"low", "high", "description"}:
        raise wrong
    low, high = value.get("low"), value.get("high")
    if type(low) is not int or type(high) is not int:
        raise wrong
    return Dimension(low, high, " ".join(str(value.get("description", "")).split()))


def load_rubric(path: Path) -> Rubric:
    """Read a rubric file, YAML or JSON; its name is by default the file's.

    Raises:
        SetupError: The file cannot be read, or holds no rubric; the message names the file.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        body = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        return rubric_from_json(body, path.stem)
    except OSError as error:
        raise SetupError(f"the rubric {path} cannot be read: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise SetupError(f"{path}: {error}") from error
