"""Checks of what an agent says of itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

from peerexam.agents.base import Agent, Feature
from peerexam.calls import encoded
from peerexam.testing.conformance.findings import in_fingerprint
from peerexam.testing.conformance.hooks import AgentHooks, demand, skip


class IdentityChecks(AgentHooks):
    """Name, features, fingerprint, and the secret that is in none of them."""

    def test_it_says_who_it_is_and_what_it_can_do(self) -> None:
        """`name` is text, `features` a frozenset of known features."""

        async def check() -> None:
            async with self.opened() as agent:
                name: object = agent.name
                demand(
                    isinstance(name, str) and name,
                    f"name is {name!r}: give the name that the agent got (AgentSpec.name)",
                )
                features: object = agent.features
                demand(
                    isinstance(features, frozenset),
                    f"features is a {type(features).__name__}: give a frozenset of names",
                )
                unknown = sorted(agent.features - set(get_args(Feature)))
                demand(
                    not unknown,
                    f"features holds {unknown}: the features are {', '.join(get_args(Feature))}",
                )

        self.run(check)

    def test_its_fingerprint_is_json_and_names_its_provider(self) -> None:
        """`fingerprint` is a mapping that the ledger can hash."""

        async def check() -> list[str]:
            async with self.opened() as agent:
                return list(in_fingerprint(agent.fingerprint))

        problems = self.run(check)
        demand(not problems, "; ".join(problems))

    def test_two_builds_have_one_fingerprint(self) -> None:
        """Without this, no answer would ever be found in the ledger again."""

        async def check() -> None:
            async with self.opened() as one, self.opened() as other:
                demand(
                    _stable(one) == _stable(other),
                    "two agents of one make_agent() have different fingerprints: leave out "
                    "whatever changes from build to build (times, random numbers, addresses)",
                )
                before = _stable(one)
                await one.complete(self.ask())
                demand(
                    _stable(one) == before,
                    "the fingerprint changed with a call: it may hold only what is known before",
                )

        self.run(check)

    def test_its_secret_is_in_nothing_that_it_says(self) -> None:
        """Not in name, fingerprint, `repr`, or a completion; needs the hook `secret`."""
        secret = self.secret
        if not secret:
            skip("the hook `secret` names no key")

        async def check() -> None:
            async with self.opened() as agent:
                said = {
                    "name": agent.name,
                    "fingerprint": repr(dict(agent.fingerprint)),
                    "repr": repr(agent),
                    "completion": repr(await agent.complete(self.ask())),
                }
                for where, text in said.items():
                    demand(
                        str(secret) not in text,
                        f"the secret is in the agent's {where}: keep it in a private attribute and "
                        "out of everything that is shown or stored",
                    )

        self.run(check)

    def test_its_errors_are_ours_and_hold_no_secret(self) -> None:
        """Each of `failing_agents` raises the class it stands under."""
        failing = self.failing_agents()
        if not failing:
            skip("the hook failing_agents() provokes no errors")
        for expected, make in failing.items():
            error = self.run(partial(self._error_of, make))
            demand(
                isinstance(error, expected),
                f"{expected.__name__} was to be raised, and {type(error).__name__} was ({error}): "
                "translate the provider's errors to peerexam.errors",
            )
            demand(str(error), f"{expected.__name__} has no message: say what failed, and the mend")
            if self.secret:
                demand(
                    not any(self.secret in text for text in _chain(error)),
                    f"the secret is in {expected.__name__} or in an error it came from: redact it "
                    "out, and raise … from None where the cause holds it",
                )

    async def _error_of(self, make: Callable[[], Agent]) -> BaseException | None:
        agent = make()
        try:
            await agent.complete(self.ask())
        except Exception as error:  # judged by the check, whatever it is
            return error
        finally:
            await agent.close()
        return None


def _stable(agent: Agent) -> bytes:
    return encoded(dict(agent.fingerprint))


def _chain(error: BaseException | None) -> list[str]:
    texts: list[str] = []
    while error is not None and len(texts) < 100:
        texts += [str(error), repr(error)]
        error = error.__cause__ or error.__context__
    return texts
