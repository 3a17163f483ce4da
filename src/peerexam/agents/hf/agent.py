"""`hf/…`: models that transformers runs in this process, with torch.

`hf/ORG/NAME` is a model on the hub, `hf/./folder` (or `hf//folder`, `hf/~/folder`) a folder, and
`hf/path/to/file.gguf` a GGUF file. Options: `device`, `dtype`, `revision`, `batch_size`,
`batch_tokens`, `max_context`, `chat`, `threads`, `trust_remote_code`; see `hf_options`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from peerexam.agents.base import Feature, Provider
from peerexam.agents.hf.options import HfOptions, read_options
from peerexam.agents.hf.source import Source, find_source
from peerexam.agents.llamacpp.engine import default_threads
from peerexam.agents.local.prompts import (
    chat_pair,
    chat_tokens,
    plain_pair,
    plain_text,
    plain_tokens,
)
from peerexam.agents.spec import AgentSpec
from peerexam.agents.thinking import split_thinking
from peerexam.calls import Completion, Json, Message, Request, Sampling, State, Usage
from peerexam.errors import (
    ContextTooLongError,
    MissingExtraError,
    RefusedParameterError,
    SetupError,
)

if TYPE_CHECKING:  # torch is loaded with the first agent, not with this module
    from peerexam.agents.hf.engine import HfEngine
    from peerexam.agents.hf.generation import Drawing, Writing
    from peerexam.agents.hf.loading import LoadSettings
    from peerexam.agents.hf.scoring import Scoring

_SEEDS = 2**63
_DRAW_STEP = 0x9E3779B97F4A7C15
"""Odd and large, so that (seed, draw) and (seed + 1, draw - 1) do not meet."""

_REPLY = 1024
"""Tokens of a reply where neither request nor model says how many."""


def create(spec: AgentSpec) -> HfAgent:
    """Build the agent of `hf/…`. Its weights are loaded by the first request.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        SetupError: An option is wrong, or there are no such weights that may be loaded.
    """
    options = read_options(spec)
    of_gguf = ("gguf", "accelerate") if spec.model.endswith(".gguf") else ()
    for package in ("torch", "transformers", *of_gguf):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(
                f"provider 'hf' needs the package {package}: pip install 'peerexam[hf]'"
            )
    source = find_source(spec.model, options.revision, trust_remote_code=options.trust_remote_code)
    return HfAgent(spec.name, source, options)


class HfAgent(Provider):
    """A transformers model as an agent.

    With a chat template it chats; without one, the messages' contents are one plain text. Such a
    model is asked by few-shot completion, unless `chat` says that it follows instructions all the
    same, as FLAN-T5 does.

    A temperature means that temperature and nothing else: no token is cut off where a request has
    no `top_p`, and penalties of the model's own generation config are left out. Without a
    temperature, that config draws. Seed and draw decide the numbers drawn; no seed is seed 0.

    Requests that come together are read and written together. In float32 this changes the last
    digits of log-probabilities only; in the shorter types near ties may fall differently.

    Args:
        name: Who it is in the exam.
        source: The weights.
        options: How they are loaded and asked.

    Raises:
        SetupError: The device is not there.
    """

    def __init__(self, name: str, source: Source, options: HfOptions) -> None:
        self._source = source
        self._options = options
        self._settings = _load_settings(source, options)
        chat = source.has_template if options.chat is None else options.chat
        self._has_template = chat and source.has_template
        self._opened: Future[HfEngine] | None = None
        self._opening = threading.Lock()
        fingerprint: dict[str, Json] = {
            "provider": "transformers",
            **source.identity,
            "dtype": self._settings.dtype,
            "chat": chat,
        }
        if options.max_context is not None:
            fingerprint["max_context"] = options.max_context
        features: set[Feature] = {"score", "logprobs"}
        super().__init__(name, fingerprint, features | {"chat"} if chat else features)

    async def complete(self, request: Request) -> Completion:
        """Answer one request, together with others that wait.

        Raises:
            SetupError: The weights cannot be fetched or loaded.
            ContextTooLongError: Prompt (and continuation) do not fit.
            RefusedParameterError: The request asks for a form.
            PermanentError: The chat template refuses the conversation, memory is too small, or
                the model's numbers overflow.
        """
        if request.sampling.form is not None:
            raise RefusedParameterError("hf/ models cannot be held to a form", "form")
        engine = await self.open()
        if request.continuation is None:
            return await self._answer(engine, request)
        return await self._score(engine, request)

    async def open(self) -> HfEngine:
        """The model in memory; the first to ask has it loaded.

        Raises:
            SetupError: The weights cannot be fetched or loaded, or `max_context` is too large.
        """
        with self._opening:
            if self._opened is None:
                self._opened = Future()
                self._opened.set_running_or_notify_cancel()  # whoever leaves does not cancel it
                # A thread of its own: loading takes minutes, and all who wait for it would else
                # hold threads that others need, to look up an address for instance.
                threading.Thread(target=self._load, args=(self._opened,), daemon=True).start()
            opened = self._opened
        return await asyncio.wrap_future(opened)

    async def close(self) -> None:
        """Let go of the weights; the last agent that has them frees them."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(_give_back, opened)

    def _load(self, opened: Future[HfEngine]) -> None:
        from peerexam.agents.hf import engine as hf_engine

        try:
            engine = hf_engine.acquire(self._source, self._settings)
            try:
                self._check_context(engine)
            except SetupError:
                hf_engine.release(engine)
                raise
        except BaseException as error:
            with self._opening:
                if self._opened is opened:
                    self._opened = None  # the next to ask tries again
            opened.set_exception(error)
        else:
            opened.set_result(engine)

    async def _answer(self, engine: HfEngine, request: Request) -> Completion:
        writing = await asyncio.to_thread(self._writing, engine, request)
        generated, seconds = await engine.write(writing, self._options.limits)
        thinking, text, unclosed = split_thinking(generated.text)
        return Completion(
            text,
            state=_state(text, cut=unclosed or generated.finish_reason == "length"),
            finish_reason=generated.finish_reason,
            usage=Usage(len(writing.prompt), generated.tokens),
            latency=seconds,
            thinking=thinking,
            logprobs=generated.logprobs if writing.wants_logprobs else None,
            model=self._source.name,
        )

    async def _score(self, engine: HfEngine, request: Request) -> Completion:
        text = request.continuation or ""
        scoring = await asyncio.to_thread(self._scoring, engine, request.messages, text)
        logprobs, seconds = await engine.score(scoring, self._options.limits)
        return Completion(
            text,
            usage=Usage(len(scoring.prompt), len(scoring.continuation)),
            latency=seconds,
            logprobs=logprobs,
            model=self._source.name,
        )

    def _writing(self, engine: HfEngine, request: Request) -> Writing:
        from peerexam.agents.hf.generation import Writing

        loaded, sampling = engine.loaded, request.sampling
        if self._has_template:
            prompt = chat_tokens(loaded.tokenizer, request.messages)
        else:
            prompt = plain_tokens(loaded.tokenizer, plain_text(request.messages), loaded.first)
        room = self._room(engine, len(prompt), 1)
        wanted = sampling.max_tokens or loaded.defaults.max_tokens or room or _REPLY
        return Writing(
            prompt,
            max_tokens=wanted if room is None else min(wanted, room),
            drawing=_drawing(engine, sampling, request.draw),
            stop=tuple(stop for stop in sampling.stop if stop),
            wants_logprobs=sampling.top_logprobs is not None,
        )

    def _scoring(self, engine: HfEngine, messages: Sequence[Message], text: str) -> Scoring:
        from peerexam.agents.hf.scoring import Scoring

        loaded = engine.loaded
        if self._has_template:
            prompt, continuation = chat_pair(loaded.tokenizer, messages, text)
        elif loaded.is_encoder_decoder:
            # Two texts, each tokenised for itself: nothing is continued.
            prompt = plain_tokens(loaded.tokenizer, plain_text(messages), loaded.first)
            continuation = loaded.tokenizer.tokenize(text.strip(" "), start=False, control=False)
        else:
            prompt, continuation = plain_pair(
                loaded.tokenizer, plain_text(messages), text, loaded.first
            )
        self._room(engine, len(prompt), len(continuation))
        return Scoring(prompt, continuation)

    def _room(self, engine: HfEngine, prompt: int, least: int) -> int | None:
        """Tokens that are left for a reply; None is no limit.

        Raises:
            ContextTooLongError: Fewer than `least`.
        """
        loaded = engine.loaded
        context = self._options.max_context or loaded.context
        if context is None:
            return None
        used = 0 if loaded.is_encoder_decoder else prompt
        if max(prompt, used + least) <= context and least <= context - used:
            return context - used
        hint = (
            ""
            if context == loaded.context and loaded.context_is_fixed
            else ("; a larger one is set by the option max_context")
        )
        raise ContextTooLongError(
            f"{prompt} tokens of prompt and {least} to follow do not fit into the context of "
            f"{context} tokens{hint}"
        )

    def _check_context(self, engine: HfEngine) -> None:
        wanted, loaded = self._options.max_context, engine.loaded
        if wanted and loaded.context_is_fixed and loaded.context and wanted > loaded.context:
            raise SetupError(
                f"agent '{self.name}': max_context is {wanted}, but the model was made for at "
                f"most {loaded.context} tokens"
            )


def _give_back(opened: Future[HfEngine]) -> None:
    from peerexam.agents.hf import engine as hf_engine

    if opened.exception() is None:
        hf_engine.release(opened.result())


def _load_settings(source: Source, options: HfOptions) -> LoadSettings:
    from peerexam.agents.hf.loading import LoadSettings, resolve_device, resolve_dtype

    device = resolve_device(options.device)
    return LoadSettings(
        device=device,
        dtype=resolve_dtype(options.dtype, device, source.config),
        threads=options.threads or default_threads(),
        trust_remote_code=options.trust_remote_code,
    )


def _drawing(engine: HfEngine, sampling: Sampling, draw: int) -> Drawing:
    from peerexam.agents.hf.generation import Drawing

    seed = ((sampling.seed or 0) + draw * _DRAW_STEP) % _SEEDS
    if sampling.temperature is not None:
        return Drawing(sampling.temperature, sampling.top_p or 1.0, 0, seed)
    defaults = engine.loaded.defaults
    top_p = defaults.top_p if sampling.top_p is None else sampling.top_p
    return Drawing(defaults.temperature, top_p, defaults.top_k, seed)


def _state(text: str, *, cut: bool) -> State:
    if cut:
        return "truncated"
    return "ok" if text.strip() else "empty"
