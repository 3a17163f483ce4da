"""The variations of the discrimination phase (Self-[In]Correct, §5 and appendices C, D)."""

from __future__ import annotations

from dataclasses import dataclass

from peerexam.errors import SetupError
from peerexam.examiners.discrimination.choosing import Wording
from peerexam.tasks.benchmarks.base import BenchmarkTask
from peerexam.tasks.discrimination.examples import Example, examples_of

_REASON_TOKENS, _LABEL_TOKENS = 256, 16
_WITH_REASONS = ("gsm8k",)
"""Tasks whose plain prompt gives reasons already (§5.1)."""

_SIMPLIFIED = ("gsm8k", "triviaqa")
_PLAINLY = Wording()


@dataclass(frozen=True, slots=True)
class Variation:
    """One way to ask for a choice.

    Attributes:
        times: As many times the usual examples.
        wording: How the prompt is put.
        simplified: Whether wrong candidates are made easy to tell (§5.3).
        rotated: Whether every rotation of the candidates is asked; ours.
    """

    name: str
    times: int = 1
    wording: Wording = _PLAINLY
    simplified: bool = False
    rotated: bool = False

    def examples(self, task: BenchmarkTask, n: int) -> tuple[Example, ...]:
        """The examples of its prompt, each with at most n candidates."""
        return tuple(one.among(n) for one in examples_of(task, self.times))

    def max_tokens(self, task: BenchmarkTask) -> int:
        """Of one reply."""
        reasons = _REASON_TOKENS if self.wording.reasons else 0
        return reasons + (task.max_tokens if self.wording.verbatim else 0) + _LABEL_TOKENS

    def rotations(self, n: int) -> range:
        """By how many places the candidates are moved, in every prompt of it."""
        return range(n if self.rotated else 1)


PLAIN = Variation("plain")

_ALL = (
    PLAIN,
    Variation("double", times=2),
    Variation("triple", times=3),
    Variation("cot", wording=Wording(reasons=True)),
    Variation("verbatim", wording=Wording(verbatim=True)),
    Variation("wording-2", wording=Wording(number=2)),
    Variation("wording-3", wording=Wording(number=3)),
    Variation("simplified", simplified=True),
    Variation("rotated", rotated=True),
)
NAMES = tuple(one.name for one in _ALL)


def variations_of(listed: str, task: BenchmarkTask) -> tuple[Variation, ...]:
    """The variations of a list with commas, as they are for a task.

    Raises:
        SetupError: There is no such variation, or not for this task.
    """
    names = [name.strip().lower() for name in listed.split(",") if name.strip()]
    if not names:
        raise SetupError(f"--variations names none: choose from {', '.join(NAMES)}")
    return tuple(_for_task(name, task) for name in dict.fromkeys(names))


def _for_task(name: str, task: BenchmarkTask) -> Variation:
    found = next((one for one in _ALL if one.name == name), None)
    if found is None:
        raise SetupError(f"there is no variation '{name}': choose from {', '.join(NAMES)}")
    if found.simplified and task.name not in _SIMPLIFIED:
        raise SetupError(
            f"'simplified' needs answers that are right or wrong by a key: it is for "
            f"{' and '.join(_SIMPLIFIED)}"
        )
    examples_of(task, found.times)
    if task.name not in _WITH_REASONS:
        return found
    if name == "cot":
        raise SetupError(f"{task.name}'s plain prompt asks for reasons already: leave out 'cot'")
    wording = Wording(found.wording.number, True, found.wording.verbatim)
    return Variation(name, found.times, wording, found.simplified, found.rotated)
