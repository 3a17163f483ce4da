"""Generation against discrimination by an encoder-decoder (Self-[In]Correct, §5.2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.cli import main

pytest.importorskip("torch")
pytest.importorskip("transformers")

ITEMS = [
    {"question": "Ann has 2 pens and buys 3. How many has she?", "answer": "2 + 3 = 5\n#### 5"},
    {"question": "A box holds 4 eggs. How many do 2 hold?", "answer": "4 * 2 = 8\n#### 8"},
]


def test_an_encoder_decoder_gives_answers_and_chooses_among_them(
    t5_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, ITEMS)))
    command = ["discriminate", "gsm8k", str(tmp_path / "test.jsonl")]
    command += ["--agents", f"hf/{t5_model}?chat=true&max_context=2048", "--candidates", "2"]
    command += ["--max-tokens", "6", "--out", str(tmp_path / "study"), "--quiet", "--json"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    measures = {one["name"]: one for one in result["measures"]}
    # Random weights give no number and no label: every choice is credited with the worst
    # candidate, which is as bad as the others.
    assert (measures["dg_diff"]["value"], measures["dg_diff"]["n"]) == (0, 2)
    candidates = (tmp_path / "study" / "candidates.jsonl").read_text().splitlines()
    assert len(candidates) == 4
    choices = [
        json.loads(line) for line in (tmp_path / "study" / "choices.jsonl").read_text().splitlines()
    ]
    assert len(choices) == 2
