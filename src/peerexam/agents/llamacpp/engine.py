"""llama.cpp embedded in this process: one set of weights, several sequences decoded together.

Prebuilt wheel (xllamacpp), no compiler. The engine works on token ids: what a request's messages
become is the business of `local.prompts`, who shares an engine that of `agent`.

Log-probability of a given text. The server gives no log-probabilities of a prompt's tokens, so the
text is forced, one token a request: the prompt is the tokens so far, a logit bias leaves the
sampler no choice but the next, and the log-probability reported is that of the unbiased logits.
The chain keeps its slot, so each step evaluates one token. Forcing the same tokens by a grammar
gives the same sums and is slower on large vocabularies.

Determinism. Sampling is seeded, yet the same request need not give the same bytes twice: logits
depend in their last digits on which requests are decoded together, and near ties then fall
differently (log-probabilities of 25 tokens moved by up to 1 nat on Q4_K weights, not at all on
Q4_1). What a ledger has recorded is replayed as it was.

Speed. Prompt caches in host memory and context checkpoints are off, and weights with sliding
window attention keep their full cache: otherwise every step of a forced chain copies states or
evaluates the window again (2 to 3 times slower).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from peerexam.agents.llamacpp.scheduling import Kind, Turns
from peerexam.agents.llamacpp.slots import Slots
from peerexam.agents.local.gguf import read_header
from peerexam.agents.local.prompts import parted, shows_nothing, takes_parts
from peerexam.calls import Json, TokenLogprob
from peerexam.errors import (
    ContextTooLongError,
    MissingExtraError,
    OverloadedError,
    PermanentError,
    RefusedParameterError,
    SetupError,
)

T = TypeVar("T")

_FORCED = 10_000.0
"""Logit bias that leaves no choice: logits stay within a few hundred."""

_OTHER_TEMPLATE = "chatml"
"""Of those that llama.cpp knows; nothing is filled into it."""

_MANY, _ALL = 4096, 1 << 20
"""Alternatives to ask for; no vocabulary has more than the second."""

_SECONDS_TO_TOKENIZE = 60.0


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine is made of; equal settings share one engine.

    Attributes:
        weights: The GGUF file.
        context: Tokens that one request's prompt and reply may have together.
        slots: How many requests are decoded together.
        threads: Threads that compute.
    """

    weights: Path
    context: int = 2048
    slots: int = 8
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply as the engine gives it."""

    text: str
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    logprobs: tuple[TokenLogprob, ...]


class LlamaEngine:
    """Weights in memory behind as many worker threads as there are slots.

    Loading takes about a second and blocks; so do all methods but `run`, which is how they are
    called from async code.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The file cannot be loaded.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self._key = secrets.token_urlsafe(24)
        self._server, self._takes_template = _loaded(settings, self._key)
        self._host = urlsplit(self._server.listening_address)
        self._parts: bool | None = None  # found out with the first conversation
        self._slots = Slots(settings.slots)
        self._turns = Turns(settings.slots)

    async def run(self, kind: Kind, job: Callable[[threading.Event], T]) -> T:
        """Do a job on a worker. Where the awaiting task is cancelled, the job's event is set."""
        cancelled = threading.Event()
        try:
            return await asyncio.wrap_future(self._turns.submit(kind, partial(job, cancelled)))
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def hold_slot(self, tokens: Sequence[int]) -> AbstractContextManager[int]:
        """A slot for a request with this prompt; only from a worker."""
        return self._slots.take(tokens)

    def tokenize(self, text: str, *, start: bool, control: bool) -> list[int]:
        """Token ids of a text.

        Args:
            text: The text.
            start: Put the token that starts a text in front, where the weights have one.
            control: Read spelled control tokens (`<|im_end|>`) as such, and not as text.
        """
        body = {"content": text, "add_special": start, "parse_special": control}
        tokens: list[int] = self._post("/tokenize", body)["tokens"]
        return tokens

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The conversation by the weights' own chat template, the assistant's turn opened.

        Raises:
            PermanentError: The template refuses this conversation.
            UnusableModelError: It refuses, or drops, every one.
        """
        if not self._takes_template:
            raise shows_nothing("llama.cpp cannot fill it")
        if self._parts is None:
            self._parts = takes_parts(self._filled)
        return self._filled(parted(messages) if self._parts else messages)

    def _filled(self, messages: Sequence[Mapping[str, Any]]) -> str:
        rendered: str = self._post("/apply-template", {"messages": list(messages)})["prompt"]
        return rendered

    def generate(
        self, tokens: Sequence[int], options: Mapping[str, Json], cancelled: threading.Event
    ) -> Generated:
        """Go on from a prompt, token after token until it ends or `cancelled` is set.

        Args:
            tokens: The prompt; not empty.
            options: Of the server's completion endpoint: `max_tokens`, `temperature`, ….
            cancelled: Checked after each token.

        Raises:
            ContextTooLongError: The prompt does not fit.
            PermanentError: The server refuses the options.
        """
        parts: list[dict[str, Json]] = []

        def keep(part: dict[str, Json]) -> bool:
            parts.append(part)
            return cancelled.is_set()  # true ends the stream

        with self.hold_slot(tokens) as slot:
            body = {"prompt": list(tokens), "id_slot": slot, "cache_prompt": True, "stream": True}
            self._server.handle_completions(body | dict(options), keep)
        return _joined(parts)

    def score(
        self, tokens: Sequence[int], continuation: Sequence[int], cancelled: threading.Event
    ) -> tuple[TokenLogprob, ...]:
        """Log-probability of each token of a continuation, given the prompt and those before.

        Args:
            tokens: The prompt; not empty.
            continuation: The tokens to score.
            cancelled: Checked before each token.

        Raises:
            ContextTooLongError: Both together do not fit.
            PermanentError: The server refuses, or the job was cancelled.
        """
        scores = []
        so_far = list(tokens)
        with self.hold_slot([*tokens, *continuation]) as slot:
            for token in continuation:
                if cancelled.is_set():
                    raise PermanentError("cancelled")
                scores.append(self._score_one(so_far, token, slot))
                so_far.append(token)
        return tuple(scores)

    def close(self) -> None:
        """Let running jobs finish, drop the others, and free the weights."""
        self._turns.close()
        if self._server is not None:
            see_it_run(self._server)
        self._server = None

    def _score_one(self, tokens: list[int], following: int, slot: int) -> TokenLogprob:
        entry = self._forced(tokens, following, slot, alternatives=1)
        if entry is None:
            return self._score_hidden(tokens, following, slot)
        if entry["id"] != following:
            raise PermanentError(f"token {following} could not be forced; {entry['id']} came")
        return TokenLogprob(entry["token"], float(entry["logprob"]))

    def _score_hidden(self, tokens: list[int], following: int, slot: int) -> TokenLogprob:
        """Score a token that ends within a character, which the server does not report on.

        Another token is forced in its place, and this one looked up among the alternatives.
        """
        (plain, *_) = self.tokenize("a", start=False, control=False)
        for alternatives in (_MANY, _ALL):
            forced = self._forced(tokens, plain, slot, alternatives)
            for entry in forced["top_logprobs"] if forced else ():
                if entry["id"] == following:
                    return TokenLogprob(entry["token"], float(entry["logprob"]))
        raise PermanentError(f"the engine gives no log-probability of token {following}")

    def _forced(self, tokens: list[int], following: int, slot: int, alternatives: int) -> Any:
        """What the server reports on a token that it was left no choice but to draw, or None."""
        reply = self._server.handle_completions(
            {
                "prompt": tokens,
                "max_tokens": 1,
                "temperature": 0.0,
                "samplers": ["top_k"],
                "top_k": 1,
                "logprobs": alternatives,
                "logit_bias": [[following, _FORCED]],
                "id_slot": slot,
                "cache_prompt": True,
            }
        )
        raise_error(reply)
        reported = reply["choices"][0]["logprobs"]
        return reported["content"][0] if reported and reported["content"] else None

    def _post(self, path: str, body: Mapping[str, Json]) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        # A connection a call: a kept one would be closed by the server when idle.
        connection = http.client.HTTPConnection(
            self._host.hostname or "127.0.0.1", self._host.port, timeout=_SECONDS_TO_TOKENIZE
        )
        try:
            connection.request("POST", path, json.dumps(body).encode("utf-8"), headers)
            reply = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException) as error:
            raise OverloadedError(f"the embedded engine does not answer: {error}") from error
        finally:
            connection.close()
        raise_error(reply)
        return reply


def see_it_run(server: Any) -> None:
    """Have a server answer before it is let go.

    One that is told to end before its loop has begun does not hear it, and is then waited for
    without end. An answer, however short, shows that the loop has begun.
    """
    server.handle_completions({"prompt": "a", "max_tokens": 1})


def _loaded(settings: EngineSettings, key: str) -> tuple[Any, bool]:
    """A server, and whether llama.cpp takes the weights' template, which it tries as it loads."""
    try:
        return start_server(settings, api_key=key), True
    except SetupError:
        if read_header(settings.weights).chat_template is None:
            raise
        try:
            return start_server(settings, api_key=key, template=_OTHER_TEMPLATE), False
        except SetupError:
            pass
        raise


def start_server(
    settings: EngineSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    alias: str | None = None,
    api_key: str | None = None,
    template: str = "",
) -> Any:
    """Load weights into an xllamacpp server; it also listens, on a free port where `port` is 0.

    Args:
        settings: The weights, and how they are used.
        host: Where it listens.
        port: At which port.
        alias: What the model is called.
        api_key: What its clients show.
        template: A chat template that llama.cpp knows by name; empty is the weights' own.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The file cannot be loaded, or the port not be had.
    """
    try:
        # GNU OpenMP reads it once, when it is loaded. By default a thread that waits spins so long
        # that two of them beside other busy processes bring generation to a standstill; this short
        # a spin costs nothing on an idle machine and gives way on a busy one.
        if "OMP_WAIT_POLICY" not in os.environ:
            os.environ.setdefault("GOMP_SPINCOUNT", "1000")
        import xllamacpp
    except ImportError as error:
        raise MissingExtraError(
            "local models need the package xllamacpp: pip install 'peerexam[local]'"
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.weights)
    params.n_parallel = settings.slots
    params.n_ctx = settings.slots * settings.context
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.verbosity = 0
    params.hostnames, params.port = [host], port
    params.api_keys = [api_key] if api_key else []
    params.ui = params.endpoint_slots = params.cache_idle_slots = False
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.swa_full = True
    params.chat_template = template
    if alias:
        params.model_alias = {alias}
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise SetupError(
            f"llama.cpp cannot load {settings.weights} or listen on {host}:{port}: {error}"
        ) from error


def default_threads() -> int:
    """Physical cores that this process may use: two threads a core only slow each other down."""
    allowed = sorted(_allowed_cpus())
    siblings = set()
    for cpu in allowed:
        listing = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(listing.read_text().strip())
        except OSError:
            return max(1, len(allowed))
    return max(1, len(siblings))


def raise_error(reply: Mapping[str, Json]) -> None:
    """Turn the server's error object into ours.

    Raises:
        ContextTooLongError: The prompt does not fit.
        RefusedParameterError: Another fault of the request.
        PermanentError: Anything else.
    """
    error = reply.get("error")
    if error is None:
        return
    message = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        raise ContextTooLongError(message)
    if error.get("code") == 400:
        raise RefusedParameterError(message)
    raise PermanentError(message)


def _joined(parts: Sequence[Mapping[str, Json]]) -> Generated:
    text, logprobs = [], []
    finish_reason = None
    usage: Mapping[str, Json] = {}
    for part in parts:
        raise_error(part)
        choice = part["choices"][0]
        text.append(choice["text"])
        logprobs += (choice.get("logprobs") or {}).get("content", [])
        finish_reason = choice["finish_reason"] or finish_reason
        usage = part.get("usage") or usage
    return Generated(
        "".join(text),
        finish_reason,
        usage.get("prompt_tokens", 0),
        usage.get("completion_tokens", 0),
        usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        tuple(TokenLogprob(entry["token"], float(entry["logprob"])) for entry in logprobs),
    )


def _allowed_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
