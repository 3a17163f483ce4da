"""`import`: another tool's files as a run's folder."""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import disagreement_flag
from peerexam.cli.output import plain, say, say_json
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.tasks.importers.imported import ImportSummary

_MOST_NAMES = 30
"""In one line; LLMBar has 65 judges, and an arena as many as it has visitors."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    from peerexam.tasks.importers.kinds import kinds_text

    parser.add_argument("kind", metavar="KIND", help="the layout; `import kinds` lists them")
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the data")
    parser.add_argument("--out", metavar="DIR", help="the new folder")
    disagreement_flag(parser, "tie", "the rule for")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"kinds:\n{kinds_text()}"


def perform(arguments: argparse.Namespace) -> int:
    """Make a run's folder from another tool's results, or list the kinds that can be read."""
    from pathlib import Path

    from peerexam.tasks.importers.importing import import_run

    if arguments.kind == "kinds":
        return _list_kinds(arguments)
    if not arguments.out:
        raise SetupError("import needs --out DIR: the folder to make")
    summary = import_run(
        arguments.kind, Path(arguments.path), Path(arguments.out), arguments.disagreement
    )
    if arguments.json:
        body = {"kind": summary.kind, "folder": str(summary.out), "agents": list(summary.agents)}
        lines = {"left_out": list(summary.left_out), "notes": list(summary.notes)}
        say_json({**body, **lines, "counts": dict(summary.counts)})
        return 0
    counts = ", ".join(f"{count} {kind}" for kind, count in summary.counts.items() if count)
    say(f"{summary.out}: {counts}{_who(summary)}")
    for line in summary.notes:
        say(f"note: {plain(line)}")
    for line in summary.left_out:
        say(f"left out: {plain(line)}")
    say(f"next: {_next_step(summary)}")
    return 0


def _who(summary: ImportSummary) -> str:
    """The agents: a few by name, many by number."""
    if len(summary.agents) > _MOST_NAMES:
        roles = ", ".join(f"{number:,} {role}s" for role, number in summary.played.items())
        return f"; {len(summary.agents):,} agents ({roles})"
    agents = ", ".join(plain(name) for name in summary.agents)
    return f"; agents {agents}" if agents else ""


def _list_kinds(arguments: argparse.Namespace) -> int:
    from peerexam.tasks.importers.kinds import KINDS, kinds_text

    if arguments.json:
        say_json({kind: about for kind, (_, about) in KINDS.items()})
    else:
        say(kinds_text())
    return 0


def _next_step(summary: ImportSummary) -> str:
    """The command that goes on with what was imported."""
    if summary.counts["verdicts"] or summary.counts["marks"]:
        return f"peerexam report {summary.out}"
    if summary.counts["answers"]:
        return f"peerexam rejudge {summary.out} --judges MODEL … --out DIR"
    return f"questions: {{file: {summary.out / 'questions.jsonl'}}} in an EXAM.yaml"
