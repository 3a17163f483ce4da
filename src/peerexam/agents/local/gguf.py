"""Reading the header of a GGUF file: what the weights say of themselves.

Layout: the magic `GGUF`, version (uint32), tensor count and key count (uint64 each), then that
many keys, each a string (uint64 length, UTF-8), a type (uint32) and a value. All little-endian.
Source: the GGUF specification, docs/gguf.md of the ggml project.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from peerexam.calls import Json
from peerexam.errors import SetupError

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_LONGEST_STRING = 1 << 24
_MOST_KEYS = 1 << 16


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a weights file says of itself.

    Attributes:
        name: The model's name, None where the file has none.
        context_length: Tokens it was trained on at most, None where the file does not say.
        chat_template: The Jinja chat template; None means a base model.
        bos_token: Id of the token that starts a text.
        eos_token: Id of the token that ends one.
    """

    name: str | None
    context_length: int | None
    chat_template: str | None
    bos_token: int | None
    eos_token: int | None


def read_header(path: Path) -> GgufHeader:
    """Read a GGUF file's keys; arrays (the vocabulary) are skipped.

    Raises:
        SetupError: The file cannot be read, is no GGUF file, or ends too early.
    """
    try:
        with path.open("rb") as file:
            keys = _read_keys(file, path)
    except OSError as error:
        raise SetupError(f"cannot read weights {path}: {error.strerror or error}") from error
    except (struct.error, EOFError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} is damaged: its GGUF header ends or breaks ({error})") from error
    architecture = keys.get("general.architecture")
    return GgufHeader(
        name=_text(keys.get("general.name")),
        context_length=_integer(keys.get(f"{architecture}.context_length")),
        chat_template=_text(keys.get("tokenizer.chat_template")),
        bos_token=_integer(keys.get("tokenizer.ggml.bos_token_id")),
        eos_token=_integer(keys.get("tokenizer.ggml.eos_token_id")),
    )


def _read_keys(file: BinaryIO, path: Path) -> dict[str, Json]:
    if file.read(4) != _MAGIC:
        raise SetupError(f"{path} is no GGUF file (it does not start with 'GGUF')")
    version = _scalar(file, "<I")
    if version not in (2, 3):
        raise SetupError(f"{path} has GGUF version {version}; versions 2 and 3 can be read")
    _scalar(file, "<Q")
    count = _scalar(file, "<Q")
    if count > _MOST_KEYS:
        raise SetupError(f"{path} is damaged: its header counts {count} keys")
    keys = {}
    for _ in range(count):
        key = _string(file)
        keys[key] = _value(file, _scalar(file, "<I"))
    return keys


def _value(file: BinaryIO, kind: int) -> Json:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        _skip_array(file)
        return None
    if kind not in _SCALARS:
        raise EOFError(f"unknown value type {kind}")
    return _scalar(file, _SCALARS[kind])


def _skip_array(file: BinaryIO) -> None:
    kind, count = _scalar(file, "<I"), _scalar(file, "<Q")
    if kind in _SCALARS:
        file.seek(struct.calcsize(_SCALARS[kind]) * count, 1)
        return
    if kind != _STRING:
        raise EOFError(f"unknown array type {kind}")
    for _ in range(count):
        file.seek(_scalar(file, "<Q"), 1)


def _string(file: BinaryIO) -> str:
    length = _scalar(file, "<Q")
    if length > _LONGEST_STRING:
        raise EOFError(f"a string of {length} bytes")
    return _exactly(file, length).decode("utf-8")


def _scalar(file: BinaryIO, form: str) -> Json:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]


def _exactly(file: BinaryIO, length: int) -> bytes:
    data = file.read(length)
    if len(data) < length:
        raise EOFError("unexpected end")
    return data


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: Json) -> int | None:
    return value if isinstance(value, int) else None
