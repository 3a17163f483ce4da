"""Generating a batch: several prompts go on together, each drawn, stopped and cut by itself.

Transformers' `generate` keeps the cache and feeds the model; which token each row gets is decided
here, so that a row has its own temperature, seed, stop strings and length. A row that ends is
handed on at once, while the others go on.

Sampling. The token drawn is the one with the largest `logit / temperature + Gumbel noise`, the
noise from the row's own generator on the processor: the same seed draws the same tokens in
whatever batch and on whatever device, unless two candidates are equal to the last digits.
Log-probabilities are those of the model at temperature 1, before top-p or top-k.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from peerexam.agents.hf.description import Loaded
from peerexam.calls import TokenLogprob
from peerexam.errors import PermanentError

_NUCLEUS = 1024
"""Tokens among which a nucleus is looked for before the whole vocabulary is sorted."""

_TAIL = 8
"""Tokens to look back beyond a stop string's bytes: characters may be split among tokens."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a row's tokens are drawn; temperature 0 is greedy, top_k 0 and top_p 1 are no limit."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply.

    Attributes:
        text: What was written, without what begins at a stop string.
        finish_reason: `stop` or `length`.
        tokens: How many were generated, the one that ended the reply included.
        logprobs: Of the text's tokens; empty where not asked for.
    """

    text: str
    finish_reason: Literal["stop", "length"]
    tokens: int
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Writing:
    """What a model is to write.

    Attributes:
        prompt: Token ids; not empty.
        max_tokens: Of the reply, at least 1.
        drawing: How its tokens are drawn.
        stop: Strings before which it ends.
        wants_logprobs: Whether log-probabilities are kept.
    """

    prompt: Sequence[int]
    max_tokens: int
    drawing: Drawing = Drawing()
    stop: tuple[str, ...] = ()
    wants_logprobs: bool = False


@dataclass(eq=False, slots=True)
class Row:
    """One reply of a batch, as far as it is written.

    Attributes:
        writing: What is to be written.
        cancelled: Nobody waits any more.
        finish: Gets the reply, from the thread that generates.
        fail: Gets what went wrong with this row alone.
    """

    writing: Writing
    cancelled: threading.Event
    finish: Callable[[Generated], None]
    fail: Callable[[PermanentError], None]
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    is_done: bool = False


def generate(loaded: Loaded, rows: Sequence[Row]) -> None:
    """Go on from all prompts until each has ended; replies go to the rows' `finish`."""
    pen = _Pen(loaded, rows)
    prompts, mask = padded(
        [row.writing.prompt for row in rows], loaded.pad, left=not loaded.is_encoder_decoder
    )
    device = loaded.model.device
    with torch.inference_mode():
        loaded.model.generate(
            input_ids=prompts.to(device),
            attention_mask=mask.to(device),
            logits_processor=[pen.draw],
            stopping_criteria=[pen.is_done],
            max_new_tokens=max(row.writing.max_tokens for row in rows)
            + len(loaded.decoder_start[1:]),
        )


def padded(rows: Sequence[Sequence[int]], pad: int, *, left: bool) -> tuple[Any, Any]:
    """Rows filled up to the longest, and the mask with 1 where something stands."""
    width = max(map(len, rows))
    tokens = torch.full((len(rows), width), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for index, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(0, len(row))
        tokens[index, place] = torch.tensor(row, dtype=torch.long)
        mask[index, place] = 1
    return tokens, mask


class _Pen:
    """Chooses each row's next token and notices where a row ends."""

    def __init__(self, loaded: Loaded, rows: Sequence[Row]) -> None:
        self._loaded = loaded
        self._rows = rows
        self._forced = len(loaded.decoder_start[1:])
        self._noise = [
            torch.Generator("cpu").manual_seed(row.writing.drawing.seed)
            if row.writing.drawing.temperature
            else None
            for row in rows
        ]

    def draw(self, input_ids: Any, scores: Any) -> Any:
        """The scores with no choice left but the token that was drawn."""
        if self._forced:  # the model's own choice, and no part of the reply
            self._forced -= 1
            return scores
        best, chosen = scores.max(dim=-1)
        for index in self._drawn():
            chosen[index] = self._draw_one(index, scores[index])
        self._accept(chosen, self._logprobs(scores, chosen), best)
        forced = torch.full_like(scores, -math.inf)
        return forced.scatter_(1, chosen[:, None], 0.0)

    def is_done(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """For each row whether it has ended."""
        done = [row.is_done or row.cancelled.is_set() for row in self._rows]
        return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

    def _drawn(self) -> list[int]:
        return [
            index
            for index, row in enumerate(self._rows)
            if row.writing.drawing.temperature and not row.is_done
        ]

    def _draw_one(self, index: int, scores: Any) -> Any:
        drawing = self._rows[index].writing.drawing
        logits = within(scores.float().cpu() / drawing.temperature, drawing.top_p, drawing.top_k)
        noise = torch.empty_like(logits).exponential_(generator=self._noise[index])
        return (logits - noise.clamp_min(1e-30).log()).argmax()

    def _logprobs(self, scores: Any, chosen: Any) -> list[float] | None:
        if not any(row.writing.wants_logprobs for row in self._rows):
            return None
        scores = scores.float()
        found = scores.gather(1, chosen[:, None])[:, 0] - scores.logsumexp(dim=-1)
        values: list[float] = found.tolist()
        return values

    def _accept(self, chosen: Any, logprobs: list[float] | None, best: Any) -> None:
        finite = best.isfinite().tolist()
        for index, (row, token) in enumerate(zip(self._rows, chosen.tolist(), strict=True)):
            if row.is_done or row.cancelled.is_set():
                continue
            if not finite[index]:
                row.is_done = True
                row.fail(PermanentError(NOT_FINITE))
                continue
            self._write(row, token, None if logprobs is None else logprobs[index])

    def _write(self, row: Row, token: int, logprob: float | None) -> None:
        decode = self._loaded.tokenizer.decode
        if token in self._loaded.ends:
            self._end(row, decode(row.tokens), "stop", len(row.tokens) + 1)
            return
        row.tokens.append(token)
        if logprob is not None:
            row.logprobs.append(logprob)
        before_stop = self._before_stop(row)
        generated = len(row.tokens)
        if before_stop is not None:
            del row.tokens[self._written(row.tokens, before_stop) :]
            self._end(row, before_stop, "stop", generated)
        elif generated >= row.writing.max_tokens:
            self._end(row, decode(row.tokens), "length", generated)

    def _before_stop(self, row: Row) -> str | None:
        """The text before the first stop string, None where none has come yet."""
        stops, decode = row.writing.stop, self._loaded.tokenizer.decode
        if not stops:
            return None
        back = max(len(stop.encode()) for stop in stops) + _TAIL
        tail = decode(row.tokens[-back:])
        if not any(stop in tail for stop in stops):
            return None
        text = decode(row.tokens)
        places = [place for stop in stops if (place := text.find(stop)) >= 0]
        return text[: min(places)] if places else None

    def _written(self, tokens: Sequence[int], text: str) -> int:
        """How many of the tokens make up the text before a stop string."""
        count = len(tokens)
        while count and len(self._loaded.tokenizer.decode(tokens[: count - 1])) >= len(text):
            count -= 1
        return count

    def _end(self, row: Row, text: str, reason: Literal["stop", "length"], generated: int) -> None:
        row.is_done = True
        spell = self._loaded.tokenizer.spell
        # Where none were asked for, none were kept.
        pairs = zip(row.tokens, row.logprobs, strict=False)
        logprobs = tuple(TokenLogprob(spell(token), value) for token, value in pairs)
        row.finish(Generated(text, reason, generated, logprobs))


NOT_FINITE = (
    "the model's numbers overflow, so it has no next token: load it with dtype=float32 "
    "(or bfloat16)"
)


def within(logits: Any, top_p: float, top_k: int) -> Any:
    """Logits of one row with all tokens outside top-k, then outside the nucleus, at minus infinity.

    The nucleus is the smallest set of likeliest tokens whose probabilities sum to `top_p` or more
    (Holtzman et al. 2020, section 3.1).
    """
    if 0 < top_k < logits.numel():
        values, places = logits.topk(top_k)
        logits = torch.full_like(logits, -math.inf).scatter_(0, places, values)
    if top_p >= 1.0:
        return logits
    probabilities = logits.softmax(dim=-1)
    likeliest, places = probabilities.topk(min(_NUCLEUS, logits.numel()))
    if float(likeliest.sum()) < top_p:
        likeliest, places = probabilities.sort(descending=True)
    kept = places[(likeliest.cumsum(dim=-1) - likeliest) < top_p]
    return torch.full_like(logits, -math.inf).scatter_(0, kept, logits[kept])
