"""One call as a person or a program reads it: what was asked, what came back, what it took.

Texts are as the ledger has them; whoever prints them makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from peerexam.calls import Completion, Json
from peerexam.ledger.base import Failure
from peerexam.ledger.entries import StoredCall

SHORT = 12
"""Digits of a call's key that are shown where the whole key would be in the way."""


def call_json(call: StoredCall) -> dict[str, Json]:
    """One call as one JSON object; the reply's fields are null where the call failed."""
    request, outcome = call.request, call.outcome
    done = outcome if isinstance(outcome, Completion) else None
    return {
        "call": call.key,
        "agent": call.agent,
        "model": model_of(call),
        "fingerprint": call.fingerprint,
        "messages": [{"role": role, "content": text} for role, text in request["messages"]],
        "continuation": request.get("continuation"),
        "sampling": request.get("sampling", {}),
        "draw": request.get("draw", 0),
        "reply": done.text if done else None,
        "thinking": done.thinking if done else None,
        "state": done.state if done else "error",
        "reason": _why(outcome),
        "logprobs": [[t.token, t.logprob] for t in done.logprobs]
        if done and done.logprobs is not None
        else None,
        "prompt_tokens": done.usage.prompt_tokens if done else None,
        "completion_tokens": done.usage.completion_tokens if done else None,
        "cached_tokens": done.usage.cached_tokens if done else None,
        "dropped": list(done.dropped) if done else [],
        "cost_usd": done.cost if done else None,
        "latency_seconds": done.latency if done else None,
        "created": datetime.fromtimestamp(call.created, UTC).isoformat(timespec="seconds"),
    }


def model_of(call: StoredCall) -> str | None:
    """The model version that answered, else the one that was asked."""
    said = call.outcome.model if isinstance(call.outcome, Completion) else None
    asked = call.fingerprint.get("model")
    return said or (asked if isinstance(asked, str) else None)


def call_text(call: StoredCall) -> str:
    """One call as text: facts, then the prompt with its roles, then thinking and reply."""
    body = call_json(call)
    parts = ["\n".join(_facts(body))]
    parts += [_block(f"prompt, {turn['role']}", turn["content"]) for turn in body["messages"]]
    if body["continuation"] is not None:
        parts.append(_block("text that was scored", body["continuation"]))
        parts.append("log-probabilities: " + _summed(call.outcome))
    if body["thinking"]:
        parts.append(_block("thinking", body["thinking"]))
    if body["reply"] is not None and body["continuation"] is None:
        parts.append(_block("reply", body["reply"]))
    return "\n\n".join(parts)


def _facts(body: Mapping[str, Json]) -> Iterator[str]:
    yield f"call      {body['call']}"
    yield f"agent     {body['agent']}" + (f" ({body['model']})" if body["model"] else "")
    yield f"sampling  {_sampling(body)}"
    reason = f": {body['reason']}" if body["reason"] else ""
    yield f"state     {body['state']}{reason}"
    tokens = (body["prompt_tokens"], body["completion_tokens"])
    yield "tokens    {} prompt, {} completion".format(*("?" if n is None else n for n in tokens))
    cost, latency = body["cost_usd"], body["latency_seconds"]
    took = "unknown" if latency is None else f"{latency:.2f} s"
    yield f"cost      {'unknown' if cost is None else f'${cost:.6f}'}; latency {took}"
    yield f"time      {body['created']}"
    if body["dropped"]:
        yield f"left out  {', '.join(body['dropped'])} (the endpoint refused it)"


def _sampling(body: Mapping[str, Json]) -> str:
    shown = {key: value for key, value in body["sampling"].items() if key != "form"}
    if "form" in body["sampling"]:
        shown["form"] = body["sampling"]["form"][0]
    if body["draw"]:
        shown["draw"] = body["draw"]
    said = (f"{key} {'default' if value is None else value}" for key, value in shown.items())
    return ", ".join(said) or "the model's own"


def _summed(outcome: Completion | Failure) -> str:
    if isinstance(outcome, Failure) or outcome.logprobs is None:
        return "none"
    return f"{outcome.logprob:.3f} nats over {len(outcome.logprobs)} tokens"


def _why(outcome: Completion | Failure) -> str | None:
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {outcome.message}"
    return outcome.finish_reason


def _block(head: str, text: str) -> str:
    """A text under its head, each line behind a bar, so that no text can pass for our own words."""
    lines = text.split("\n") if text else ["(empty)"]
    return "\n".join([f"── {head}", *(f"│ {line}" for line in lines)])
