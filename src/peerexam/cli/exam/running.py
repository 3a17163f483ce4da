"""`run`, `rejudge` and `add`: the commands that ask models."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from peerexam.cli import COMPLETE, NO_STANDINGS, PARTIAL
from peerexam.cli.agent_files import read_agents
from peerexam.cli.display import shown
from peerexam.cli.exam.planning import config_from
from peerexam.cli.interrupt import run_interruptibly
from peerexam.cli.machine.commands import offer_weights
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import NoStandingsError, SetupError
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.plan import plan
from peerexam.protocols.run import rejudge_and_add as rerunning
from peerexam.protocols.run import runner
from peerexam.protocols.session.outcome import Outcome
from peerexam.protocols.session.progress import Progress
from peerexam.report.run.conclusion import Standings, has_standings
from peerexam.report.run.html import write_report
from peerexam.report.run.text import standings_text

Work = Callable[[Progress], Coroutine[Any, Any, Outcome]]


def run(arguments: argparse.Namespace) -> int:
    """Hold an exam, or go on with it."""
    config = config_from(arguments)
    offer_weights(agent.model for agent in config.agents)
    out = Path(arguments.out) if arguments.out else runner.default_folder(config)
    expected = _expected_calls(config)
    db = _ledger(arguments)
    pilot = _pilot(arguments)
    return _perform(
        arguments,
        lambda progress: runner.run_exam(
            config, out, db=db, progress=progress, replace=arguments.replace, pilot=pilot
        ),
        expected,
    )


def rejudge(arguments: argparse.Namespace) -> int:
    """Let other judges judge old answers."""
    judges = read_agents(arguments.judges)
    offer_weights(judge.model for judge in judges)
    folder, out, db = Path(arguments.folder), Path(arguments.out), _ledger(arguments)
    pilot = _pilot(arguments)
    return _perform(
        arguments,
        lambda progress: rerunning.rejudge(
            folder,
            judges,
            out,
            db=db,
            progress=progress,
            replaces=arguments.replace,
            pilot=pilot,
        ),
    )


def add(arguments: argparse.Namespace) -> int:
    """Let one more agent join a run."""
    agents = read_agents([arguments.agent], name=arguments.name)
    if len(agents) != 1:
        raise SetupError(f"{arguments.agent} holds {len(agents)} agents; add joins one at a time")
    offer_weights([agents[0].model])
    folder, db = Path(arguments.folder), _ledger(arguments)
    pilot = _pilot(arguments)
    return _perform(
        arguments,
        lambda progress: rerunning.add(folder, agents[0], db=db, progress=progress, pilot=pilot),
    )


def _pilot(arguments: argparse.Namespace) -> bool | None:
    """False where the pilot is left out; otherwise the config says."""
    return False if arguments.no_pilot else None


def _expected_calls(config: ExamConfig) -> int:
    """Calls that the progress can see; simulated participants make none."""
    played = {a.name for a in config.agents if a.model.startswith(f"{PLAYS_DIRECTLY}/")}
    asked = [line.calls.expected for line in plan(config).lines if line.agent not in played]
    return round(sum(asked))


def _ledger(arguments: argparse.Namespace) -> str | None:
    db: str | None = arguments.db or os.environ.get("PEEREXAM_DB") or None
    return db


def _perform(arguments: argparse.Namespace, work: Work, planned: int | None = None) -> int:
    if arguments.stall is not None and not arguments.stall > 0:
        raise SetupError("--stall is a number of seconds above 0")
    progress = Progress(planned, stall_warning=arguments.stall)
    with shown(progress, quiet=arguments.quiet):
        try:
            outcome = run_interruptibly(work(progress))
        except NoStandingsError as stop:
            if arguments.json:
                say_json({"status": "stopped", "no_standings": plain(str(stop)), "standings": None})
            raise
    report = write_report(outcome.folder, db=_ledger(arguments))
    if arguments.json:
        say_json(
            {
                "folder": str(outcome.folder),
                "status": outcome.status,
                "reason": outcome.reason,
                "no_standings": outcome.standings.get("no_standings"),
                "report": str(report),
                "standings": outcome.standings,
            }
        )
    else:
        say(standings_text(outcome.standings, columns()))
        _say_where(outcome, report)
    return exit_status(outcome.standings)


def exit_status(standings: Standings) -> int:
    """Of a run: without standings it is no success, unless the same command may yet bring some."""
    if standings.get("status") == "partial":
        return PARTIAL
    return COMPLETE if has_standings(standings) else NO_STANDINGS


def _say_where(outcome: Outcome, report: Path) -> None:
    say("")
    say(f"report: {report}")
    say(f"prompts and replies: peerexam show {shlex.quote(str(outcome.folder))}")
    if outcome.status == "partial":
        note(f"partial: {plain(outcome.reason or 'no reason given')}")
