"""What a ledger promises, whichever database holds it.

- What `record` was awaited for is on disk, and survives `kill -9` and power loss.
- A success is never overwritten: when two processes answered the same request, the first record
  stays and both get it.
- A failure is stored, and the next success replaces it.
- The same request is not asked twice: where machines share a ledger they wait for each other's
  calls while both live, and where processes cannot share one the second is refused.
- What cannot be stored is not paid for: the first record that fails ends all sending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from peerexam.calls import Call, Completion


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that ended without an answer, kept so that a report can name it.

    Attributes:
        kind: The error class's name.
        message: What it said; it holds no secret.
    """

    kind: str
    message: str


Outcome = Completion | Failure
"""What became of a call."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the successful calls in a ledger; `cost` counts the calls whose cost is known."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced_calls: int = 0


def sum_totals(*parts: Totals) -> Totals:
    """Totals added up.

    >>> sum_totals(Totals(calls=2, cost=0.5), Totals(calls=1, unpriced_calls=1))
    Totals(calls=3, failures=0, prompt_tokens=0, completion_tokens=0, cost=0.5, unpriced_calls=1)
    """
    return Totals(
        calls=sum(part.calls for part in parts),
        failures=sum(part.failures for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        cost=sum((part.cost for part in parts), start=0.0),
        unpriced_calls=sum(part.unpriced_calls for part in parts),
    )


class Ledger(Protocol):
    """The durable record of calls."""

    @property
    def claims(self) -> bool:
        """Whether `reserve` keeps other processes from asking; where not, it need not be called."""

    @property
    def is_ready(self) -> bool:
        """Whether what is answered now can be stored, as far as one knows; see `ready`."""

    @property
    def lost(self) -> int:
        """Answers that could not be stored; final once the ledger is closed."""

    async def begin(self) -> None:
        """Make sure that one may ask with it, before anything is paid for.

        Raises:
            LedgerFileError: It cannot be written to, or another process asks with it and it cannot
                be shared.
        """

    async def ready(self) -> None:
        """Wait until what a call would answer can be stored; to be done before it is sent.

        Raises:
            LedgerFileError: Something could not be stored: nothing more is to be paid for.
        """

    async def completion(self, key: str) -> Completion | None:
        """What was answered under a request key, its `call` set; failures count as nothing."""

    async def find(self, key: str) -> Completion | Failure | None:
        """What is stored under a request key, its `call` set; None where there is nothing."""

    async def reserve(self, key: str) -> Completion | Failure | None:
        """What `find` gives; where that is no completion, the right to ask with it.

        From here to `record` or `release` no other process that shares the ledger asks the same,
        as far as the database can hold it to that. While another living process has the right,
        this waits, and then says what stands.
        """

    async def release(self, key: str) -> None:
        """Release the right to ask without a record."""

    async def record(self, call: Call, outcome: Completion | Failure) -> Completion | Failure:
        """Store an outcome and return what stands under the call's key once it is committed.

        That is the outcome itself, or the completion that another process stored first.
        """

    async def totals_by_agent(self) -> Mapping[str, Totals]:
        """Sums for each agent's name; a call counts for the agent that asked it first."""

    async def close(self) -> None:
        """Commit what has gathered and let go of the file."""
