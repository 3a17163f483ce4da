"""`profile`: a run and the studies of its agents, side by side."""

from __future__ import annotations

import argparse

from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.report.profile import AgentProfile

_HEADS = ("from", "measure", "value", "interval", "data", "why there is none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR", help="the run")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="folders of studies")


def perform(arguments: argparse.Namespace) -> int:
    """Write the profiles and the report that shows them."""
    from pathlib import Path

    from peerexam.cli.exam.folder import ledger_of
    from peerexam.protocols.studies.profile import write_profiles
    from peerexam.report.profile import profile_rows
    from peerexam.report.run.html import write_report

    folder = Path(arguments.folder)
    body = write_profiles(folder, [Path(study) for study in arguments.studies])
    written = write_report(folder, db=ledger_of(folder))
    if arguments.json:
        say_json({**body, "report": str(written)})
        return 0
    for one in profile_rows(body):
        say(_text(one))
    for text in body["notes"]:
        note(f"- {plain(text)}")
    say(f"report: {written}")
    return 0


def _text(one: AgentProfile) -> str:
    """An agent's lines as a table that fits the terminal."""
    rows = [
        (
            line.study,
            f"{line.title} {line.place}".rstrip(),
            line.value,
            line.interval,
            f"{line.n} {line.counts}".rstrip(),
            line.reason,
        )
        for line in one.lines
    ]
    shown = len(_HEADS) if any(line.reason for line in one.lines) else len(_HEADS) - 1
    cells = [tuple(map(plain, row[:shown])) for row in rows]
    return f"{plain(one.agent)}\n\n{grid(_HEADS[:shown], cells, width=columns(), keys=(0, 1))}\n"
