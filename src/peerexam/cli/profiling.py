"""`profile`: a run and the studies of its agents, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from peerexam.cli.output import note, plain, say, say_json
from peerexam.cli.showing import ledger_of
from peerexam.protocols.profile import write_profiles
from peerexam.report.agent_profiles import AgentProfile, profile_rows
from peerexam.report.html import write_report


def profile(arguments: argparse.Namespace) -> int:
    """Write the profiles and the report that shows them."""
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
    """Lines in columns; why there is no value stands behind them, so that it widens none."""
    rows = [
        (
            line.study,
            f"{line.title} {line.place}".rstrip(),
            line.value,
            line.interval,
            f"n = {line.n}",
        )
        for line in one.lines
    ]
    cells = [tuple(map(plain, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([*map(str.ljust, row, widths), plain(line.reason)]).rstrip()
        for row, line in zip(cells, one.lines, strict=True)
    ]
    return "\n".join([plain(one.agent), *(f"  {line}" for line in lines), ""])
