"""The overview of the commands, the reading of one, and the arguments that several share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from peerexam.cli.commands import COMMANDS, GROUPS, module_of

TYPE_CHECKING = False  # importing `typing` would take a fifth of the time of `--help`
if TYPE_CHECKING:
    from typing import TypeAlias

    Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EPILOG = """\
start here:
  peerexam init              write a commented EXAM.yaml
  peerexam plan EXAM.yaml    calls, tokens and cost, before any model is asked
  peerexam run EXAM.yaml     run the exam; the same command resumes it

`peerexam COMMAND --help` lists the arguments of a command.
Flags override the environment (PEEREXAM_SEED, PEEREXAM_OUTPUT, PEEREXAM_DB,
PEEREXAM_SET__limits__concurrency=8), and the environment overrides the file.
Keys are read from the environment and from .env in the working directory.
Exit status: 0 complete, 1 error, 2 bad usage or config, 3 partial, 4 no
standings possible, 130 interrupted.
"""
LEDGER = "the ledger: a file or postgresql://…"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; argparse itself says what is wrong, and exits with 2.

    Only the module of the command that is named is loaded.
    """
    at = next((at for at, word in enumerate(argv) if not word.startswith("-")), len(argv))
    overview = _overview()
    given = overview.parse_args(argv[:at])
    if at == len(argv):
        overview.print_help()
        overview.exit(2)
    name = argv[at]
    if name not in COMMANDS:
        overview.error(_unknown(name))
    given.command = name
    return command_parser(name).parse_args(argv[at + 1 :], given)


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, 1)
    return f"there is no command '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _overview() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="peerexam",
        usage="peerexam [-h] [--version] [--debug] COMMAND ...",
        description="\n\n".join(["Language models examine each other.", *map(_group, GROUPS)]),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    return parser


def _group(title: str) -> str:
    lines = (f"  {name:13} {about}" for name, (_, about) in GROUPS[title].items())
    return "\n".join([f"{title}:", *lines])


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    about = COMMANDS[name][1]
    parser = argparse.ArgumentParser(prog=f"peerexam {name}", description=_sentence(about))
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    module_of(name).add_arguments(parser)
    return parser


def add_action(
    actions: Actions, name: str, about: str, *, json_too: bool = True
) -> argparse.ArgumentParser:
    """The parser of an action, as in `bias style`."""
    parser = actions.add_parser(name, help=about, description=_sentence(about))
    # The command before it may have been given these two already.
    for flag in ("--debug", "--json") if json_too else ("--debug",):
        parser.add_argument(
            flag, action="store_true", default=argparse.SUPPRESS, help="as for every command"
        )
    return parser


def _sentence(about: str) -> str:
    return f"{about[0].upper()}{about[1:]}" + ("" if about.endswith("?") else ".")


class _Version(argparse.Action):
    """Reads the version only when it is asked for: package metadata is slow to open."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"peerexam {version('peerexam')}\n")
        parser.exit()


def seed(text: str) -> int:
    """A seed, which decides draws.

    Raises:
        argparse.ArgumentTypeError: It is no whole number, or below 0.
    """
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"a seed is a whole number, 0 or more, not '{text[:40]}'")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not '{text[:40]}'")
    return number


def config_flags(parser: argparse.ArgumentParser) -> None:
    """Those of a command that reads an EXAM.yaml."""
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


def running_flags(parser: argparse.ArgumentParser, ledger: str = "in the run's folder") -> None:
    """Those of a command that asks models."""
    parser.add_argument("--db", metavar="URL", help=f"{LEDGER} (default: {ledger})")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--stall",
        type=_seconds,
        metavar="SECONDS",
        help="warn when no call ends for so long (default: the exam's limits.stall_warning)",
    )


def pilot_flag(parser: argparse.ArgumentParser) -> None:
    """That of a command that begins with a first question."""
    parser.add_argument(
        "--no-pilot",
        action="store_true",
        help="continue even if the first question shows that no standings can follow",
    )


def disagreement_flag(parser: argparse.ArgumentParser, default: str | None, about: str) -> None:
    """The rule for verdicts that depend on the order of the two answers."""
    parser.add_argument(
        "--disagreement",
        choices=("tie", "average", "abstain"),
        default=default,
        help=f"{about} two orders that disagree"
        + ("" if default is None else f" (default: {default})"),
    )


def out_and_replace_flags(parser: argparse.ArgumentParser, out: str, replaced: str) -> None:
    """Where results go, and whether others may be replaced there."""
    parser.add_argument("--out", metavar="DIR", help=out)
    parser.add_argument("--replace", action="store_true", help=f"replace {replaced} in that folder")


def agents_flag(parser: argparse.ArgumentParser, flag: str, about: str = "") -> None:
    """Agents, as models or files; required where nothing is said about them."""
    parser.add_argument(
        flag,
        nargs="+",
        required=not about,
        default=[],
        metavar="FILE_OR_MODEL",
        help=about or "models, or files with an agents: list",
    )
