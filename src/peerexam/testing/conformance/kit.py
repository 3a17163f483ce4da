"""The conformance kit: whether an agent keeps the contract that peerexam relies on.

An author's test file needs three lines::

    class TestMyAgent(AgentConformance):
        def make_agent(self):
            return MyAgent("pupil", key="not-a-key")

pytest then runs every check. They need no plug-in for pytest: each runs its coroutines in an event
loop of its own. What the kit should know of the agent is said by overriding the hooks, see
`AgentHooks`.
"""

from __future__ import annotations

from peerexam.testing.conformance.answers import AnswerChecks
from peerexam.testing.conformance.features import FeatureChecks
from peerexam.testing.conformance.identity import IdentityChecks
from peerexam.testing.conformance.lifecycle import LifeChecks

__all__ = ["AgentConformance"]


class AgentConformance(IdentityChecks, AnswerChecks, FeatureChecks, LifeChecks):
    """Every check of an agent; subclass it and override `make_agent`.

    A check that fails says what is wrong and how to fix it. One that does not apply (no secret is
    named, a feature is not claimed) is skipped.
    """
