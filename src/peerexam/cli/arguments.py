"""What may be written on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from peerexam.cli.numbers import seed

TYPE_CHECKING = False  # importing `typing` would take a fifth of the time of `--help`
if TYPE_CHECKING:
    from typing import TypeAlias

    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EPILOG = """\
start here:
  peerexam init              write a commented EXAM.yaml
  peerexam plan EXAM.yaml    calls, tokens and cost, before anything is asked
  peerexam run EXAM.yaml     run the exam; the same command resumes

Flags beat the environment (PEEREXAM_SEED, PEEREXAM_OUTPUT, PEEREXAM_DB,
PEEREXAM_SET__limits__concurrency=8), and the environment beats the file.
Keys are read from the environment and from .env in the working directory.
Exit status: 0 complete, 1 error, 2 bad usage or config, 3 partial, 4 nothing can
be concluded (no standings), 130 stopped.
"""


_LEDGER = "the ledger: a file or postgresql://…"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; argparse itself says what is wrong, and exits with 2."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        parser.exit(2)
    return arguments


def build_parser() -> argparse.ArgumentParser:
    """The parser, with every command."""
    parser = argparse.ArgumentParser(
        prog="peerexam",
        description="Language models examine each other.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_exam_commands, _folder_commands, _study_commands, _machine_commands):
        add(commands)
    return parser


class _Version(argparse.Action):
    """Reads the version only when it is asked for: package metadata is slow to open."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"peerexam {version('peerexam')}\n")
        parser.exit()


def _command(commands: Commands, name: str, help: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _config_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exam", metavar="EXAM.yaml", help="the config (YAML, JSON or TOML)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY.PATH=VALUE",
        help="set anything in the config, as in agents.smol.temperature=0.5; may be repeated",
    )
    parser.add_argument("--seed", type=seed, help="same as --set seed=N")
    parser.add_argument(
        "--budget-usd", type=float, metavar="USD", help="same as --set limits.budget.usd=USD"
    )


def _running_flags(parser: argparse.ArgumentParser, ledger: str = "in the run's folder") -> None:
    parser.add_argument("--db", metavar="URL", help=f"{_LEDGER} (default: {ledger})")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument(
        "--stall",
        type=float,
        metavar="SECONDS",
        help="warn when no call ends for so long (default: the exam's limits.stall_warning)",
    )


def _pilot_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-pilot",
        action="store_true",
        help="ask everything, even where a first question shows that no standings could follow",
    )


def _exam_commands(commands: Commands) -> None:
    init = _command(commands, "init", "write a commented EXAM.yaml to start from")
    init.add_argument("path", nargs="?", default="EXAM.yaml", metavar="PATH")
    run = _command(commands, "run", "hold an exam, or go on with one")
    _config_flags(run)
    _running_flags(run)
    _pilot_flag(run)
    run.add_argument("--out", metavar="DIR", help="the run's folder (default: runs/NAME)")
    run.add_argument(
        "--replace", action="store_true", help="replace results of another set-up in that folder"
    )
    plan = _command(commands, "plan", "say what an exam will ask and cost, asking nothing")
    _config_flags(plan)
    validate = _command(commands, "validate", "check a config, asking nothing")
    _config_flags(validate)


def _disagreement_flag(parser: argparse.ArgumentParser, default: str | None, about: str) -> None:
    parser.add_argument(
        "--disagreement",
        choices=("tie", "average", "abstain"),
        default=default,
        help=f"{about} two orders that disagree"
        + ("" if default is None else f" (default: {default})"),
    )


def _folder_commands(commands: Commands) -> None:
    from peerexam.tasks.importers.kinds import kinds_text

    report = _command(commands, "report", "print a run's standings and write its report.html")
    report.add_argument("folder", metavar="DIR")
    _disagreement_flag(report, None, "of an imported run: count it again by another rule for")
    report.add_argument("--db", metavar="URL", help=f"{_LEDGER} (default: in the run's folder)")
    show = _command(commands, "show", "print the prompt and raw reply behind a record of a run")
    show.add_argument("folder", metavar="DIR", help="of a run or a study")
    show.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="QUESTION, QUESTION/EXAMINEE, QUESTION/EXAMINEE/JUDGE, QUESTION/FIRST/SECOND/JUDGE, "
        "FILE:LINE, or the first digits of a call (default: list what there is)",
    )
    show.add_argument("--db", metavar="URL", help=f"{_LEDGER} (default: in the folder)")
    export = _command(commands, "export", "write a run as a data set, or for another tool")
    export.add_argument("folder", metavar="DIR")
    export.add_argument("--out", metavar="DIR", help="where to (default: DIR/dataset)")
    export.add_argument("--no-parquet", action="store_true", help="JSONL only")
    export.add_argument(
        "--to",
        default="dataset",
        metavar="LAYOUT",
        help="dataset (the default), arena-rank, evalica or fastchat",
    )
    rejudge = _command(commands, "rejudge", "let other judges judge a run's answers")
    rejudge.add_argument("folder", metavar="DIR")
    rejudge.add_argument(
        "--judges",
        nargs="+",
        required=True,
        metavar="FILE_OR_MODEL",
        help="models, or files with an agents: list",
    )
    rejudge.add_argument("--out", required=True, metavar="DIR", help="the new run's folder")
    rejudge.add_argument(
        "--replace", action="store_true", help="replace other judges' results in that folder"
    )
    _running_flags(rejudge)
    _pilot_flag(rejudge)
    add = _command(commands, "add", "add an agent to a run; only what is missing is asked")
    add.add_argument("folder", metavar="DIR")
    add.add_argument("agent", metavar="AGENT", help="a model, or a file with an agents: list")
    add.add_argument("--name", help="who it is in the exam (default: from the model)")
    _running_flags(add)
    _pilot_flag(add)
    importing = _command(commands, "import", "make a run's folder from another tool's files")
    importing.add_argument("kind", metavar="KIND", help="the layout; `import kinds` lists them")
    importing.add_argument("path", nargs="?", default=".", metavar="PATH", help="the data")
    importing.add_argument("--out", metavar="DIR", help="the new folder")
    _disagreement_flag(importing, "tie", "the rule for")
    importing.formatter_class = argparse.RawDescriptionHelpFormatter
    importing.epilog = f"kinds:\n{kinds_text()}"


def _probe_command(agents: argparse.ArgumentParser) -> None:
    actions = agents.add_subparsers(dest="action", metavar="probe")
    about = "probe judges with prompt injections, and say how often they obey"
    probe = actions.add_parser("probe", help=about, description=about[0].upper() + about[1:] + ".")
    # The command before it may have been given these two already.
    for flag in ("--debug", "--json"):
        probe.add_argument(
            flag, action="store_true", default=argparse.SUPPRESS, help="as for every command"
        )
    probe.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="models, or files with an agents: list; with --exam, agents of that exam",
    )
    probe.add_argument(
        "--exam", metavar="EXAM.yaml", help="judges as this exam builds them (default: all of it)"
    )
    probe.add_argument(
        "--samples", type=int, metavar="N", help="so many canary questions (default: all)"
    )
    probe.add_argument("--out", metavar="DIR", help="also write probes.jsonl there")
    _running_flags(probe, ledger="DIR/ledger.sqlite, or runs/probes/ledger.sqlite without --out")


def _study_commands(commands: Commands) -> None:
    from peerexam.cli.self_arguments import add_self_commands
    from peerexam.cli.study_arguments import add_study_commands

    add_study_commands(commands, _command, _config_flags, _running_flags)
    add_self_commands(commands, _command, _running_flags)


def _machine_commands(commands: Commands) -> None:
    agents = _command(commands, "agents", "say which agents can be had here")
    live = agents.add_mutually_exclusive_group()
    live.add_argument("--check", metavar="MODEL", help="ask one model one short question")
    live.add_argument("--live", metavar="EXAM.yaml", help="ask every agent of an exam")
    _probe_command(agents)
    selftest = _command(commands, "selftest", "recover the known biases of simulated participants")
    selftest.add_argument("--seed", type=seed, default=0)
    salvage = _command(
        commands, "salvage", "save what can be read of a damaged ledger into a new one"
    )
    salvage.add_argument("torn", metavar="FILE", help="the ledger that cannot be read whole")
    salvage.add_argument("saved", metavar="NEW", help="the new ledger, to go on with by --db NEW")
    weights = _command(commands, "weights", "say what weights are, and fetch them on request")
    weights.add_argument("name", nargs="?", metavar="NAME", help="as in smollm2 (default: all)")
    weights.add_argument("--fetch", action="store_true", help="fetch them; the licence comes first")
    serve = _command(commands, "serve", "serve a local model as an OpenAI-compatible endpoint")
    serve.add_argument("model", metavar="MODEL", help="as in local/smollm2")
    serve.add_argument("--port", type=int, default=0, help="0 takes a free one (the default)")
    schema = _command(commands, "schema", "print the JSON Schema of config and records")
    schema.add_argument("what", nargs="?", choices=("all", "config", "records"), default="all")
