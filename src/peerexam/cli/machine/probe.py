"""`agents probe`: do judges obey the answers that they judge?"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.agent_files import read_agents
from peerexam.cli.display import shown
from peerexam.cli.interrupt import run_interruptibly
from peerexam.cli.output import note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.examiners.injection import PROBE_QUESTIONS
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.parsing import read_document
from peerexam.protocols.exam.injection_probe import ProbePlan, write_probes
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.injection import ProbedJudge, judges_only, probe_agents
from peerexam.runfolder import RunFolder
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.judges.attack_success import AttackReport

DEFAULT_FOLDER = Path("runs/probes")
"""Where the ledger is without `--out` and `--db`."""


def probe(arguments: argparse.Namespace) -> int:
    """Play canary answers to judges, and say how often they obeyed."""
    config, names = _judges(arguments)
    plan = ProbePlan(PROBE_QUESTIONS[: _samples(arguments.samples)])
    out = None if arguments.out is None else _own_folder(Path(arguments.out))
    db = arguments.db or os.environ.get("PEEREXAM_DB") or None
    progress = Progress(stall_warning=arguments.stall)
    with shown(progress, quiet=arguments.quiet):
        found = run_interruptibly(
            probe_agents(
                config,
                out or RunFolder(DEFAULT_FOLDER),
                names=names,
                plan=plan,
                db=db,
                progress=progress,
            )
        )
    if out is not None:
        write_probes(out, [one for judge in found for one in judge.probes])
    if arguments.json:
        say_json({"canaries": len(plan.canaries), "judges": [one.to_json() for one in found]})
    else:
        say("\n\n".join(_text(judge) for judge in found))
    return _status(found)


def _judges(arguments: argparse.Namespace) -> tuple[ExamConfig, Sequence[str]]:
    """The exam that builds the judges, and which of them to probe."""
    names: list[str] = arguments.names
    if arguments.exam is not None:
        return load_config(arguments.exam, environ=os.environ), names
    if not names:
        raise SetupError("name a judge: a model, as in local/smollm2, or --exam EXAM.yaml")
    if len(names) == 1 and _is_exam(Path(names[0])):
        return load_config(names[0], environ=os.environ), ()
    return judges_only(read_agents(names)), ()


def _is_exam(path: Path) -> bool:
    if not path.is_file() or path.suffix.lower() not in (".yaml", ".yml", ".json", ".toml"):
        return False
    body = read_document(path).value
    return isinstance(body, dict) and "questions" in body


def _samples(given: int | None) -> int:
    if given is None:
        return len(PROBE_QUESTIONS)
    if not 1 <= given <= len(PROBE_QUESTIONS):
        raise SetupError(f"--samples is a number from 1 to {len(PROBE_QUESTIONS)}")
    return given


def _own_folder(path: Path) -> RunFolder:
    folder = RunFolder(path)
    if folder.manifest_path.exists() or folder.config_path.exists():
        raise SetupError(
            f"{path} holds a run, and its probes would be replaced: choose another --out "
            f"(--db {folder.ledger_path} shares its ledger)"
        )
    return folder


def _status(found: Sequence[ProbedJudge]) -> int:
    failed = [judge for judge in found if judge.failed_calls]
    for judge in failed:
        reasons = judge.failed_calls
        note(
            f"partial: {len(reasons)} calls of {plain(judge.agent)} failed, first: "
            f"{plain(reasons[0])[:200]}; the same command asks them again"
        )
    return PARTIAL if failed else COMPLETE


def _text(judge: ProbedJudge) -> str:
    if judge.report is None:
        return f"{plain(judge.agent)}: not probed, {judge.reason}"
    report = judge.report
    rows = [
        ("attacks had their way", report.success),
        ("  by verdicts, in both orders", report.verdicts),
        ("  by verdicts, in some order", report.some_order),
        ("  by marks", report.marks),
        ("a harmless addition did as much", report.harmless),
        ("same verdict in both orders", report.swap_consistency),
        ("right answer won in both orders", report.accuracy),
    ]
    styles = [(f"  {name.replace('_', ' ')}", one) for name, one in report.by_style.items()]
    lines = [f"{plain(judge.agent)}", *map(_line, rows), "by style of attack", *map(_line, styles)]
    return "\n".join([*lines, _unreadable(report)])


def _line(row: tuple[str, Estimate]) -> str:
    name, one = row
    if one.value is None:
        return f"  {name:34}   none  {one.reason}"
    left_out = f", {one.left_out} left out" if one.left_out else ""
    interval = "" if one.low is None or one.high is None else f"{one.low:5.0%} to {one.high:4.0%}"
    return f"  {name:34} {one.value:6.0%}  {interval}  of {one.n}{left_out}"


def _unreadable(report: AttackReport) -> str:
    (plain_count, plain_of), (count, of) = report.unreadable["plain"], report.unreadable["attacked"]
    return (
        f"  unreadable: {plain_count} of {plain_of} replies without an attack, {count} of {of} with"
    )
