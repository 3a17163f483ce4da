"""`selftest`: biases planted in simulated participants, and what the measures find of them."""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE, FAILED
from peerexam.cli.arguments import seed
from peerexam.cli.output import columns, say, say_json
from peerexam.report.grid import grid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("--seed", type=seed, default=0)


def perform(arguments: argparse.Namespace) -> int:
    """Plant biases in simulated participants, and measure them."""
    import dataclasses

    from peerexam.cli.interrupt import run_interruptibly
    from peerexam.protocols.selftest.proof import run_selftest

    report = run_interruptibly(run_selftest(arguments.seed))
    checks = [dataclasses.asdict(check) for check in report.checks]
    if arguments.json:
        say_json({"seed": arguments.seed, "ok": report.ok, "checks": checks})
        return COMPLETE if report.ok else FAILED
    heads = ("", "planted and measured", "planted", "found", "interval")
    rows = [
        (
            "ok" if check.ok else "FAIL",
            check.name,
            _number(check.planted),
            _number(check.found),
            "" if check.low is None else f"{check.low:.3f} to {check.high:.3f}",
        )
        for check in report.checks
    ]
    say(grid(heads, rows, (2, 3), width=columns(), keys=(0, 1)))
    return COMPLETE if report.ok else FAILED


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
