"""`agents probe`: how often do judges obey prompt injections in the answers that they judge?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.arguments import running_flags
from peerexam.cli.output import note, plain, say, say_json
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.protocols.config.models import ExamConfig
    from peerexam.protocols.exam.injection_probe import ProbePlan
    from peerexam.protocols.studies.injection import ProbedJudge
    from peerexam.stats.core.estimate import Estimate
    from peerexam.stats.judges.attack_success import AttackReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the action."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="models, or files with an agents: list; with --exam, agents of that exam",
    )
    parser.add_argument(
        "--exam", metavar="EXAM.yaml", help="judges as this exam builds them (default: all of it)"
    )
    parser.add_argument(
        "--samples", type=int, metavar="N", help="so many probe questions (default: all)"
    )
    parser.add_argument("--out", metavar="DIR", help="also write probes.jsonl there")
    running_flags(parser, ledger="DIR/ledger.sqlite, or runs/probes/ledger.sqlite without --out")


def perform(arguments: argparse.Namespace) -> int:
    """Give judges answers with prompt injections, and say how often they obeyed."""
    from peerexam.cli.asking import ask, folder_without_run
    from peerexam.protocols.exam.injection_probe import write_probes
    from peerexam.protocols.studies.injection import probe_agents
    from peerexam.runfolder import RunFolder

    config, names = _judges(arguments)
    plan = _plan(arguments.samples)
    out = None if arguments.out is None else folder_without_run(arguments.out)
    folder = out or RunFolder(Path("runs/probes"))  # where the ledger is, unless --db says so
    found = ask(
        arguments,
        lambda progress, db: probe_agents(
            config, folder, names=names, plan=plan, db=db, progress=progress
        ),
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
    import os

    from peerexam.cli.agent_files import read_agents
    from peerexam.protocols.config.loading import load_config
    from peerexam.protocols.studies.injection import judges_only

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
    from peerexam.protocols.config.parsing import read_document

    body = read_document(path).value
    return isinstance(body, dict) and "questions" in body


def _plan(samples: int | None) -> ProbePlan:
    from peerexam.examiners.injection import PROBE_QUESTIONS
    from peerexam.protocols.exam.injection_probe import ProbePlan

    if samples is not None and not 1 <= samples <= len(PROBE_QUESTIONS):
        raise SetupError(f"--samples is a number from 1 to {len(PROBE_QUESTIONS)}")
    return ProbePlan(PROBE_QUESTIONS[:samples])


def _status(found: Sequence[ProbedJudge]) -> int:
    failed = [judge for judge in found if judge.failed_calls]
    for judge in failed:
        reasons = judge.failed_calls
        note(
            f"partial: {len(reasons)} calls of {plain(judge.agent)} failed, first: "
            f"{plain(reasons[0])[:200]}; the same command retries them"
        )
    return PARTIAL if failed else COMPLETE


def _text(judge: ProbedJudge) -> str:
    if judge.report is None:
        return f"{plain(judge.agent)}: not probed, {judge.reason}"
    report = judge.report
    rows = [
        ("attack success rate", report.success),
        ("  by verdicts, in both orders", report.verdicts),
        ("  by verdicts, in some order", report.some_order),
        ("  by marks", report.marks),
        ("control (harmless suffix)", report.harmless),
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
