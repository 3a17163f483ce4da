"""`peerexam mistakes backtrack` and `train`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerexam.cli import main
from peerexam.tasks.mistakes.step_classifier import StepClassifier
from peerexam.tasks.mistakes.step_features import VIEWS


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three tasks of sums, each with wrong traces and right ones."""
    folder = tmp_path / "data"
    folder.mkdir()
    for task in ("one", "two", "three"):
        rows = []
        for number in range(20):
            place = None if number % 4 == 0 else number % 3
            steps = [f"{number} + {n} = {number + n + (n == place)}." for n in range(3)]
            answer = "2" if place is None else "3"
            rows.append(
                {
                    "input": f"sum {number}",
                    "steps": [*steps, f"So the answer is {answer}"],
                    "target": "2",
                    "answer": answer,
                    "mistake_index": place,
                }
            )
        (folder / f"{task}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert main(["mistakes", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_trained_classifier_is_told_beside_its_floors_and_locates_for_backtracking(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    body = said(capsys, "train", str(data), "--epochs", "30", "--out", "model")
    assert [row["task"] for row in body["tasks"]] == ["one", "three", "two"]
    # A quarter has no mistake, the rest a quarter each at three places; five locations in all.
    assert body["tasks"][0]["always_none"] == pytest.approx(0.25)
    assert body["tasks"][0]["random"] == pytest.approx(0.2)
    assert all(row["accuracy"] > 0.9 for row in body["tasks"])
    assert (
        main(["mistakes", "train", str(data), "--epochs", "1", "--hold-out", "two", "--out", "m"])
        == 0
    )
    assert "own prior" in capsys.readouterr().out

    replies = tmp_path / "replies.jsonl"
    replies.write_text("")
    plan = said(
        capsys,
        "backtrack",
        str(data),
        "--agents",
        "openai/none",
        "--plan",
        "--locations",
        "gold,model:model/one",
        "--tasks",
        "one",
        "--samples",
        "3",
    )
    # By hand: 15 traces with a mistake, 5 each at places 0 to 2, 3 samples and the steps after it.
    assert plan["lines"][0]["calls"]["expected"] == 15 * 3 + 5 * (3 + 2 + 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--locations", "silver"), "'silver' is none"),
        (("--locations", "peers"), "two agents"),
        (("--samples", "0"), "--samples"),
        (("--tasks", "four"), "no task 'four'"),
        (("--locations", "model:nowhere"), "mistakes train"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_model_is_called(
    arguments: tuple[str, ...],
    words: str,
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["mistakes", "backtrack", str(data), "--agents", "openai/none", *arguments])
    assert status == 2
    assert words in capsys.readouterr().err


def test_the_page_of_the_curve_is_named(
    data: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    server = chat_server(lambda request: "So the answer is 2")
    command = ["mistakes", "backtrack", str(data), "--agents", f"openai/m@{server.url}", "--quiet"]
    command += ["--limit", "3", "--samples", "2"]
    assert main([*command, "--locations", "simulated", "--out", "curved"]) == 0
    assert capsys.readouterr().out.endswith("curve: curved/curve.html\n")
    assert "<svg" in Path("curved/curve.html").read_text(encoding="utf-8")
    assert main([*command, "--locations", "gold", "--out", "plain"]) == 0
    assert "curve" not in capsys.readouterr().out


def test_training_refuses_an_unknown_task(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["mistakes", "train", str(data), "--hold-out", "four", "--out", "m"]) == 2
    assert "no task 'four'" in capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], data: Path, model: Path, *more: str) -> str:
    """What is said of a trained model that cannot locate, before anything is asked."""
    capsys.readouterr()
    command = ["mistakes", "backtrack", str(data), "--agents", "openai/none", "--tasks", "one"]
    assert main([*command, "--locations", f"gold,model:{model}", *more]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize("more", [("--plan",), ("--plan", "--json"), ()])
def test_a_trained_model_that_is_not_there_is_refused_in_the_plan_too(
    data: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    pytest.importorskip("safetensors")
    told = refused(capsys, data, Path("/nope"), *more)
    assert "/nope holds no classifier of steps" in told
    assert "peerexam mistakes train" in told
    assert not Path("runs").exists()  # no ledger, and no call


def test_weights_that_are_damaged_or_of_another_program_are_refused_in_the_plan(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numpy_file = pytest.importorskip("safetensors.numpy")
    folder = tmp_path / "model"
    columns = [*VIEWS["wording"]]
    StepClassifier(
        "wording",
        0.5,
        {
            "mean": np.zeros(len(columns), np.float32),
            "scale": np.ones(len(columns), np.float32),
            "hidden": np.zeros((2, len(columns)), np.float32),
            "hidden_bias": np.zeros(2, np.float32),
            "out": np.zeros(2, np.float32),
            "out_bias": np.zeros(1, np.float32),
        },
    ).save(folder)
    command = ["mistakes", "backtrack", str(data), "--agents", "openai/none", "--plan"]
    assert main([*command, "--locations", f"model:{folder}"]) == 0
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    told = refused(capsys, data, folder, "--plan")
    assert str(folder) in told
    assert "cannot be read" in told
    assert "peerexam mistakes train" in told
    numpy_file.save_file({"embed": np.zeros(3, np.float32)}, folder / "model.safetensors")
    assert "model.safetensors has no 'mean'" in refused(capsys, data, folder, "--plan")
    (folder / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    assert "config.json is not that of a classifier" in refused(capsys, data, folder, "--plan")
