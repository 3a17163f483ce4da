"""What is planted in a simulated participant, and the one formula that makes verdicts of it.

All preferences are in win probability, so that what is planted can be laid beside what is found.
Where judges prefer nothing, the chance that answer a beats answer b is Bradley–Terry on their
qualities, 1 ÷ (1 + exp(b − a)); preferences are added to it, and the sum is cut at 0 and 1.
Where it is cut, less is found than was planted; participants of similar ability avoid that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import overload

import numpy as np
from numpy.typing import NDArray

from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json
from peerexam.errors import SetupError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SimSpec:
    """What is planted. The defaults make an average, fair, error-free participant.

    Attributes:
        ability: Mean quality of its answers, in logits.
        noise: Standard deviation of that quality over questions, in logits.
        self_preference: As judge, added to the chance that its own answer wins. Found as the
            third-party self-preference.
        first_preference: As judge, chance that the first place wins minus that of the second,
            between equal answers. Found as first_preference.
        longer_preference: The same for the longer answer. Found as longer_preference.
        home_advantage: As examinee, added to the chance that its answer wins where it wrote the
            question. Found as home_advantage. Marks feel it as the gain in quality that would do
            this against an equal.
        error_rate: As judge, share of its marks and verdicts that cannot be read; as classifier,
            of its levels.
        level_noise: As classifier, share of the questions that it puts into a level other than
            their own, either of the two as likely.
        reference_noise: As author, share of the further draws in which it answers its question
            otherwise.
    """

    ability: float = 0.0
    noise: float = 0.5
    self_preference: float = 0.0
    first_preference: float = 0.0
    longer_preference: float = 0.0
    home_advantage: float = 0.0
    error_rate: float = 0.0
    level_noise: float = 0.0
    reference_noise: float = 0.0


_BOUNDS: Mapping[str, tuple[float, float]] = {
    "ability": (-100.0, 100.0),
    "noise": (0.0, 100.0),
    "self_preference": (-1.0, 1.0),
    "first_preference": (-1.0, 1.0),
    "longer_preference": (-1.0, 1.0),
    "home_advantage": (-0.49, 0.49),
    "error_rate": (0.0, 1.0),
    "level_noise": (0.0, 1.0),
    "reference_noise": (0.0, 1.0),
}


def sim_spec(agent: AgentSpec) -> SimSpec:
    """Read `sim/NAME?ability=1.2&self_preference=0.3`.

    Raises:
        SetupError: It is no `sim/` agent, an option is unknown, no number, or out of bounds.
    """
    if agent.provider != "sim":
        raise SetupError(f"agent '{agent.name}' is {agent.provider}/…, not a simulated participant")
    known = [spec.name for spec in fields(SimSpec)]
    values: dict[str, float] = {}
    for option, value in agent.options.items():
        if option not in known:
            raise SetupError(
                f"agent '{agent.name}': a simulated participant has no '{option}'; it has "
                + ", ".join(known)
            )
        values[option] = _number(agent.name, option, value)
    return SimSpec(**values)


def _number(name: str, option: str, value: Json) -> float:
    low, high = _BOUNDS[option]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise SetupError(
            f"agent '{name}': {option} must be a number from {low:g} to {high:g}, not {value!r}"
        )
    return float(value)


@overload
def win_probability(
    judge: SimSpec, gap: float, *, own: float, longer: float, home: float
) -> float: ...


@overload
def win_probability(
    judge: SimSpec, gap: Floats, *, own: Floats, longer: Floats, home: Floats
) -> Floats: ...


def win_probability(
    judge: SimSpec,
    gap: float | Floats,
    *,
    own: float | Floats,
    longer: float | Floats,
    home: float | Floats,
) -> float | Floats:
    """Chance that the first-shown answer wins, for one judge: of one verdict, or of a whole table.

    Args:
        judge: Whose preferences count.
        gap: Quality of the first answer minus that of the second, in logits.
        own: 1 where the first answer is the judge's own, −1 where the second is, 0 otherwise.
        longer: 1 where the first answer is the longer, −1 where the second is, 0 for equal.
        home: Home advantage of the first answer's examinee where it wrote the question, minus
            that of the second's where that one did.

    Returns:
        Between 0 and 1; of the broadcast shape where arrays were given.
    """
    pull = (
        judge.self_preference * own
        + judge.first_preference / 2
        + judge.longer_preference / 2 * longer
        + home
    )
    # ½ + ½ tanh(x/2) is 1 ÷ (1 + exp(−x)) and never overflows.
    if isinstance(gap, np.ndarray):
        chances: Floats = np.clip(0.5 + 0.5 * np.tanh(gap / 2) + pull, 0.0, 1.0)
        return chances
    return float(min(max(0.5 + 0.5 * math.tanh(gap / 2) + pull, 0.0), 1.0))


def home_gain(spec: SimSpec) -> float:
    """Quality, in logits, that lifts the chance against an equal from ½ by the home advantage."""
    chance = 0.5 + spec.home_advantage
    return math.log(chance / (1 - chance))
