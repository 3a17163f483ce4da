"""Where the weights of `hf/…` are, and what they say of themselves before they are loaded.

Three kinds: a folder (`hf/./folder`, `hf//folder`, `hf/~/folder`), a GGUF file (`hf/path.gguf`) and
a model on the hub (`hf/ORG/NAME`). Only small files are read here, so that a set-up error comes
before any model is loaded or fetched, and neither torch nor transformers is imported.

Weights are safetensors or GGUF. Pickled weights (`pytorch_model.bin`) run code when they are
loaded, and are refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerexam.agents.hf.hub import Snapshot, fetch_description
from peerexam.agents.local.gguf import read_header
from peerexam.agents.local.model_paths import is_folder
from peerexam.agents.local.weights import sha256_of
from peerexam.calls import Json
from peerexam.errors import SetupError

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_DECIDES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "merges.txt", "*.py")
"""What in a folder decides an answer: weights, config, tokenizer, chat template, code."""


@dataclass(frozen=True, slots=True)
class Source:
    """Weights that are there, or can be fetched.

    Attributes:
        name: What a completion says answered.
        identity: What they are, for the fingerprint; no path.
        folder: Where they lie; None for a model on the hub.
        gguf: The file in the folder, where it is one.
        hub: The hub's repository at one commit, where it is one.
        has_template: Whether there is a chat template.
        config: `config.json`; empty for a GGUF file.
    """

    name: str
    identity: Mapping[str, Json]
    has_template: bool
    folder: Path | None = None
    gguf: str | None = None
    hub: Snapshot | None = None
    config: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for the same weights in the same place."""
        if self.hub is not None:
            return "hub", self.hub.repository, self.hub.commit
        return "files", str(self.folder), self.gguf or "", str(self.identity["weights"])


def find_source(model: str, revision: str | None, *, trust_remote_code: bool = False) -> Source:
    """Find the weights that a model name means.

    Args:
        model: The name after `hf/`.
        revision: Branch, tag or commit on the hub.
        trust_remote_code: Whether Python code that comes with them may run.

    Raises:
        SetupError: They are not there, are pickled, need code of their own, or the hub cannot be
            reached.
    """
    path = Path(model).expanduser()
    is_path = is_folder(model)
    if model.endswith(".gguf") or is_path:
        if revision is not None:
            raise SetupError(f"option revision is for models on the hub, and '{model}' is a path")
        source = _gguf_file(path) if model.endswith(".gguf") else _local_folder(path)
    elif _HUB_ID.fullmatch(model):
        source = _on_hub(model, revision)
    else:
        raise SetupError(
            f"'hf/{model}' is neither a model on the hub (hf/ORG/NAME), a folder (hf/./folder) "
            "nor a GGUF file (hf/path/to/file.gguf)"
        )
    if not trust_remote_code:
        _refuse_code(source)
    return source


def _gguf_file(path: Path) -> Source:
    header = read_header(path)
    return Source(
        name=header.name or path.stem,
        identity={"weights": sha256_of(path)},
        has_template=header.chat_template is not None,
        folder=path.resolve().parent,
        gguf=path.name,
    )


def _local_folder(path: Path) -> Source:
    folder = path.resolve()
    if not folder.is_dir():
        raise SetupError(f"no folder with weights: {path}")
    config = _read_json(folder / "config.json")
    if config is None:
        raise SetupError(f"{path} holds no config.json, so it is no folder of a transformers model")
    if not any(folder.glob("*.safetensors")):
        raise SetupError(_no_safetensors(str(path), any(map(any, map(folder.glob, _PICKLED)))))
    return Source(
        name=folder.name,
        identity={"weights": _folder_hash(folder)},
        has_template=_has_template(folder),
        folder=folder,
        config=config | _code_of_tokenizer(folder),
    )


def _on_hub(model: str, revision: str | None) -> Source:
    snapshot = fetch_description(model, revision)
    config = _read_json(snapshot.folder / "config.json")
    if config is None:
        raise SetupError(f"{model} holds no config.json on the hub, so transformers cannot load it")
    if not any(name.endswith(".safetensors") for name in snapshot.files):
        pickled = any(Path(name).match(one) for name in snapshot.files for one in _PICKLED)
        raise SetupError(_no_safetensors(f"{model} on the hub", pickled))
    return Source(
        name=model,
        identity={"model": model, "revision": snapshot.commit},
        has_template=_has_template(snapshot.folder),
        hub=snapshot,
        config=config | _code_of_tokenizer(snapshot.folder),
    )


def _no_safetensors(where: str, pickled: bool) -> str:
    if not pickled:
        return f"{where} holds no weights (*.safetensors)"
    return (
        f"{where} holds pickled weights only, which run code when they are loaded; convert them "
        "once, in a Python that may do so, by AutoModel….from_pretrained(folder)"
        ".save_pretrained(new_folder), which writes safetensors, and copy the tokenizer's files"
    )


def _refuse_code(source: Source) -> None:
    """Refuse weights that only code of their own can run.

    Raises:
        SetupError: They need it.
    """
    if "auto_map" in source.config and not _is_known(source.config.get("model_type")):
        raise SetupError(
            f"hf/{source.name} comes with Python code of its own, and transformers cannot run it "
            "without; read that code, and allow it by the option trust_remote_code=true"
        )


def _is_known(model_type: Json) -> bool:
    from transformers.models.auto import configuration_auto

    known: Any = configuration_auto
    return model_type in known.CONFIG_MAPPING_NAMES


def _code_of_tokenizer(folder: Path) -> dict[str, Json]:
    config = _read_json(folder / "tokenizer_config.json") or {}
    return {"auto_map": config["auto_map"]} if "auto_map" in config else {}


def _has_template(folder: Path) -> bool:
    if any((folder / f"chat_template.{kind}").is_file() for kind in ("jinja", "json")):
        return True
    return bool((_read_json(folder / "tokenizer_config.json") or {}).get("chat_template"))


def _folder_hash(folder: Path) -> str:
    """One hash of all files that decide an answer, by name and content."""
    names = {path.name for pattern in _DECIDES for path in folder.glob(pattern)}
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name} {sha256_of(folder / name)}\n".encode())
    return digest.hexdigest()


def _read_json(path: Path) -> dict[str, Json] | None:
    """A JSON object, None where there is no such file.

    Raises:
        SetupError: It cannot be read, or is something else.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SetupError(f"cannot read {path}: {error}") from error
    if not isinstance(value, dict):
        raise SetupError(f"{path} is no JSON object")
    return value
