"""Training on small data with a planted rule; what is saved comes back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from peerexam.errors import SetupError
from peerexam.protocols.studies.mistakes.backtracking.classifier_training import (
    best_constant,
    train_held_out,
)
from peerexam.tasks.mistakes.step_classifier import CONFIG, WEIGHTS, StepClassifier, load_classifier
from peerexam.tasks.mistakes.step_features import COLUMNS, step_features
from peerexam.tasks.mistakes.step_training import (
    Trainer,
    Training,
    accuracies,
    tables,
    wrong_steps,
)
from peerexam.tasks.mistakes.traces import Trace

pytest.importorskip("torch")
pytest.importorskip("safetensors")


def planted(task: str, count: int, seed: int) -> list[Trace]:
    """Traces of sums, wrong from a place drawn at random on, or nowhere."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        length = int(rng.integers(3, 8))
        place = None if rng.random() < 0.3 else int(rng.integers(0, length))
        steps = []
        for at in range(length):
            a, b = (int(x) for x in rng.integers(1, 50, 2))
            steps.append(f"Now {a} + {b} = {a + b + (at == place)}.")
        found.append(Trace(task, f"{task}:{number}", "sums", tuple(steps), "1", "1", place))
    return found


TRACES = [*planted("one", 40, 1), *planted("two", 40, 2), *planted("three", 40, 3)]


def test_steps_after_a_mistake_count_as_wrong_for_training() -> None:
    trace = Trace("t", "t:1", "q", ("a", "b", "c"), "1", "2", 1)
    assert wrong_steps(trace).tolist() == [False, True, True]


def test_a_planted_rule_is_learned_and_found_in_a_task_never_seen(tmp_path: Path) -> None:
    (row,) = train_held_out(TRACES, Training(epochs=60), "three", tmp_path / "out")
    # The rule decides every trace, so what is missed is missed by training.
    assert row.accuracy.value is not None
    assert row.accuracy.value > 0.95
    assert row.accuracy.value > max(row.prior, row.own_prior, row.none, row.random) + 0.3
    assert json.loads((tmp_path / "out" / "held_out.json").read_text())["tasks"][0]["n"] == 40


def test_the_same_seed_gives_the_same_weights() -> None:
    training = Training(epochs=10, seed=4)
    data = tables(TRACES, training)
    first, second = (Trainer(data, training).for_tasks(["one", "two"]) for _ in range(2))
    for name, values in first.weights.items():
        assert np.array_equal(values, second.weights[name])
    assert first.threshold == second.threshold


def test_a_saved_classifier_gives_the_same_probabilities(tmp_path: Path) -> None:
    training = Training(epochs=10)
    data = tables(TRACES, training)
    made = Trainer(data, training).for_tasks(["one", "two"])
    made.save(tmp_path)
    loaded = load_classifier(tmp_path)
    features = data["three"].features
    assert np.array_equal(made.wrong(features), loaded.wrong(features))
    assert loaded.locations(TRACES[:9]) == made.locations(TRACES[:9])
    assert accuracies(loaded, data["three"]).max() > 0.5


def test_what_is_no_classifier_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="mistakes train"):
        load_classifier(tmp_path)
    made = Trainer(tables(TRACES, Training(epochs=1)), Training(epochs=1)).for_tasks(["one", "two"])
    made.save(tmp_path)
    body = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**body, "columns": ["other"]}))
    with pytest.raises(SetupError, match="columns"):
        load_classifier(tmp_path)
    made.save(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(SetupError, match="cannot be read"):
        load_classifier(tmp_path)


def test_the_first_step_above_the_threshold_is_the_location() -> None:
    # By hand: a network that passes the column `broken` through, at a threshold of one half.
    weights = {
        "mean": np.zeros(2, np.float32),
        "scale": np.ones(2, np.float32),
        "hidden": np.array([[9, 0]], np.float32),
        "hidden_bias": np.zeros(1, np.float32),
        "out": np.array([9], np.float32),
        "out_bias": np.array([-4], np.float32),
    }
    one = StepClassifier("rules", 0.5, weights)
    found = one.locate(step_features("q", ["1 + 1 = 2", "2 + 2 = 5", "3 + 3 = 7"]))
    assert found == 1
    assert one.locate(step_features("q", ["1 + 1 = 2"])) is None


def test_features_of_odd_steps_are_finite() -> None:
    odd = ["", " ", ":", "\ud800", "x" * 9999, "=" * 50, "1 < 2 < ", '"" < ""', "a: b: c: d"]
    found = step_features("", odd)
    assert found.shape == (len(odd), len(COLUMNS))
    assert np.isfinite(found).all()


def test_a_held_out_task_must_be_one_of_three(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no task 'four'"):
        train_held_out(TRACES, Training(), "four", tmp_path)
    with pytest.raises(SetupError, match="three tasks"):
        train_held_out(TRACES[:80], Training(), "all", tmp_path)


def test_the_best_constant_weighs_tasks_alike() -> None:
    # One task of 3 traces all at 5, one of 10 with 6 at -1 and 4 at 5: 1.4 against 0.6.
    golds = [np.array([5, 5, 5]), np.array([-1] * 6 + [5] * 4)]
    assert best_constant(golds) == 5
    assert best_constant(golds[1:]) == -1


def test_an_encoder_adds_nearness_to_what_is_seen() -> None:
    near = np.array([1.0, 0.0], np.float32)
    far = np.array([0.0, 1.0], np.float32)
    found = step_features("q", ["a", "b"], {"q": near, "a": near, "b": far})
    names = ["to_previous", "to_question", "to_past"]
    columns = [COLUMNS.index(name) for name in names]
    assert found[:, columns].tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
