"""A small classifier of reasoning steps, and the first mistake that it sees in a trace.

BIG-Bench Mistake, §4.2: a reward model that is much smaller than the model that reasons. Here it is
a network of one hidden layer on `step_features`; the encoder below it, where its view has one, is
frozen. It is kept as `model.safetensors` and `config.json`, so that loading runs no code of a file,
and it is applied in numpy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, SetupError
from peerexam.tasks.metrics.embeddings import EXTRA_PIP, check_encoder, encoder
from peerexam.tasks.mistakes.step_features import COLUMNS, VIEWS, Features, step_features
from peerexam.tasks.mistakes.traces import Trace

WEIGHTS, CONFIG = "model.safetensors", "config.json"
FORMAT = 1

_MEND = "name a folder that `peerexam mistakes train` made, or train one"
_TENSORS = ("mean", "scale", "hidden", "hidden_bias", "out", "out_bias")

Weights = Mapping[str, NDArray[np.float32]]
"""`mean` and `scale` of the columns; `hidden` (hidden × columns), `hidden_bias`, `out` (hidden),
`out_bias` (1)."""


@dataclass(frozen=True, slots=True)
class StepClassifier:
    """Trained weights and what is needed to apply them.

    Attributes:
        view: Which columns it sees.
        threshold: A step counts as wrong above this probability.
        weights: See `Weights`.
        encoder: Whose points the view `meaning` rests on; None where it has none.
        about: What it was trained on.
    """

    view: str
    threshold: float
    weights: Weights
    encoder: str | None = None
    about: Mapping[str, Json] = field(default_factory=dict)

    def wrong(self, features: Features) -> NDArray[np.float64]:
        """The probability of every step that it is, or stands on, a mistake."""
        chosen = features[:, [COLUMNS.index(name) for name in VIEWS[self.view]]]
        one = self.weights
        scaled = (chosen.astype(np.float64) - one["mean"]) / one["scale"]
        hidden = np.tanh(scaled @ one["hidden"].T.astype(np.float64) + one["hidden_bias"])
        raised = hidden @ one["out"].astype(np.float64) + float(one["out_bias"][0])
        found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(raised, -60, 60)))
        return found

    def locate(self, features: Features) -> int | None:
        """The first step whose probability is above the threshold, from 0; None for no mistake."""
        above = np.flatnonzero(self.wrong(features) > self.threshold)
        return int(above[0]) if len(above) else None

    def locations(self, traces: Sequence[Trace]) -> list[int | None]:
        """The first mistake that it sees in each of some traces.

        Raises:
            MissingExtraError: Its view has an encoder, and what runs one is not installed.
            SetupError: The encoder cannot be loaded.
        """
        vectors = points_of(traces, self.encoder if self.view == "meaning" else None)
        return [self.locate(step_features(t.input, t.steps, vectors)) for t in traces]

    def save(self, folder: Path) -> None:
        """Leave weights and config in a folder, which is made where it is missing.

        Raises:
            MissingExtraError: safetensors is not installed.
        """
        try:
            from safetensors.numpy import save_file
        except ImportError as error:
            raise MissingExtraError(f"weights are kept by safetensors: {EXTRA_PIP}") from error
        folder.mkdir(parents=True, exist_ok=True)
        save_file({k: np.ascontiguousarray(v) for k, v in self.weights.items()}, folder / WEIGHTS)
        body = {
            "format": FORMAT,
            "view": self.view,
            "columns": list(VIEWS[self.view]),
            "threshold": self.threshold,
            "encoder": self.encoder,
            "about": dict(self.about),
        }
        (folder / CONFIG).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


def load_classifier(folder: Path) -> StepClassifier:
    """Read a classifier back.

    Raises:
        MissingExtraError: safetensors is not installed.
        SetupError: The folder holds none, or one of another shape.
    """
    if not (folder / CONFIG).is_file() or not (folder / WEIGHTS).is_file():
        raise SetupError(f"{folder} holds no classifier of steps ({WEIGHTS} and {CONFIG}): {_MEND}")
    try:
        from safetensors.numpy import load_file
    except ImportError as error:
        raise MissingExtraError(f"weights are read by safetensors: {EXTRA_PIP}") from error
    try:
        body = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        # Before the weights are read, which may be another program's, and large.
        _check_config(body)
        weights = load_file(folder / WEIGHTS)
        view, threshold = str(body["view"]), float(body["threshold"])
        _check_weights(view, weights)
    except Exception as error:  # safetensors raises errors of its own
        raise SetupError(
            f"{folder} holds a classifier that cannot be read ({error}): {_MEND}"
        ) from error
    name = body.get("encoder")
    return StepClassifier(
        view, threshold, weights, None if name is None else str(name), dict(body.get("about", {}))
    )


def points_of(traces: Sequence[Trace], name: str | None) -> dict[str, Features] | None:
    """Points of all texts of traces, each text encoded once; None without an encoder.

    Raises:
        MissingExtraError: What runs encoders is not installed.
        SetupError: The encoder cannot be loaded.
    """
    if name is None:
        return None
    texts = list(dict.fromkeys(text for trace in traces for text in (trace.input, *trace.steps)))
    return dict(zip(texts, encoder(name).encode(texts), strict=True))


def check_classifier(folder: Path) -> None:
    """Refuse what `load_classifier` and its use would refuse, without encoding anything.

    Raises:
        MissingExtraError: What reads it, or runs its encoder, is not installed.
        SetupError: The folder holds no classifier, or one that cannot be read or applied.
    """
    found = load_classifier(folder)
    if found.view == "meaning" and found.encoder is not None:
        check_encoder(found.encoder)


def _check_config(body: Json) -> None:
    if not isinstance(body, dict) or "view" not in body or "threshold" not in body:
        raise ValueError(f"{CONFIG} is not that of a classifier of steps")
    if body.get("format") != FORMAT or body["view"] not in VIEWS:
        raise ValueError("another version wrote it")
    if tuple(body.get("columns", ())) != VIEWS[body["view"]]:
        raise ValueError("its columns are not those that are computed here")


def _check_weights(view: str, weights: Weights) -> None:
    missing = [name for name in _TENSORS if name not in weights]
    if missing:
        raise ValueError(f"{WEIGHTS} has no '{missing[0]}'")
    columns, hidden = len(VIEWS[view]), len(weights["out"])
    shapes = {
        "mean": (columns,),
        "scale": (columns,),
        "hidden": (hidden, columns),
        "hidden_bias": (hidden,),
        "out": (hidden,),
        "out_bias": (1,),
    }
    for name, shape in shapes.items():
        if weights[name].shape != shape or not np.isfinite(weights[name]).all():
            raise ValueError(f"'{name}' is not {shape} finite numbers")
