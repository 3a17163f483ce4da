"""The agent on top of an embedded engine."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

from peerexam.agents.base import Feature, Provider
from peerexam.agents.llamacpp.engine import EngineSettings, Generated, LlamaEngine
from peerexam.agents.local.gguf import read_header
from peerexam.agents.local.prompts import (
    chat_pair,
    chat_tokens,
    plain_pair,
    plain_text,
    plain_tokens,
)
from peerexam.agents.local.sharing import Shared
from peerexam.agents.local.weights import sha256_of
from peerexam.agents.thinking import split_thinking
from peerexam.calls import Completion, Form, Json, Request, Sampling, State, Usage
from peerexam.errors import ContextTooLongError, RefusedParameterError, SetupError

_SEEDS = 2**32 - 1
"""The engine's seeds are 32 bits, and the largest of them means "choose one"."""

_DRAW_STEP = 0x9E3779B1
"""Odd and large, so that (seed, draw) and (seed + 1, draw - 1) do not meet."""

_engines: Shared[EngineSettings, LlamaEngine] = Shared()


def acquire(settings: EngineSettings) -> LlamaEngine:
    """The engine for these settings, loaded where no one has it yet. Blocks while it loads.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The weights cannot be loaded.
    """
    return _engines.acquire(settings, lambda: LlamaEngine(settings))


def release(engine: LlamaEngine) -> None:
    """Give back what `acquire` gave. The last to do so waits for the engine to close."""
    _engines.release(engine.settings)


@dataclass(frozen=True, slots=True)
class Drawing:
    """How tokens are drawn beyond what a request says; the defaults leave its sampling alone.

    Attributes:
        top_k: Only so many likeliest tokens; 0 means all.
        min_p: Only tokens at least so likely, as a share of the likeliest; 0 means all.
    """

    top_k: int = 0
    min_p: float = 0.0


class LlamaAgent(Provider):
    """A GGUF file as an agent: chat where the weights have a chat template, else completion.

    A temperature means that temperature and nothing else: where a request has no `top_p`, no token
    is cut off. Without a temperature llama.cpp's own defaults draw (0.8, top-k 40, top-p 0.95,
    min-p 0.05). Seed and draw decide the numbers drawn; no seed is seed 0.

    The weights are loaded by the first request and freed by `close`.

    Args:
        name: Who it is in the exam.
        settings: Weights file, context, slots, threads.
        drawing: Limits on the tokens drawn from.
        chat: False makes plain completion of weights that could chat.

    Raises:
        SetupError: The file cannot be read, is no GGUF file, or cannot chat though asked to.
    """

    def __init__(
        self,
        name: str,
        settings: EngineSettings,
        drawing: Drawing | None = None,
        *,
        chat: bool | None = None,
    ) -> None:
        header = read_header(settings.weights)
        if chat and header.chat_template is None:
            raise SetupError(
                f"{settings.weights} has no chat template: leave out chat=true, and it is asked "
                "by few-shot completion"
            )
        self._chat = header.chat_template is not None if chat is None else chat
        features: tuple[Feature, ...] = ("score", "logprobs", "grammar", "json_schema")
        super().__init__(name, {}, (*features, "chat") if self._chat else features)
        self._settings = settings
        self._drawing = drawing or Drawing()
        self._model = header.name or settings.weights.stem
        self._first = header.eos_token if header.bos_token is None else header.bos_token
        self._engine: LlamaEngine | None = None
        self._opening = threading.Lock()

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """The weights' hash, the engine's version, and what else decides an answer.

        Not the path, so that moved weights replay; not slots and threads, which only decide how
        fast they come.
        """
        return {
            "provider": "llama.cpp",
            "weights": sha256_of(self._settings.weights),
            "engine": _engine_version(),
            "context": self._settings.context,
            "chat": self._chat,
            "top_k": self._drawing.top_k,
            "min_p": self._drawing.min_p,
        }

    async def complete(self, request: Request) -> Completion:
        """Answer one request on one of the engine's slots.

        Raises:
            MissingExtraError: xllamacpp is not installed.
            SetupError: The weights cannot be loaded.
            ContextTooLongError: Prompt (and continuation) do not fit into a slot's context.
            RefusedParameterError: The engine refuses the form or another parameter.
            PermanentError: The chat template refuses the conversation.
        """
        engine = await asyncio.to_thread(self._open)
        if request.continuation is None:
            return await engine.run("generate", partial(self._answer, engine, request))
        return await engine.run("score", partial(self._score, engine, request))

    async def close(self) -> None:
        """Let go of the weights; the last agent that has them frees them."""
        await asyncio.to_thread(self._let_go)

    def _open(self) -> LlamaEngine:
        with self._opening:
            if self._engine is None:
                self._engine = acquire(self._settings)
            return self._engine

    def _let_go(self) -> None:
        with self._opening:
            engine, self._engine = self._engine, None
        if engine is not None:
            release(engine)

    def _answer(
        self, engine: LlamaEngine, request: Request, cancelled: threading.Event
    ) -> Completion:
        started = time.perf_counter()
        if self._chat:
            tokens = chat_tokens(engine, request.messages)
        else:
            tokens = plain_tokens(engine, plain_text(request.messages), self._first)
        self._must_fit(len(tokens) + 1)
        options = self._options(request.sampling, request.draw, len(tokens))
        generated = engine.generate(tokens, options, cancelled)
        return self._completion(generated, request.sampling, time.perf_counter() - started)

    def _score(
        self, engine: LlamaEngine, request: Request, cancelled: threading.Event
    ) -> Completion:
        started = time.perf_counter()
        text = request.continuation or ""
        if self._chat:
            prompt, continuation = chat_pair(engine, request.messages, text)
        else:
            whole = plain_text(request.messages)
            prompt, continuation = plain_pair(engine, whole, text, self._first)
        self._must_fit(len(prompt) + len(continuation))
        logprobs = engine.score(prompt, continuation, cancelled)
        return Completion(
            text,
            usage=Usage(len(prompt), len(continuation)),
            latency=time.perf_counter() - started,
            logprobs=logprobs,
            model=self._model,
        )

    def _must_fit(self, tokens: int) -> None:
        if tokens > self._settings.context:
            raise ContextTooLongError(
                f"{tokens} tokens do not fit into the context of {self._settings.context}; "
                "a larger one is set with ?context="
            )

    def _options(self, sampling: Sampling, draw: int, prompt: int) -> dict[str, Json]:
        room = self._settings.context - prompt
        wanted = room if sampling.max_tokens is None else min(sampling.max_tokens, room)
        options: dict[str, Json] = {
            "max_tokens": wanted,
            "seed": ((sampling.seed or 0) + draw * _DRAW_STEP) % _SEEDS,
        }
        options |= self._sampler(sampling)
        if sampling.stop:
            options["stop"] = list(sampling.stop)
        if sampling.top_logprobs is not None:
            options["logprobs"] = max(1, sampling.top_logprobs)
        if sampling.form is not None:
            options |= _form(sampling.form)
        return options

    def _sampler(self, sampling: Sampling) -> dict[str, Json]:
        if sampling.temperature is None:
            return {} if sampling.top_p is None else {"top_p": sampling.top_p}
        if sampling.temperature == 0:
            return {"temperature": 0.0, "samplers": ["top_k"], "top_k": 1}
        # Temperature first, as elsewhere in the field; llama.cpp's own order has it last.
        return {
            "samplers": ["temperature", "top_k", "top_p", "min_p"],
            "temperature": sampling.temperature,
            "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
            "top_k": self._drawing.top_k,
            "min_p": self._drawing.min_p,
        }

    def _completion(self, generated: Generated, sampling: Sampling, seconds: float) -> Completion:
        thinking, text, unclosed = split_thinking(generated.text)
        return Completion(
            text,
            state=_state(text, cut=unclosed or generated.finish_reason == "length"),
            finish_reason=generated.finish_reason,
            usage=Usage(
                generated.prompt_tokens, generated.completion_tokens, generated.cached_tokens
            ),
            latency=seconds,
            thinking=thinking,
            logprobs=None if sampling.top_logprobs is None else generated.logprobs,
            model=self._model,
        )


def _state(text: str, *, cut: bool) -> State:
    if cut:
        return "truncated"
    return "ok" if text.strip() else "empty"


def _form(form: Form) -> dict[str, Json]:
    if form.kind == "grammar":
        return {"grammar": form.body}
    try:
        schema = json.loads(form.body)
    except ValueError as error:
        raise RefusedParameterError(f"the JSON schema is no JSON: {error}", "form") from error
    # Without this, small models fill a reply with the white space that JSON allows between tokens.
    if isinstance(schema, dict) and "x-guidance" not in schema:
        schema["x-guidance"] = {"whitespace_flexible": False}
    return {"json_schema": schema}


@cache  # every call's key holds it, and looking it up reads files
def _engine_version() -> str:
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        return "xllamacpp"
