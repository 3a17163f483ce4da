"""What is wrong with a completion or a fingerprint, as sentences with the fix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from peerexam.calls import (
    Completion,
    Json,
    TokenLogprob,
    Usage,
    completion_from_json,
    completion_to_json,
    encoded,
)

STATES = ("ok", "refused", "filtered", "truncated", "empty")
"""States that an agent may give; `unparsed` and `error` are for those who read its answers."""

PARAMETERS = frozenset(
    ("temperature", "top_p", "max_tokens", "stop", "seed", "top_logprobs", "form")
)
"""What may stand in `Completion.dropped`."""


def in_completion(completion: object) -> Iterator[str]:
    """Everything that is wrong with what `complete` returned."""
    if not isinstance(completion, Completion):
        yield (
            f"complete() returned {type(completion).__name__}: return a peerexam.Completion, for "
            "instance agents.function.completion_of(text)"
        )
        return
    problems = [
        *_in_text(completion),
        *_in_usage(completion.usage),
        *_in_measures(completion),
        *_in_words(completion),
        *(() if completion.logprobs is None else in_logprobs(completion.logprobs)),
    ]
    yield from problems or _in_storage(completion)


def in_logprobs(logprobs: object) -> Iterator[str]:
    """Everything that is wrong with a completion's log-probabilities."""
    if not isinstance(logprobs, tuple):
        yield f"logprobs is a {type(logprobs).__name__}: give a tuple of TokenLogprob"
        return
    for entry in logprobs:
        if not isinstance(entry, TokenLogprob) or not isinstance(entry.token, str):
            yield f"logprobs holds {entry!r}: each entry is a TokenLogprob(token, logprob)"
        elif not _is_number(entry.logprob) or not math.isfinite(entry.logprob):
            yield f"the log-probability of {entry.token!r} is {entry.logprob!r}: make it finite"
        elif entry.logprob > 1e-6:
            yield (
                f"the log-probability of {entry.token!r} is {entry.logprob}, more than 0: give "
                "natural logarithms of probabilities"
            )


def in_fingerprint(fingerprint: object) -> Iterator[str]:
    """Everything that is wrong with a fingerprint."""
    if not isinstance(fingerprint, Mapping):
        yield f"fingerprint is a {type(fingerprint).__name__}: give a mapping of names to JSON"
        return
    if not isinstance(fingerprint.get("provider"), str):
        yield "fingerprint has no 'provider': name the provider, so that equal models stay apart"
    if not all(isinstance(name, str) for name in fingerprint):
        yield "fingerprint has names that are not text: use text"
    try:
        encoded(dict(fingerprint))
    except (TypeError, ValueError) as error:
        yield (
            f"fingerprint is no JSON ({error}): use None, bool, int, finite float, str, list and "
            "dict alone"
        )


def _in_text(completion: Completion) -> Iterator[str]:
    if not isinstance(completion.text, str):
        yield (
            f"text is {completion.text!r}: give text, '' with the state 'empty' or 'filtered' "
            "where the provider sent none"
        )
        return
    if completion.state not in STATES:
        yield f"state is {completion.state!r}: an agent gives one of {', '.join(STATES)}"
    elif completion.state == "ok" and not completion.text.strip():
        yield "state is 'ok' and text is blank: give the state 'empty'"


def _in_usage(usage: object) -> Iterator[str]:
    if not isinstance(usage, Usage):
        yield f"usage is {usage!r}: give a Usage, Usage() where nothing is known"
        return
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
        value: object = getattr(usage, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            yield f"usage.{name} is {value!r}: give a whole number of at least 0, or None"
            return
    if usage.cached_tokens and usage.cached_tokens > (usage.prompt_tokens or 0):
        yield (
            f"usage.cached_tokens is {usage.cached_tokens} of {usage.prompt_tokens} prompt tokens: "
            "cached tokens are part of prompt_tokens, so add them there"
        )


def _in_measures(completion: Completion) -> Iterator[str]:
    for name, unit in (("latency", "seconds"), ("cost", "US dollars")):
        value = getattr(completion, name)
        if value is not None and not (_is_number(value) and 0 <= value < math.inf):
            yield f"{name} is {value!r}: give {unit} as a finite number of at least 0, or None"


def _in_words(completion: Completion) -> Iterator[str]:
    for name in ("finish_reason", "thinking", "model"):
        value: object = getattr(completion, name)
        if value is not None and not isinstance(value, str):
            yield f"{name} is {value!r}: give text or None"
    if completion.call != "":
        yield f"call is {completion.call!r}: leave it empty, the ledger fills it in"
    if not isinstance(completion.dropped, tuple):
        yield f"dropped is {completion.dropped!r}: give a tuple of names"
        return
    for name in completion.dropped:
        if name not in PARAMETERS:
            yield f"dropped holds {name!r}: name parameters of Sampling ({', '.join(PARAMETERS)})"


def _in_storage(completion: Completion) -> Iterator[str]:
    try:
        encoded(completion_to_json(completion))
    except (TypeError, ValueError) as error:
        yield f"the completion cannot be stored ({error}): give plain text and numbers"
        return
    if completion_from_json(completion_to_json(completion)) != completion:
        yield "the completion is not the same when read back: give plain text, numbers and tuples"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
