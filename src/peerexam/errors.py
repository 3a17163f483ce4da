"""Every error peerexam raises on purpose, drawn as a tree.

::

    PeerexamError
    ├── SetupError                the set-up is wrong: mend it and start again (exit status 2)
    │   ├── ConfigError           a line of EXAM.yaml
    │   ├── UnknownProviderError  no such `provider/`
    │   ├── MissingExtraError     a package that an extra installs
    │   ├── MissingKeyError       an environment variable with a key
    │   ├── LedgerFileError       a torn, foreign or newer ledger
    │   └── RecordFileError       a broken line in a JSONL file
    ├── CallError                 one call to a model failed
    │   ├── RetryableError        the same call may succeed later
    │   │   ├── RateLimitedError
    │   │   ├── OverloadedError
    │   │   ├── ConnectionFailedError
    │   │   │   └── NoServerError     nobody listens at the address
    │   │   └── CallTimeoutError
    │   └── PermanentError        the same call fails again
    │       ├── BadKeyError
    │       ├── UnknownModelError
    │       ├── UnusableModelError    the model cannot be asked in any way that is known
    │       ├── QuotaExhaustedError
    │       ├── AgentLostError        disabled for this session: no call was made
    │       ├── RefusedParameterError
    │       ├── ContextTooLongError
    │       └── DeadlineExceededError
    ├── BudgetReachedError        the next call would break the budget
    ├── NoStandingsError          no standings could follow (exit status 4)
    └── StatisticsError           the table cannot answer the question asked of it

Errors about values are `ValueError` too, so that a caller who knows nothing of this file can
still catch them.
"""

from __future__ import annotations

from pathlib import Path


class PeerexamError(Exception):
    """The root: catch this to catch everything that is ours."""


class SetupError(PeerexamError, ValueError):
    """The set-up is wrong. The message names the thing and the mend."""


class ConfigError(SetupError):
    """EXAM.yaml holds something that cannot be run.

    Args:
        message: What is wrong and how to mend it.
        path: The file.
        line: Its line, counted from 1, where it is known.
    """

    def __init__(self, message: str, path: Path | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        where = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(where + message)


class UnknownProviderError(SetupError):
    """A model name starts with a provider that is not installed."""


class MissingExtraError(SetupError):
    """A provider needs packages that an extra of peerexam installs."""


class MissingKeyError(SetupError):
    """The environment variable that holds an agent's key is not set."""


class LedgerFileError(SetupError):
    """The ledger file is torn, foreign, or of a newer schema. It is never overwritten."""


class DamagedFileError(SetupError):
    """A file that a command left cannot be read, and the command can write it again."""


class RecordFileError(SetupError):
    """A line of a JSONL file cannot be read.

    Args:
        message: What is wrong and how to mend it.
        path: The file.
        line: Its line, counted from 1.
    """

    def __init__(self, message: str, path: Path, line: int) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {message}")


class CallError(PeerexamError):
    """One call to a model failed.

    Attributes:
        call: The ledger key under which the failure is stored; None where it is in no ledger.
    """

    call: str | None = None


class RetryableError(CallError):
    """The same call may succeed later.

    Args:
        message: What the provider said.
        retry_after: Seconds that the provider asks to wait, where it says so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class RateLimitedError(RetryableError):
    """Too many requests or tokens (HTTP 429)."""


class OverloadedError(RetryableError):
    """The provider is overloaded or broken (HTTP 5xx, 529, or an overload told inside a 200)."""


class ConnectionFailedError(RetryableError):
    """No connection, or it was reset."""


class NoServerError(ConnectionFailedError):
    """Nobody listens at the address: the connection was refused, or no such host is known."""


class CallTimeoutError(RetryableError):
    """One attempt took longer than its time limit."""


class PermanentError(CallError):
    """The same call fails again, so it is not repeated."""


class BadKeyError(PermanentError):
    """The key is missing, wrong, or has no right to the model (HTTP 401, 403)."""


class UnknownModelError(PermanentError):
    """The endpoint does not know the model (HTTP 404)."""


class UnusableModelError(PermanentError):
    """The model cannot be asked in any way that is known: its chat template shows no message."""


class QuotaExhaustedError(PermanentError):
    """The account has no money or quota left (HTTP 402, or said so in another reply)."""


class AgentLostError(PermanentError):
    """The agent was disabled for this session, so the call was not made."""


class RefusedParameterError(PermanentError):
    """The endpoint refuses a parameter, and leaving it out did not help.

    Args:
        message: What the provider said.
        parameter: The parameter's name as the provider gave it.
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        self.parameter = parameter
        super().__init__(message)


class ContextTooLongError(PermanentError):
    """The messages do not fit into the model's context."""


class DeadlineExceededError(PermanentError):
    """All attempts together took longer than the call's deadline."""


class BudgetReachedError(PeerexamError):
    """The next call would break the budget, so it was not made."""


class NoStandingsError(PeerexamError):
    """No standings could follow, so the rest of the exam is not asked."""


class StatisticsError(PeerexamError, ValueError):
    """A table cannot answer the question asked of it (no rows, unpaired orders, wrong shape)."""
