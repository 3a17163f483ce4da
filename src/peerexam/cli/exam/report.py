"""`report`: a run's standings, its report and tables."""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import LEDGER, disagreement_flag
from peerexam.cli.output import columns, say, say_json
from peerexam.errors import DamagedFileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.calls import Json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR")
    disagreement_flag(parser, None, "of an imported run: count it again by another rule for")
    parser.add_argument("--db", metavar="URL", help=f"{LEDGER} (default: in the run's folder)")


def perform(arguments: argparse.Namespace) -> int:
    """Print a run's standings, and write its report and tables."""
    from peerexam.cli.exam.folder import finished_run, report_ledger
    from peerexam.cli.exam.outcome import exit_status
    from peerexam.protocols.run.finishing import set_disagreement, tally_folder
    from peerexam.report.run.benchmarks_text import table_3_text, write_tables
    from peerexam.report.run.conclusion import has_standings
    from peerexam.report.run.html import write_report
    from peerexam.report.run.text import standings_text
    from peerexam.runfolder import RunFolder

    folder = RunFolder(finished_run(arguments.folder))
    if arguments.disagreement:
        set_disagreement(folder.path, arguments.disagreement)
    try:
        standings = folder.read_standings() if folder.standings_path.exists() else None
    except DamagedFileError:
        standings = None
    if standings is None:  # as in an imported run
        folder.write_standings(tally_folder(folder.path))
        standings = folder.read_standings()
    written = write_report(folder.path, db=report_ledger(folder.path, arguments.db))
    tables = write_tables(folder.path)
    if arguments.json:
        body: dict[str, Json] = {
            "report": str(written),
            "tables": [str(path) for path in tables],
            "no_standings": standings.get("no_standings"),
        }
        say_json({"folder": str(folder.path), **body, "standings": standings})
    else:
        texts = (text(standings, columns()) for text in (standings_text, table_3_text))
        for text in filter(None, texts):
            say(text)
            say("")
        say(f"report: {written}")
        say(f"tables: {', '.join(str(path) for path in tables)}")
    return 0 if has_standings(standings) else exit_status(standings)
