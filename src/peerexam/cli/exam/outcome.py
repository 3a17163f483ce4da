"""What `run`, `rejudge` and `add` end with: standings, where the report is, the exit status."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from peerexam.cli import COMPLETE, NO_STANDINGS, PARTIAL
from peerexam.cli.asking import Work, ask, ledger_in
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import NoStandingsError
from peerexam.protocols.session.outcome import Outcome
from peerexam.report.run.conclusion import Standings, has_standings
from peerexam.report.run.html import write_report
from peerexam.report.run.text import standings_text


def ask_and_report(
    arguments: argparse.Namespace, work: Work[Outcome], expected: int | None = None
) -> int:
    """Ask, print the standings and write the report; as `ask`."""
    try:
        outcome = ask(arguments, work, expected)
    except NoStandingsError as stop:
        if arguments.json:
            say_json({"status": "stopped", "no_standings": plain(str(stop)), "standings": None})
        raise
    report = write_report(outcome.folder, db=ledger_in(arguments))
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


def with_pilot(arguments: argparse.Namespace) -> bool | None:
    """False where the pilot is left out; otherwise the config says."""
    return False if arguments.no_pilot else None


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
