"""`markov/PATH`: a Markov chain over a text file, as an agent of peerexam.

Option: `order` (1 to 12, default 4), the number of characters that it looks back.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from importlib.metadata import version
from pathlib import Path

from peerexam.agents.base import Provider
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Request, State, TokenLogprob, Usage, encoded, request_to_json
from peerexam.errors import SetupError
from peerexam_example_plugin.chain import Chain

_LONGEST = 200
"""Characters of a reply for which the request sets no limit."""

_END = "\n"
"""A reply ends with its line."""


class MarkovAgent(Provider):
    """A chain that goes on with a text: a base model, whose tokens are characters.

    Args:
        name: Who it is in the exam.
        chain: The chain.
        digest: Hash of what it learnt from, in place of the path: a moved file replays.
    """

    def __init__(self, name: str, chain: Chain, digest: str) -> None:
        super().__init__(
            name,
            {
                "provider": "markov",
                "text": digest,
                "order": chain.order,
                "version": version("peerexam-example-plugin"),
            },
            # No "chat": it follows no instructions, so it is asked by examples.
            features=("score", "logprobs"),
        )
        self._chain = chain

    async def complete(self, request: Request) -> Completion:
        """Go on with the messages' text, or score the continuation.

        Raises:
            RefusedParameterError: The reply is to have a form.
        """
        self.refuse_unclaimed(request)
        started = time.perf_counter()
        prompt = "\n".join(turn.content for turn in request.messages)
        scores_given = request.continuation is not None
        wants_scores = scores_given or request.sampling.top_logprobs is not None
        state: State = "ok"
        text = request.continuation or ""
        if not scores_given:
            text, state = self._generate(prompt, request)
        return Completion(
            text,
            state,
            usage=Usage(len(prompt), len(text)),
            latency=time.perf_counter() - started,
            logprobs=self._score(prompt, text) if wants_scores else None,
            dropped=() if request.sampling.top_p is None else ("top_p",),
        )

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _generate(self, prompt: str, request: Request) -> tuple[str, State]:
        sampling = request.sampling
        # The request is the seed, so that equal requests are answered alike in whatever order.
        source = random.Random(encoded(request_to_json(request)))
        temperature = 1.0 if sampling.temperature is None else sampling.temperature
        limit = _LONGEST if sampling.max_tokens is None else sampling.max_tokens
        text = ""
        while len(text) < limit:
            context = (prompt + text)[-self._chain.order :]
            text += self._chain.draw(context, temperature, source)
            for stop in (*sampling.stop, _END):
                if text.endswith(stop):
                    text = text.removesuffix(stop)
                    return text, "ok" if text.strip() else "empty"
        return text, "truncated"

    def _score(self, prompt: str, text: str) -> tuple[TokenLogprob, ...]:
        whole = prompt + text
        start = len(prompt)
        return tuple(
            TokenLogprob(
                character,
                math.log(
                    self._chain.probability(
                        whole[max(0, start + at - self._chain.order) : start + at], character
                    )
                ),
            )
            for at, character in enumerate(text)
        )


def create(spec: AgentSpec) -> MarkovAgent:
    """Build the agent of a spec; the entry point `markov` names this function.

    Raises:
        SetupError: The file cannot be read, or an option is wrong.
    """
    unknown = sorted(set(spec.options) - {"order"})
    if unknown:
        raise SetupError(f"agent '{spec.name}': markov/ has no option '{unknown[0]}'; it has order")
    order = spec.options.get("order", 4)
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 12:
        raise SetupError(f"agent '{spec.name}': order is a whole number from 1 to 12")
    try:
        data = Path(spec.model).expanduser().read_bytes()
        text = data.decode()
    except (OSError, ValueError) as error:
        raise SetupError(
            f"agent '{spec.name}': {spec.model} cannot be read ({error}): name a text file in UTF-8"
        ) from error
    if not text.strip():
        raise SetupError(f"agent '{spec.name}': {spec.model} holds no text to learn from")
    return MarkovAgent(spec.name, Chain(text, order), hashlib.sha256(data).hexdigest())
