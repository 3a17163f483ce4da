"""What may be written on the command line of the commands that make and study data sets."""

from __future__ import annotations

from peerexam.cli.numbers import seed

TYPE_CHECKING = False  # importing `typing` would take a fifth of the time of `--help`
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
    AddCommand: TypeAlias = Callable[..., argparse.ArgumentParser]
    AddFlags: TypeAlias = Callable[..., Any]


def add_study_commands(
    commands: Commands, command: AddCommand, config_flags: AddFlags, running_flags: AddFlags
) -> None:
    """Add them all.

    Args:
        commands: Where to.
        command: Adds one command with the flags that every command has.
        config_flags: Adds those of a command that reads an EXAM.yaml.
        running_flags: Adds those of a command that asks models.
    """
    _domains(commands, command)
    _generate(commands, command, config_flags, running_flags)
    _trust(commands, command, running_flags)
    _bias(commands, command, running_flags)
    _leakage(commands, command)


def _domains(commands: Commands, command: AddCommand) -> None:
    domains = command(commands, "domains", "list a taxonomy's domains, or sample some of them")
    domains.add_argument(
        "taxonomy",
        nargs="?",
        default="google-trends",
        metavar="TAXONOMY",
        help="google-trends (the default), or a file: YAML, JSON, CSV or one domain a line",
    )
    domains.add_argument("--sample", type=int, metavar="N", help="draw so many")
    domains.add_argument("--seed", type=seed, default=0, help="of the draw")
    domains.add_argument(
        "--stratified", action="store_true", help="draw in every first-level domain alike"
    )


def _generate(
    commands: Commands, command: AddCommand, config_flags: AddFlags, running_flags: AddFlags
) -> None:
    generate = command(commands, "generate", "let examiners set a data set of questions")
    config_flags(generate)
    running_flags(generate, ledger="ledger.sqlite in the data set's folder")
    generate.add_argument("--out", metavar="DIR", help="the data set (default: datasets/NAME)")
    generate.add_argument("--plan", action="store_true", help="say what it will cost, and stop")
    generate.add_argument(
        "--replace", action="store_true", help="replace questions of another set-up in that folder"
    )
    generate.add_argument("--no-parquet", action="store_true", help="JSONL only")
    generate.add_argument(
        "--push", metavar="OWNER/NAME", help="also upload it to the Hugging Face hub"
    )
    generate.add_argument("--public", action="store_true", help="with --push: visible to everyone")


def _trust(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    trust = command(commands, "trust", "compare judges and metrics with human judgements")
    trust.add_argument(
        "kind",
        metavar="KIND",
        help="the layout: annotations, llmbar, faireval, mt-bench, prd or prd-lfqa",
    )
    trust.add_argument("path", metavar="PATH", help="the human judgements")
    trust.add_argument(
        "--judges",
        nargs="+",
        default=[],
        metavar="FILE_OR_MODEL",
        help="models, or files with an agents: list, that judge the same answers",
    )
    trust.add_argument(
        "--metrics",
        default="rouge,bleu",
        metavar="LIST",
        help="of rouge, bleu, bertscore, embedding (default: rouge,bleu); none for none",
    )
    trust.add_argument("--seed", type=seed, default=0, help="of intervals and draws")
    trust.add_argument("--out", metavar="DIR", help="also leave the table and the judgements there")
    running_flags(trust, ledger="ledger.sqlite in DIR, or runs/trust/ledger.sqlite without --out")


def _bias(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    bias = command(commands, "bias", "look for bias in questions, and in judging by style")
    actions = bias.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "map questions by author and domain, and say how distinguishable authors are"
    questions = actions.add_parser("questions", help=about, description=about.capitalize() + ".")
    questions.add_argument("folder", metavar="DIR", help="a run, or a data set")
    questions.add_argument(
        "--encoder", default="minilm", metavar="NAME", help="sentence encoder (default: minilm)"
    )
    questions.add_argument(
        "--beside",
        nargs="+",
        default=[],
        metavar="PATH",
        help="other runs, data sets or files of questions, to be shown and measured beside",
    )
    questions.add_argument(
        "--out",
        metavar="FILE",
        help="the page (default: DIR/question-map.html); its points go to a .json beside it",
    )
    about = "rewrite answers without changing what they say, and see whom the judges prefer"
    style = actions.add_parser("style", help=about, description=about.capitalize() + ".")
    style.add_argument("folder", metavar="DIR", help="a run with answers")
    style.add_argument("--of", metavar="EXAMINEE", help="whose answers (default: everybody's)")
    style.add_argument(
        "--agents", required=True, metavar="FILE", help="a file with an agents: list"
    )
    style.add_argument("--rewriter", required=True, metavar="NAME", help="who rewrites")
    style.add_argument("--checker", metavar="NAME", help="who checks that the content was kept")
    style.add_argument("--judges", nargs="+", metavar="NAME", help="who compares (default: all)")
    style.add_argument("--samples", type=int, default=100, metavar="N", help="so many answers")
    style.add_argument("--out", required=True, metavar="DIR", help="where records and table go")
    running_flags(style, ledger="ledger.sqlite in DIR")
    for action in (questions, style):
        action.add_argument("--seed", type=seed, default=0, help="of draws and intervals")
        import argparse

        for flag in ("--debug", "--json"):
            action.add_argument(
                flag, action="store_true", default=argparse.SUPPRESS, help="as for every command"
            )


def _leakage(commands: Commands, command: AddCommand) -> None:
    leakage = command(commands, "leakage", "look for a data set's questions in text corpora")
    leakage.add_argument("folder", metavar="DIR", help="a run, or a data set")
    leakage.add_argument(
        "--corpus",
        nargs="+",
        required=True,
        metavar="PATH",
        help="JSONL, text or Parquet files, or folders of them",
    )
    leakage.add_argument("--column", metavar="NAME", help="which field of a corpus holds the text")
    leakage.add_argument("--hits", type=int, default=10, metavar="K", help="retrieved a question")
    leakage.add_argument("--seed", type=seed, default=0, help="of intervals")
    leakage.add_argument(
        "--out", metavar="DIR", help="also leave leakage.json and leakage.csv there"
    )
