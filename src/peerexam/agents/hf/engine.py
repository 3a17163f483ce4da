"""A loaded model behind one thread that runs batches, shared by all agents with these weights."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from peerexam.agents.hf.batching import Batcher, BatchLimits, Job, Size
from peerexam.agents.hf.description import Loaded
from peerexam.agents.hf.generation import Generated, Row, Writing, generate
from peerexam.agents.hf.loading import LoadSettings, load
from peerexam.agents.hf.scoring import Pair, Scoring, score
from peerexam.agents.hf.source import Source
from peerexam.agents.local.sharing import Shared
from peerexam.calls import TokenLogprob
from peerexam.errors import PermanentError

Work = Writing | Scoring

_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a job came to.

    Attributes:
        result: The job's own result.
        seconds: From the start of its batch; waiting in the queue is not counted.
    """

    result: Any
    seconds: float


class HfEngine:
    """A model in memory. Loading blocks, for minutes at worst.

    Raises:
        SetupError: The weights cannot be fetched or loaded.
    """

    def __init__(self, source: Source, settings: LoadSettings) -> None:
        self.key = key_of(source, settings)
        self.loaded: Loaded = load(source, settings)
        self._threads = settings.threads
        self._batcher: Batcher[Work] = Batcher(self._run, f"hf {source.name}")

    async def write(self, writing: Writing, limits: BatchLimits) -> tuple[Generated, float]:
        """A reply, and the seconds it took.

        Raises:
            PermanentError: There is not enough memory, or the model's numbers overflow.
        """
        size = Size(len(writing.prompt), writing.max_tokens)
        ran = await self._submit(Job("generate", size, limits, writing))
        return ran.result, ran.seconds

    async def score(
        self, scoring: Scoring, limits: BatchLimits
    ) -> tuple[tuple[TokenLogprob, ...], float]:
        """Log-probabilities of a continuation's tokens, and the seconds it took.

        Raises:
            PermanentError: There is not enough memory, or the model's numbers overflow.
        """
        if not scoring.continuation:
            return (), 0.0
        size = Size(len(scoring.prompt), len(scoring.continuation))
        ran = await self._submit(Job("score", size, limits, scoring))
        return ran.result, ran.seconds

    def close(self) -> None:
        """Let the running batch finish, drop the others, and free the weights."""
        self._batcher.close()
        del self.loaded
        gc.collect()  # models hold themselves in circles
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    async def _submit(self, job: Job[Work]) -> Ran:
        self._batcher.submit(job)
        try:
            ran: Ran = await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            job.cancelled.set()
            raise
        return ran

    def _run(self, batch: list[Job[Work]]) -> None:
        torch.set_num_threads(self._threads)
        try:
            self._run_together(batch)
        except RuntimeError as error:
            if not any(words in str(error).lower() for words in _NO_MEMORY):
                raise
        else:
            return
        self._run_apart([job for job in batch if not job.future.done()])

    def _run_apart(self, batch: list[Job[Work]]) -> None:
        """After memory ran out: the same in two halves, down to single requests."""
        if len(batch) == 1:
            size = batch[0].size
            batch[0].fail(
                PermanentError(
                    f"there is not enough memory for {size.prompt} tokens of prompt and "
                    f"{size.reply} of reply: use a smaller model, or dtype=bfloat16"
                )
            )
            return
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]):
            if part:
                self._run(part)

    def _run_together(self, batch: Sequence[Job[Work]]) -> None:
        started = time.perf_counter()
        rows, pairs = [], []
        for job in batch:
            finish = _finisher(job, started)
            if isinstance(job.work, Writing):
                rows.append(Row(job.work, job.cancelled, finish, job.fail))
            else:
                pairs.append(Pair(job.work, finish, job.fail))
        if rows:
            generate(self.loaded, rows)
        if pairs:
            score(self.loaded, pairs)
        for job in batch:
            if job.cancelled.is_set():
                job.finish(None)  # nobody hears it


def key_of(source: Source, settings: LoadSettings) -> tuple[tuple[str, ...], LoadSettings]:
    """Equal for agents that share one model."""
    return source.key, settings


def acquire(source: Source, settings: LoadSettings) -> HfEngine:
    """The engine of these weights, loaded where no one has it yet. Blocks while it loads.

    Raises:
        SetupError: The weights cannot be fetched or loaded.
    """
    return _engines.acquire(key_of(source, settings), lambda: HfEngine(source, settings))


def release(engine: HfEngine) -> None:
    """Give back what `acquire` gave. The last to do so waits for the engine to close."""
    _engines.release(engine.key)


def _finisher(job: Job[Work], started: float) -> Any:
    return lambda result: job.finish(Ran(result, time.perf_counter() - started))


_engines: Shared[tuple[tuple[str, ...], LoadSettings], HfEngine] = Shared()
