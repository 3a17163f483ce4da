"""What may be written on the command line of the experiments on self-judgement."""

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


def add_self_commands(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    """Add them all.

    Args:
        commands: Where to.
        command: Adds one command with the flags that every command has.
        running_flags: Adds those of a command that asks models.
    """
    _discriminate(commands, command, running_flags)
    _mistakes(commands, command, running_flags)
    _consistency(commands, command, running_flags)
    _self_bias(commands, command)
    _profile(commands, command)


def _study_flags(parser: argparse.ArgumentParser, running_flags: AddFlags, out: str) -> None:
    parser.add_argument(
        "--agents",
        nargs="+",
        required=True,
        metavar="FILE_OR_MODEL",
        help="models, or files with an agents: list",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="so many items, drawn by the seed")
    parser.add_argument("--seed", type=seed, default=0, help="of draws and intervals")
    parser.add_argument("--plan", action="store_true", help="say how many calls it takes, and stop")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="what it may cost at most")
    parser.add_argument("--concurrency", type=int, metavar="N", help="calls at once (default: 64)")
    parser.add_argument("--out", metavar="DIR", help=f"records and result (default: {out})")
    running_flags(parser, ledger="ledger.sqlite in DIR")


def _action(
    actions: Commands, name: str, about: str, *, json_too: bool = True
) -> argparse.ArgumentParser:
    import argparse

    parser = actions.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    # The command before it may have been given these two already.
    for flag in ("--debug", "--json") if json_too else ("--debug",):
        parser.add_argument(
            flag, action="store_true", default=argparse.SUPPRESS, help="as for every command"
        )
    return parser


def _discriminate(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    parser = command(
        commands, "discriminate", "does a model judge its own answers better than it gives them?"
    )
    parser.add_argument("task", metavar="TASK", help="gsm8k, triviaqa, truthfulqa or mt-bench")
    parser.add_argument(
        "path", nargs="?", metavar="PATH", help="the task's file or folder (default: from the hub)"
    )
    parser.add_argument(
        "--candidates", type=int, default=4, metavar="N", help="answers a question (default: 4)"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.7, help="of the candidates (default: 0.7)"
    )
    parser.add_argument(
        "--variations",
        default="plain",
        metavar="LIST",
        help="of plain, double, triple, cot, verbatim, wording-2, wording-3, simplified, rotated",
    )
    parser.add_argument(
        "--peers", action="store_true", help="the other agents choose among the candidates too"
    )
    parser.add_argument(
        "--judges",
        nargs="+",
        default=[],
        metavar="FILE_OR_MODEL",
        help="who scores what has no key: mt-bench answers, truth and information of truthfulqa",
    )
    parser.add_argument(
        "--candidates-from", metavar="FILE", help="candidates of your own, in place of the agents'"
    )
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="of a candidate (default: the task's)"
    )
    _study_flags(parser, running_flags, "runs/discriminate-TASK")


def _mistakes(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    parser = command(commands, "mistakes", "find mistakes in reasoning, and regenerate from them")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    stats = _action(actions, "stats", "count a folder in the layout of BIG-Bench Mistake")
    stats.add_argument("path", metavar="DIR", help="the folder with its JSONL files")
    stats.add_argument(
        "--annotations",
        metavar="CSV",
        help="several people's votes (trace, annotator, location): how far do they agree?",
    )
    dyck = _action(actions, "dyck", "check the steps of Dyck traces by rule")
    dyck.add_argument("path", metavar="FILE", help="dyck_languages.jsonl")
    find = _action(actions, "find", "ask agents where the first mistake of a trace is")
    find.add_argument("path", metavar="DIR")
    find.add_argument("--tasks", default="all", metavar="LIST", help="of the folder (default: all)")
    find.add_argument(
        "--methods", default="trace", metavar="LIST", help="of trace, step, cot (default: trace)"
    )
    _study_flags(find, running_flags, "runs/mistakes")
    back = _action(actions, "backtrack", "take a trace up again before its mistake")
    back.add_argument("path", metavar="DIR")
    back.add_argument("--tasks", default="all", metavar="LIST", help="of the folder (default: all)")
    back.add_argument(
        "--locations",
        default="gold,random",
        metavar="LIST",
        help="of gold, random, simulated[:SHARE], own, peers, each-peer, model:PATH (default: "
        "gold,random)",
    )
    back.add_argument(
        "--samples", type=int, default=8, metavar="N", help="new steps drawn (default: 8)"
    )
    _study_flags(back, running_flags, "runs/backtracking")
    train = _action(actions, "train", "train a small classifier of steps, one task held out")
    train.add_argument("path", metavar="DIR")
    train.add_argument(
        "--hold-out", default="all", metavar="TASK", help="which task (default: each)"
    )
    train.add_argument(
        "--encoder", default="none", metavar="NAME", help="to look at meaning too, as in minilm"
    )
    train.add_argument("--epochs", type=int, metavar="N")
    train.add_argument("--seed", type=seed, default=0)
    train.add_argument("--out", required=True, metavar="DIR", help="where the weights go")


def _consistency(commands: Commands, command: AddCommand, running_flags: AddFlags) -> None:
    parser = command(commands, "consistency", "does a model stand by its own intermediate answers?")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    sums = _action(actions, "arithmetic", "nested sums, a part replaced by the model's own answer")
    sums.add_argument("--graphs", type=int, default=500, metavar="N", help="(default: 500)")
    sums.add_argument("--height", type=int, default=5, metavar="H", help="(default: 5)")
    sums.add_argument("--nesting", type=float, default=0.5, metavar="P", help="(default: 0.5)")
    sums.add_argument("--digits", type=int, default=3, metavar="D", help="(default: 3)")
    _study_flags(sums, running_flags, "runs/consistency-arithmetic")
    words = _action(actions, "hypothetical", "what a model says it would say, against what it says")
    words.add_argument("path", nargs="?", metavar="FILE", help="prompts (default: nested sums)")
    _study_flags(words, running_flags, "runs/consistency-hypothetical")
    geo = _action(actions, "geoquery", "does a question's program hold the program of its parts?")
    geo.add_argument("path", metavar="DIR", help="the folder with geoquery.en and geoquery.funql")
    geo.add_argument(
        "--shots", type=int, default=8, metavar="N", help="examples shown (default: 8)"
    )
    geo.add_argument(
        "--alignments",
        metavar="FILE",
        help="words to operators (default: EN_anon_cleaned.csv in DIR, else a list of words)",
    )
    _study_flags(geo, running_flags, "runs/consistency-geoquery")


def _self_bias(commands: Commands, command: AddCommand) -> None:
    parser = command(
        commands, "self-bias", "do models favour themselves as test setter, judge, or both?"
    )
    parser.add_argument("folder", metavar="DIR", help="a run, or a CSV of scores")
    parser.add_argument(
        "--orientation",
        choices=("higher", "lower"),
        default="higher",
        help="which scores are better (default: higher)",
    )
    parser.add_argument(
        "--evaluator", metavar="NAME", help="one judge for the role of test set (default: all)"
    )
    parser.add_argument(
        "--same",
        action="append",
        default=[],
        metavar="A,B",
        help="agents that are one model, so no third parties of each other; may be repeated",
    )
    parser.add_argument("--rounds", type=int, default=10_000, help="of bootstrap and permutation")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--out", metavar="DIR", help="also leave result.json there")


def _profile(commands: Commands, command: AddCommand) -> None:
    parser = command(
        commands, "profile", "put a run and the studies of its agents side by side in its report"
    )
    parser.add_argument("folder", metavar="DIR", help="the run")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="folders that studies left")
