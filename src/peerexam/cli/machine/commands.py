"""`agents`, `weights`, `serve`, `selftest` and `schema`: what is here."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from peerexam.cli import COMPLETE, FAILED
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError


def agents(arguments: argparse.Namespace) -> int:
    """Say which agents can be had, or ask some."""
    from peerexam.cli.machine import agents as checking

    if arguments.action == "probe":
        from peerexam.cli.machine.probe import probe

        return probe(arguments)
    if arguments.check:
        return checking.check_models([arguments.check], as_json=arguments.json)
    if arguments.live:
        return checking.check_exam(arguments.live, as_json=arguments.json)
    return checking.list_agents(as_json=arguments.json)


def prove(arguments: argparse.Namespace) -> int:
    """Recover the known biases of simulated participants."""
    from peerexam.cli.interrupt import run_interruptibly
    from peerexam.protocols.selftest.proof import run_selftest
    from peerexam.report.grid import grid

    report = run_interruptibly(run_selftest(arguments.seed))
    checks = [dataclasses.asdict(check) for check in report.checks]
    if arguments.json:
        say_json({"seed": arguments.seed, "ok": report.ok, "checks": checks})
        return COMPLETE if report.ok else FAILED
    heads = ("", "planted and looked for", "planted", "found", "interval")
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


def salvage(arguments: argparse.Namespace) -> int:
    """Save what can be read of a damaged ledger."""
    from peerexam.ledger.sqlite import salvage as ledgers

    saved, unread = ledgers.salvage(Path(arguments.torn), Path(arguments.saved))
    if arguments.json:
        say_json({"ledger": arguments.saved, "saved": saved, "unreadable": unread})
    else:
        say(f"{arguments.saved}: {saved} answers saved; {unread} places could not be read")
    return COMPLETE


def show_weights(arguments: argparse.Namespace) -> int:
    """Say what weights are, licence first, and fetch them on request."""
    from peerexam.agents.local import weights

    names = [arguments.name] if arguments.name else list(weights.WEIGHTS)
    if arguments.fetch and not arguments.name:
        raise SetupError(f"name the weights to fetch: {', '.join(names)}")
    if not arguments.json:
        for name in names:
            say(_weights_text(name))
    if arguments.fetch:
        sys.stdout.flush()
        note(f"fetching {names[0]}")
        weights.fetch(names[0])
        note(f"{names[0]} is installed")
    if arguments.json:
        say_json(
            {
                name: {
                    **dataclasses.asdict(weights.describe(name)),
                    "installed": weights.is_installed(name),
                }
                for name in names
            }
        )
    return COMPLETE


def _weights_text(name: str) -> str:
    from peerexam.agents.local import weights

    about = weights.describe(name)
    state = "installed" if weights.is_installed(name) else f"not installed; {about.fetch_command}"
    return (
        f"local/{name}: {about.model}, {about.download_mb} MB\n"
        f"  licence: {about.licence}. {about.licence_note}\n  {state}"
    )


def offer_weights(models: Iterable[str]) -> None:
    """Ask whoever sits at the terminal whether to fetch the weights that agents lack.

    Without a terminal nothing is asked or fetched: building the agent names the command.
    """
    from peerexam.agents.local import weights

    lacking = weights.missing(models)
    if not lacking or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    for about in lacking:
        note(_weights_text(about.name))
        note(f"fetch {about.name} now? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            weights.fetch(about.name)
            note(f"{about.name} is installed")


def note_missing_weights(models: Iterable[str]) -> None:
    """Name the command for every agent's weights that are not here."""
    from peerexam.agents.local import weights

    for about in weights.missing(models):
        note(f"local/{about.name} is not installed ({about.terms}); first: {about.fetch_command}")


def serve(arguments: argparse.Namespace) -> int:
    """Serve a local model until Ctrl-C."""
    from peerexam.agents.llamacpp.serving import serve as served

    with served(arguments.model, port=arguments.port) as address:
        if arguments.json:
            say_json({"model": arguments.model, "base_url": address})
        else:
            say(f"{plain(arguments.model)} is served at {address}; Ctrl-C ends it")
        sys.stdout.flush()
        if os.name == "posix":
            import signal

            signal.pause()
    return COMPLETE


def print_schema(arguments: argparse.Namespace) -> int:
    """Print JSON Schemas."""
    from peerexam.protocols.config.models import ExamConfig

    parts = {}
    if arguments.what in ("all", "config"):
        parts["config"] = ExamConfig.model_json_schema()
    if arguments.what in ("all", "records"):
        parts["records"] = _record_schemas()
    say_json(parts if arguments.what == "all" else parts[arguments.what])
    return COMPLETE


def _record_schemas() -> dict[str, object]:
    from pydantic import TypeAdapter

    from peerexam.records import Answer, Mark, Probe, Question, Ranking, Verdict

    return {
        kind.__name__: TypeAdapter(kind).json_schema()
        for kind in (Question, Answer, Mark, Verdict, Ranking, Probe)
    }
