"""What plug-in authors test their agents with: a server with weather, and a conformance kit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerexam.testing.conformance import AgentConformance
    from peerexam.testing.weather import WeatherServer
    from peerexam.testing.weather_faults import Fault

_HOME = {
    "AgentConformance": "conformance",
    "Fault": "weather_faults",
    "WeatherServer": "weather",
}

__all__ = ["AgentConformance", "Fault", "WeatherServer"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'peerexam.testing' has no attribute '{name}'")
    return getattr(import_module(f"peerexam.testing.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
