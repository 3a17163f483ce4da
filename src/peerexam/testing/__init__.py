"""What plug-in authors test their agents with: a server with faults, and a conformance kit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerexam.testing.conformance.kit import AgentConformance
    from peerexam.testing.faults.kinds import Fault
    from peerexam.testing.faults.server import FaultServer

_HOME = {
    "AgentConformance": "conformance.kit",
    "Fault": "faults.kinds",
    "FaultServer": "faults.server",
}

__all__ = ["AgentConformance", "Fault", "FaultServer"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'peerexam.testing' has no attribute '{name}'")
    return getattr(import_module(f"peerexam.testing.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
