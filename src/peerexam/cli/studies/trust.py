"""`trust`: are judges and metrics to be trusted, by what people say?"""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.arguments import agents_flag, running_flags, seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peerexam.protocols.studies.trust.measures import Judgements
    from peerexam.records import Mark, Verdict
    from peerexam.runfolder import RunFolder
    from peerexam.stats.trust.row import TrustReport
    from peerexam.tasks.trust.labels import HumanLabels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument(
        "kind",
        metavar="KIND",
        help="the layout: annotations, llmbar, faireval, mt-bench, prd or prd-lfqa",
    )
    parser.add_argument("path", metavar="PATH", help="the human judgements")
    agents_flag(
        parser, "--judges", "models, or files with an agents: list, that judge the same answers"
    )
    parser.add_argument(
        "--metrics",
        default="rouge,bleu",
        metavar="LIST",
        help="of rouge, bleu, bertscore, embedding (default: rouge,bleu); none for none",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of intervals and draws")
    parser.add_argument("--out", metavar="DIR", help="also write table and judgements there")
    running_flags(parser, ledger="ledger.sqlite in DIR, or runs/trust/ledger.sqlite without --out")


def perform(arguments: argparse.Namespace) -> int:
    """Compare judges and metrics with human judgements."""
    from pathlib import Path

    from peerexam.cli.asking import folder_without_run
    from peerexam.protocols.studies.trust.measures import Judgements, assess
    from peerexam.report.trust import trust_json, trust_text
    from peerexam.tasks.metrics.text_metrics import check_metrics

    metrics = _metrics(arguments.metrics)
    labels = _labels(arguments.kind, Path(arguments.path))
    if labels.references:
        check_metrics(metrics)
    out = None if arguments.out is None else folder_without_run(arguments.out)
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
    from dataclasses import replace
    from functools import partial

    from peerexam.tasks.trust.annotations import read_annotations
    from peerexam.tasks.trust.llmbar import read_llmbar
    from peerexam.tasks.trust.prd_human import read_prd_human, read_prd_lfqa

    readers: dict[str, Callable[[Path], HumanLabels]] = {
        "annotations": read_annotations,
        "llmbar": read_llmbar,
        "faireval": partial(read_llmbar, only="FairEval"),
        "mt-bench": partial(read_llmbar, only="MT-Bench"),
        "prd": read_prd_human,
        "prd-lfqa": read_prd_lfqa,
    }
    if kind not in readers:
        raise SetupError(f"no layout '{kind}': choose from {', '.join(readers)}")
    return replace(readers[kind](path), kind=kind)


def _asked(
    arguments: argparse.Namespace, labels: HumanLabels, out: RunFolder | None
) -> Judgements | None:
    """What the judges say that are asked here; None where none are."""
    if not arguments.judges:
        return None
    from pathlib import Path

    from peerexam.cli.agent_files import read_agents
    from peerexam.cli.asking import ask
    from peerexam.protocols.studies.trust.study import (
        judge_labels,
        judgements_asked,
        judging_config,
    )
    from peerexam.runfolder import RunFolder

    config = judging_config(read_agents(arguments.judges), arguments.seed)
    taken = {verdict.judge for verdict in labels.verdicts}
    both = [agent.name for agent in config.agents if agent.name in taken]
    if both:
        raise SetupError(
            f"'{both[0]}' is the name of a judge whose verdicts are shipped: give the agent "
            "another name in a file with an agents: list"
        )
    folder = out or RunFolder(Path("runs/trust"))  # where the ledger is, unless --db says so
    return ask(
        arguments,
        lambda progress, db: judge_labels(config, labels, folder, db=db, progress=progress),
        judgements_asked(labels) * len(config.agents),
    )


def _write(
    out: RunFolder, report: TrustReport, labels: HumanLabels, asked: Judgements | None
) -> None:
    from peerexam.protocols.studies.trust.study import write_judgements
    from peerexam.report.trust import trust_csv, trust_json
    from peerexam.runfolder.folder import write_object

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
        f"{plain(failed[0].reason or 'no reason given')[:200]}; the same command retries them"
    )
    return PARTIAL
