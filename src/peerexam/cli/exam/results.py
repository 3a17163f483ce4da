"""`report`, `export` and `import`: what a run has left."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from peerexam.cli.output import columns, plain, say, say_json
from peerexam.errors import DamagedFileError, SetupError

if TYPE_CHECKING:
    from peerexam.calls import Json
    from peerexam.tasks.importers.imported import ImportSummary

_MOST_NAMES = 30
"""In one line; LLMBar has 65 judges, and an arena as many as it has visitors."""


def report(arguments: argparse.Namespace) -> int:
    """Print a run's standings, and write its report and tables."""
    from peerexam.cli.exam.running import exit_status
    from peerexam.cli.exam.show import report_ledger
    from peerexam.protocols.run.finishing import set_disagreement, tally_folder
    from peerexam.report.run.benchmarks_text import table_3_text, write_tables
    from peerexam.report.run.conclusion import has_standings
    from peerexam.report.run.html import write_report
    from peerexam.report.run.text import standings_text
    from peerexam.runfolder import RunFolder

    folder = RunFolder(_existing(arguments.folder))
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


def export(arguments: argparse.Namespace) -> int:
    """Write a run as a data set, or in another tool's layout."""
    folder = _existing(arguments.folder)
    _check_sealed(folder)
    if arguments.to != "dataset":
        from peerexam.cli.exam.exporting import export_to

        return export_to(folder, arguments)
    from peerexam.report.export.dataset import export_dataset

    out = Path(arguments.out) if arguments.out else folder / "dataset"
    written = export_dataset(folder, out, parquet=not arguments.no_parquet)
    files = sorted(str(p.relative_to(written)) for p in written.rglob("*") if p.is_file())
    if arguments.json:
        say_json({"folder": str(written), "files": files})
    else:
        say(f"{written}: {', '.join(files)}")
    return 0


def _check_sealed(folder: Path) -> None:
    """Refuse to export questions that are not those the answers were given to."""
    from peerexam.runfolder import RunFolder
    from peerexam.tasks.questions.sealed import seals_of

    questions = RunFolder(folder).records_path("questions")
    found, sealed = seals_of(questions)
    if sealed is not None and found != sealed:
        raise SetupError(
            f"{questions} was changed after the run: its hash is {found}, and manifest.json says "
            f"{sealed}. Restore it (peerexam run {folder / 'exam.yaml'} --out {folder} writes it "
            "again from the ledger), or ask the changed questions in a run of their own: "
            f"questions.file={questions}, copied to a folder without manifest.json"
        )


def import_results(arguments: argparse.Namespace) -> int:
    """Make a run's folder from another tool's results, or list the kinds that can be read."""
    if arguments.kind == "kinds":
        return _list_kinds(arguments)
    if not arguments.out:
        raise SetupError("import needs --out DIR: the folder to make")
    from peerexam.tasks.importers.importing import import_run

    summary = import_run(
        arguments.kind, Path(arguments.path), Path(arguments.out), arguments.disagreement
    )
    if arguments.json:
        body = {"kind": summary.kind, "folder": str(summary.out), "agents": list(summary.agents)}
        lines = {"left_out": list(summary.left_out), "notes": list(summary.notes)}
        say_json({**body, **lines, "counts": dict(summary.counts)})
        return 0
    counts = ", ".join(f"{count} {kind}" for kind, count in summary.counts.items() if count)
    say(f"{summary.out}: {counts}{_who_played(summary)}")
    for line in summary.notes:
        say(f"note: {plain(line)}")
    for line in summary.left_out:
        say(f"left out: {plain(line)}")
    say(f"next: {_next_step(summary)}")
    return 0


def _who_played(summary: ImportSummary) -> str:
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


def _existing(text: str) -> Path:
    from peerexam.runfolder import RunFolder

    folder = Path(text)
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder; name the one that a run left")
    held = RunFolder(folder)
    if held.config_path.exists() and not held.manifest_path.exists():
        raise SetupError(
            f"{folder} holds an exam that has not come to its end; `peerexam run` with the same "
            "config and folder goes on with it (or `rejudge`, where that began it)"
        )
    manifest = held.read_manifest() if held.manifest_path.exists() else {}
    if manifest.get("kind") == "dataset" and "questions_hash" not in manifest:
        raise SetupError(
            f"{folder} holds a data set that has not come to its end; `peerexam generate` with the "
            "same config and folder goes on with it"
        )
    if manifest.get("kind") == "dataset":
        raise SetupError(
            f"{folder} holds a data set, not a run: examine it with `peerexam run EXAM.yaml --set "
            f"questions.file={folder}`"
        )
    return folder
