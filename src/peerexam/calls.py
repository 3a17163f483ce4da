"""A model call as a value: what is asked, what came back, and the key that joins them.

Resume, cache and audit all rest on this module: the ledger stores a `Completion` under
`request_key(fingerprint, request)`, and nothing that changes the answer may be left out of the
key. The agent's key (its secret) is not part of its fingerprint, and so of nothing on disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

KEY_VERSION = 1
"""Part of every request key. It changes when the meaning of a request changes."""

Json = Any
"""A value that `json` can write: None, bool, int, float, str, list or dict of these."""

Role = Literal["system", "user", "assistant"]

State = Literal["ok", "unparsed", "refused", "filtered", "truncated", "empty", "error"]
"""What became of a planned answer, mark or verdict. Only `ok` enters a statistic."""


LONGEST_REPLY = 1_000_000
"""Characters of a reply that is read; a longer one is kept and counts as unparsed.

The hosted models with the most room write 128,000 tokens, about half as many characters.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a reply must have, for agents that can hold a model to one.

    Attributes:
        kind: `grammar` (GBNF) or `json_schema`.
        body: The grammar's text, or the schema as JSON text.
    """

    kind: Literal["grammar", "json_schema"]
    body: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        temperature: 0 is greedy; None leaves it to the model's own default.
        top_p: Nucleus; None leaves it to the model.
        max_tokens: Upper limit on the reply's tokens; None leaves it to the model.
        stop: Strings before which the reply ends.
        seed: For agents that can be seeded.
        top_logprobs: Ask for each token's log-probability and so many alternatives.
        form: The form that the reply must have.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    top_logprobs: int | None = None
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call: either "go on from these messages" or "how likely is this continuation".

    Attributes:
        messages: The conversation so far.
        sampling: How tokens are drawn.
        draw: Numbers the samples when one prompt is asked several times on purpose.
        continuation: Where given, nothing is generated: the completion's `logprobs` are those of
            this text's tokens, each given the messages and the tokens before it. For agents with
            the feature `score`.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    draw: int = 0
    continuation: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, None where the provider does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def total(self) -> int:
        """Prompt and completion tokens, unknown counted as none."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token and its natural-log probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back from one call.

    Attributes:
        text: The answer, thinking text excluded.
        state: `ok`, or why the text is not to be used: `refused`, `filtered`, `truncated` (cut at
            the length limit), `empty`.
        finish_reason: The provider's own word.
        usage: Tokens.
        latency: Seconds from sending to the last byte of the attempt that succeeded.
        thinking: Reasoning text that the provider returned apart from the answer.
        logprobs: Log-probabilities of the tokens, where asked for.
        model: The model version that the provider says answered.
        dropped: Sampling parameters that the endpoint refused and that were left out.
        cost: US dollars as the provider or a price list has it; None is unknown, never 0.
        call: The ledger key under which this is stored; empty before it is.
    """

    text: str
    state: State = "ok"
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    latency: float | None = None
    thinking: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    model: str | None = None
    dropped: tuple[str, ...] = ()
    cost: float | None = None
    call: str = ""

    @property
    def logprob(self) -> float:
        """Summed log-probability of the tokens, in nats.

        Raises:
            ValueError: The call did not ask for log-probabilities, or got none.
        """
        if self.logprobs is None:
            raise ValueError("this completion carries no log-probabilities")
        return sum(entry.logprob for entry in self.logprobs)


def request_to_json(request: Request) -> dict[str, Json]:
    """The request as plain JSON, defaults left out so that new fields do not move old keys."""
    temperature, top_p = request.sampling.temperature, request.sampling.top_p
    # 0 and 0.0 are the same request, and must have the same key.
    sampling: dict[str, Json] = {"temperature": None if temperature is None else float(temperature)}
    if top_p is not None:
        sampling["top_p"] = float(top_p)
    for name in ("max_tokens", "seed", "top_logprobs"):
        value = getattr(request.sampling, name)
        if value is not None:
            sampling[name] = value
    if request.sampling.stop:
        sampling["stop"] = list(request.sampling.stop)
    if request.sampling.form is not None:
        sampling["form"] = [request.sampling.form.kind, request.sampling.form.body]
    body: dict[str, Json] = {
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": sampling,
    }
    if request.draw:
        body["draw"] = request.draw
    if request.continuation is not None:
        body["continuation"] = request.continuation
    return body


def request_from_json(body: Mapping[str, Json]) -> Request:
    """The inverse of `request_to_json`."""
    sampling = body["sampling"]
    form = sampling.get("form")
    return Request(
        messages=tuple(Message(role, content) for role, content in body["messages"]),
        sampling=Sampling(
            temperature=sampling["temperature"],
            top_p=sampling.get("top_p"),
            max_tokens=sampling.get("max_tokens"),
            stop=tuple(sampling.get("stop", ())),
            seed=sampling.get("seed"),
            top_logprobs=sampling.get("top_logprobs"),
            form=None if form is None else Form(*form),
        ),
        draw=body.get("draw", 0),
        continuation=body.get("continuation"),
    )


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical_json(value: Json) -> str:
    """JSON with sorted keys, no spaces, non-ASCII kept: equal values give equal text.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    return _CANONICAL.encode(value)


def encoded(value: Json) -> bytes:
    """Canonical JSON as the ledger stores and the key hashes it.

    A lone surrogate in model text must not make a call unstorable, hence WTF-8.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: It holds something that JSON cannot.
    """
    return canonical_json(value).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Call:
    """One agent's request, encoded once for its key and for the ledger.

    Attributes:
        key: The name under which the ledger stores what comes of it.
        agent: The agent's name in the exam.
        fingerprint: What the agent is, as `encoded` has it; no secret.
        request: As `encoded(request_to_json(request))`.
    """

    key: str
    agent: str
    fingerprint: bytes
    request: bytes


def call_of(agent: str, fingerprint: bytes, request: Request) -> Call:
    """Encode a request.

    Args:
        agent: The agent's name in the exam; it is no part of the key.
        fingerprint: The agent's, `encoded`: an agent has many calls and one fingerprint.
        request: What it is asked.
    """
    body = encoded(request_to_json(request))
    # Byte for byte the canonical JSON of [KEY_VERSION, fingerprint, request].
    digest = hashlib.sha256(b"[%d,%b,%b]" % (KEY_VERSION, fingerprint, body))
    return Call(digest.hexdigest(), agent, fingerprint, body)


def request_key(fingerprint: Mapping[str, Json], request: Request) -> str:
    """The name under which the ledger stores a call's completion.

    Args:
        fingerprint: What the agent is: provider, model, endpoint, options; no secret.
        request: What it is asked.

    Returns:
        64 hexadecimal digits (SHA-256 of the canonical JSON of both and of `KEY_VERSION`).
    """
    return call_of("", encoded(dict(fingerprint)), request).key


def joined_calls(*calls: str | None) -> str | None:
    """The keys of several calls as one text, in the order in which they were asked, each once.

    >>> joined_calls("a", None, "b+a"), joined_calls(None, "")
    ('a+b', None)
    """
    return "+".join(dict.fromkeys(key for call in calls for key in calls_of(call))) or None


def calls_of(call: str | None) -> tuple[str, ...]:
    """The ledger keys in a record's `call`; the last is the call that its value was read from.

    >>> calls_of("a+b"), calls_of(None)
    (('a', 'b'), ())
    """
    return tuple(key for key in (call or "").split("+") if key)


def with_call(completion: Completion, key: str) -> Completion:
    """A completion that names the call it came from; `dataclasses.replace` takes thrice as long."""
    return Completion(
        completion.text,
        completion.state,
        completion.finish_reason,
        completion.usage,
        completion.latency,
        completion.thinking,
        completion.logprobs,
        completion.model,
        completion.dropped,
        completion.cost,
        key,
    )


def completion_to_json(completion: Completion) -> dict[str, Json]:
    """The completion as plain JSON, defaults left out; `call` is the key and is not repeated."""
    body: dict[str, Json] = {"text": completion.text, "state": completion.state}
    for name in ("finish_reason", "latency", "thinking", "model", "cost"):
        value = getattr(completion, name)
        if value is not None:
            body[name] = value
    usage = completion.usage
    if usage != Usage():
        body["usage"] = [usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens]
    if completion.logprobs is not None:
        body["logprobs"] = [[entry.token, entry.logprob] for entry in completion.logprobs]
    if completion.dropped:
        body["dropped"] = list(completion.dropped)
    return body


def completion_from_json(body: Mapping[str, Json], call: str = "") -> Completion:
    """The inverse of `completion_to_json`."""
    logprobs: Sequence[Sequence[Json]] | None = body.get("logprobs")
    return Completion(
        # By place, not by name: a replay makes a million of these.
        body["text"],
        body["state"],
        body.get("finish_reason"),
        Usage(*body.get("usage", ())),
        body.get("latency"),
        body.get("thinking"),
        None if logprobs is None else tuple(TokenLogprob(t, p) for t, p in logprobs),
        body.get("model"),
        tuple(body.get("dropped", ())),
        body.get("cost"),
        call,
    )
