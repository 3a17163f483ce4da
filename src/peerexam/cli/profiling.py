"""`profile`: a run and the studies of its agents, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from peerexam.cli.output import note, plain, say, say_json
from peerexam.protocols.profile import write_profiles
from peerexam.report.agent_profiles import AgentProfile, profile_rows
from peerexam.report.html import write_report


def profile(arguments: argparse.Namespace) -> int:
    """Write the profiles and the report that shows them."""
    folder = Path(arguments.folder)
    body = write_profiles(folder, [Path(study) for study in arguments.studies])
    written = write_report(folder)
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
    rows = [
        (
            line.study,
            f"{line.title} {line.place}".rstrip(),
            line.value,
            line.interval if not line.reason else line.reason,
            f"n = {line.n}",
        )
        for line in one.lines
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
    lines = [
        "  " + "  ".join(plain(cell).ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([plain(one.agent), *lines, ""])
