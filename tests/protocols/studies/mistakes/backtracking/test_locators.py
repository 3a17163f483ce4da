"""Where backtracking goes back to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from peerexam.errors import SetupError
from peerexam.protocols.studies.mistakes.backtracking.locators import (
    CURVE,
    Locator,
    given_locations,
    locators_from,
    majority,
    simulated_location,
)
from peerexam.tasks.mistakes.traces import Trace, load_traces

SHARED = Path(__file__).resolve().parents[6] / "shared" / "data" / "bigbench_mistake"


def trace(number: int, place: int | None, steps: int = 4) -> Trace:
    return Trace("t", f"t:{number}", "q", tuple("abcdefgh"[:steps]), "1", "2", place)


def test_a_list_of_locators_is_read() -> None:
    found = locators_from("gold, random,simulated:0.6,own,peers,each-peer,model:a/b,gold")
    assert [one.name for one in found] == [
        "gold",
        "random",
        "simulated:0.6",
        "own",
        "peers",
        "each-peer",
        "model:a/b",
    ]
    assert [one.accuracy for one in locators_from("simulated")] == list(CURVE)


@pytest.mark.parametrize("text", ["", "silver", "simulated:2", "simulated:x", "model:", "gold:1"])
def test_what_is_no_locator_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="simulated"):
        locators_from(text)


def test_random_locations_are_even_over_all_steps_and_none() -> None:
    traces = [trace(number, 1) for number in range(5000)]
    counts = Counter(given_locations(Locator("random"), traces, traces, 3).values())
    # 1000 each; four standard deviations are 113.
    assert set(counts) == {None, 0, 1, 2, 3}
    assert all(abs(count - 1000) < 113 for count in counts.values())


def test_a_simulated_model_is_right_as_often_as_it_says_and_errs_like_the_data() -> None:
    # Gold at 1 throughout the drawn traces; the data set has 1 half of the time, 2 a third, none
    # a sixth: errors must be 2 twice as often as none, and never 1.
    whole = [trace(n, place) for n, place in enumerate([1, 1, 1, 2, 2, None])]
    traces = [trace(number, 1) for number in range(6000)]
    counts = Counter(given_locations(Locator("simulated", 0.7), traces, whole, 1).values())
    assert set(counts) == {1, 2, None}
    # Four standard deviations of 6000 draws each.
    assert abs(counts[1] - 4200) < 142
    assert abs(counts[2] - 1200) < 124
    assert abs(counts[None] - 600) < 93


def test_a_simulated_model_of_accuracy_1_is_gold_and_of_0_never_is() -> None:
    traces = [trace(number, number % 4) for number in range(200)]
    gold = given_locations(Locator("gold"), traces, traces, 0)
    assert given_locations(Locator("simulated", 1.0), traces, traces, 0) == gold
    never = given_locations(Locator("simulated", 0.0), traces, traces, 0)
    assert all(never[key] != gold[key] for key in gold)


def test_a_better_model_keeps_what_a_worse_one_got_right() -> None:
    spread = {1: 5, 2: 3, None: 2}
    for number in range(200):
        found = [simulated_location(trace(number, 1), share, spread, 9) for share in CURVE]
        first = found.index(1)
        assert all(place == 1 for place in found[first:])
        assert len(set(found[:first])) <= 1


def test_a_location_never_lies_beyond_the_trace() -> None:
    short = trace(0, 0, steps=1)
    assert simulated_location(short, 0.0, {7: 100}, 0) is None


def test_a_location_does_not_depend_on_the_other_traces() -> None:
    traces = [trace(number, 1) for number in range(30)]
    whole = given_locations(Locator("random"), traces, traces, 3)
    part = given_locations(Locator("random"), traces[10:12], traces, 3)
    assert part == {key: whole[key] for key in part}


def test_a_majority_is_the_most_named_and_of_equals_the_first() -> None:
    assert majority([2, None, None]) is None
    assert majority([3, 1, 1, 3]) == 3


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_random_on_the_real_data_is_as_often_right_as_its_floor() -> None:
    # Multistep arithmetic: 17.06 % (figures of the data set); 300 traces × 20 seeds.
    traces = load_traces(SHARED, ["multistep_arithmetic"])
    gold = given_locations(Locator("gold"), traces, traces, 0)
    hits = 0
    for seed in range(20):
        found = given_locations(Locator("random"), traces, traces, seed)
        hits += sum(found[key] == gold[key] for key in gold)
    assert hits / (20 * len(traces)) == pytest.approx(0.1706, abs=0.02)
