"""The config that a command names, with its flags and the environment."""

from __future__ import annotations

import argparse
import os

from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.plan import Plan


def config_from(arguments: argparse.Namespace, *, setting_only: bool = False) -> ExamConfig:
    """Read the config.

    Args:
        arguments: With those that `config_flags` adds.
        setting_only: See `load_config`.
    """
    overrides = list(arguments.set)
    if arguments.seed is not None:
        overrides.append(f"seed={arguments.seed}")
    if arguments.budget_usd is not None:
        overrides.append(f"limits.budget.usd={arguments.budget_usd!r}")
    return load_config(
        arguments.exam, environ=os.environ, overrides=overrides, setting_only=setting_only
    )


def expected_calls(config: ExamConfig, planned: Plan) -> int:
    """Calls that the progress can see; simulated participants make none."""
    simulated = {a.name for a in config.agents if a.model.startswith(f"{PLAYS_DIRECTLY}/")}
    return round(sum(one.calls.expected for one in planned.lines if one.agent not in simulated))
