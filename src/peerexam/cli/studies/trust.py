"""`trust`: are judges and metrics to be trusted, by what people say?"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.agent_files import read_agents
from peerexam.cli.display import shown
from peerexam.cli.interrupt import run_interruptibly
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.trust.measures import Judgements, assess
from peerexam.protocols.studies.trust.study import (
    judge_labels,
    judgements_asked,
    judging_config,
    write_judgements,
)
from peerexam.records import Mark, Verdict
from peerexam.report.trust import trust_csv, trust_json, trust_text
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_object
from peerexam.stats.trust.row import TrustReport
from peerexam.tasks.metrics.text_metrics import check_metrics
from peerexam.tasks.trust.annotations import read_annotations
from peerexam.tasks.trust.labels import HumanLabels
from peerexam.tasks.trust.llmbar import read_llmbar
from peerexam.tasks.trust.prd_human import read_prd_human, read_prd_lfqa

DEFAULT_FOLDER = Path("runs/trust")
"""Where the ledger is without `--out` and `--db`."""

READERS: Mapping[str, Callable[[Path], HumanLabels]] = {
    "annotations": read_annotations,
    "llmbar": read_llmbar,
    "faireval": partial(read_llmbar, only="FairEval"),
    "mt-bench": partial(read_llmbar, only="MT-Bench"),
    "prd": read_prd_human,
    "prd-lfqa": read_prd_lfqa,
}
"""KIND to what reads it."""


def trust(arguments: argparse.Namespace) -> int:
    """Hold judges and metrics against human judgements."""
    if arguments.stall is not None and not arguments.stall > 0:
        raise SetupError("--stall is a number of seconds above 0")
    metrics = _metrics(arguments.metrics)
    labels = _labels(arguments.kind, Path(arguments.path))
    if labels.references:
        check_metrics(metrics)
    out = None if arguments.out is None else _own_folder(Path(arguments.out))
    judgements = [Judgements(verdicts=labels.verdicts, source="shipped")] if labels.verdicts else []
    asked = _asked(arguments, labels, out)
    if asked is not None:
        judgements.append(asked)
    wanted = metrics if arguments.kind == "annotations" else ()
    report = assess(labels, judgements, wanted, seed=arguments.seed)
    if out is not None:
        _write(out, report, labels, asked)
    if arguments.json:
        say_json(trust_json(report))
    else:
        say(trust_text(report, columns()))
    return _status(asked)


def _metrics(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return () if names == ("none",) else names


def _labels(kind: str, path: Path) -> HumanLabels:
    if kind not in READERS:
        raise SetupError(f"no layout '{kind}': choose from {', '.join(READERS)}")
    return replace(READERS[kind](path), kind=kind)


def _asked(
    arguments: argparse.Namespace, labels: HumanLabels, out: RunFolder | None
) -> Judgements | None:
    """What the judges say that are asked here; None where none are."""
    if not arguments.judges:
        return None
    config = judging_config(read_agents(arguments.judges), arguments.seed)
    taken = {verdict.judge for verdict in labels.verdicts}
    both = [agent.name for agent in config.agents if agent.name in taken]
    if both:
        raise SetupError(
            f"'{both[0]}' is the name of a judge whose verdicts are shipped: give the agent "
            "another name in a file with an agents: list"
        )
    progress = Progress(
        judgements_asked(labels) * len(config.agents), stall_warning=arguments.stall
    )
    db = arguments.db or os.environ.get("PEEREXAM_DB") or None
    with shown(progress, quiet=arguments.quiet):
        return run_interruptibly(
            judge_labels(config, labels, out or RunFolder(DEFAULT_FOLDER), db=db, progress=progress)
        )


def _own_folder(path: Path) -> RunFolder:
    folder = RunFolder(path)
    if folder.manifest_path.exists() or folder.config_path.exists():
        raise SetupError(f"{path} holds a run, which would be gone over: choose another --out")
    return folder


def _write(
    out: RunFolder, report: TrustReport, labels: HumanLabels, asked: Judgements | None
) -> None:
    out.create()
    write_object(out.path / "trust.json", trust_json(report))
    (out.path / "trust.csv").write_text(trust_csv(report), encoding="utf-8", newline="")
    if asked is not None:
        write_judgements(out, labels, asked)


def _status(asked: Judgements | None) -> int:
    records: list[Mark | Verdict] = [] if asked is None else [*asked.marks, *asked.verdicts]
    failed = [one for one in records if one.state == "error"]
    if not failed:
        return COMPLETE
    note(
        f"partial: {len(failed)} of {len(records)} judgements failed, first: "
        f"{plain(failed[0].reason or 'no reason given')[:200]}; the same command asks them again"
    )
    return PARTIAL
