"""Checks that an agent does what its features say, and says so where it does not."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from peerexam.calls import Completion, Form, Request
from peerexam.errors import PermanentError, RefusedParameterError
from peerexam.testing.conformance.hooks import AgentHooks, demand, demand_sound, skip

FORMS = {
    "grammar": Form("grammar", 'root ::= "yes" | "no"'),
    "json_schema": Form(
        "json_schema",
        '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],'
        '"additionalProperties":false}',
    ),
}
"""A form of each kind."""

CONTINUATION = " The number is seven."
"""A text whose log-probabilities are asked for."""


class FeatureChecks(AgentHooks):
    """Log-probabilities, scoring, and forms."""

    def test_it_gives_logprobs_where_it_claims_to(self) -> None:
        """Of every token that it generated, none above 0."""

        async def check() -> None:
            async with self.opened() as agent:
                if "logprobs" not in agent.features:
                    skip("it does not claim logprobs")
                completion = await agent.complete(self.ask(top_logprobs=1))
                _must_have_logprobs(completion, "logprobs")

        self.run(check)

    def test_it_scores_a_continuation_or_refuses_to(self) -> None:
        """With `score`, the text's own tokens are scored; without, a `PermanentError`."""

        async def check() -> None:
            async with self.opened() as agent:
                asked = replace(self.ask(), continuation=CONTINUATION)
                try:
                    completion: Completion | None = await agent.complete(asked)
                except PermanentError as error:
                    demand(
                        "score" not in agent.features,
                        f"it claims score, and refuses a continuation ({error}): give its "
                        "log-probabilities, or take score out of features",
                    )
                    return
                demand(
                    "score" in agent.features,
                    "it answered a request with a continuation without claiming score: raise a "
                    "PermanentError for request.continuation, which is not to be generated from",
                )
                _must_score(completion)

        self.run(check)

    def test_it_keeps_a_grammar_or_refuses_it(self) -> None:
        """With `grammar`, the reply follows it; without, a `RefusedParameterError`."""
        completion = self.run(lambda: self._in_form("grammar"))
        if completion is not None and completion.state != "truncated":
            demand(
                completion.text in ("yes", "no"),
                f"the grammar allows yes and no, and the reply is {completion.text!r}: hold the "
                "reply to the form, or take grammar out of features",
            )

    def test_it_keeps_a_json_schema_or_refuses_it(self) -> None:
        """With `json_schema`, the reply fits it; without, a `RefusedParameterError`."""
        completion = self.run(lambda: self._in_form("json_schema"))
        if completion is not None and completion.state != "truncated":
            demand(
                _fits(completion.text),
                f"the schema asks for an integer n, and the reply is {completion.text!r}: hold the "
                "reply to the form, or take json_schema out of features",
            )

    async def _in_form(self, kind: str) -> Completion | None:
        """The reply in a form; None where it was rightly refused."""
        async with self.opened() as agent:
            claimed = kind in agent.features
            request: Request = self.ask(form=FORMS[kind])
            try:
                completion = await agent.complete(request)
            except RefusedParameterError as error:
                demand(
                    not claimed,
                    f"it claims {kind}, and refuses a form ({error}): take it out of features",
                )
                return None
            dropped = "form" in completion.dropped
            demand(
                claimed or dropped,
                f"it does not claim {kind}, and took a form without a word: raise "
                "RefusedParameterError, or put 'form' into Completion.dropped",
            )
            return None if dropped else completion


def _must_have_logprobs(completion: Completion | None, feature: str) -> Completion:
    demand_sound(completion)
    if (
        completion is None
        or completion.logprobs is None
        or not (completion.logprobs or completion.state == "empty")
    ):
        raise AssertionError(
            f"it claims {feature}, and the completion has no logprobs: give those of the tokens, "
            f"or take {feature} out of features"
        )
    return completion


def _must_score(completion: Completion | None) -> None:
    scored = _must_have_logprobs(completion, "score")
    demand(
        scored.text == CONTINUATION,
        f"the scored text is {scored.text!r} for {CONTINUATION!r}: give the continuation as text",
    )
    demand(
        math.isfinite(scored.logprob) and scored.logprob < 0,
        f"the continuation's log-probability is {scored.logprob}: it is the sum over its tokens, "
        "less than 0",
    )
    tokens = "".join(entry.token for entry in scored.logprobs or ())
    demand(
        tokens.strip() == CONTINUATION.strip(),
        f"the scored tokens spell {tokens!r} for {CONTINUATION!r}: score the continuation's own "
        "tokens, neither the prompt's nor an end mark",
    )


def _fits(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and list(value) == ["n"] and type(value["n"]) is int
