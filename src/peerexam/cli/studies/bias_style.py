"""`bias style`: whom do judges prefer where only the style differs?"""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.arguments import running_flags, seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.protocols.studies.style.study import StyleResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the action."""
    parser.add_argument("folder", metavar="DIR", help="a run with answers")
    parser.add_argument("--of", metavar="EXAMINEE", help="whose answers (default: everybody's)")
    parser.add_argument(
        "--agents", required=True, metavar="FILE", help="a file with an agents: list"
    )
    parser.add_argument("--rewriter", required=True, metavar="NAME", help="who rewrites")
    parser.add_argument("--checker", metavar="NAME", help="who checks that the content was kept")
    parser.add_argument("--judges", nargs="+", metavar="NAME", help="who compares (default: all)")
    parser.add_argument("--samples", type=int, default=100, metavar="N", help="so many answers")
    parser.add_argument("--out", required=True, metavar="DIR", help="records and table")
    running_flags(parser, ledger="ledger.sqlite in DIR")
    parser.add_argument("--seed", type=seed, default=0, help="of draws and intervals")


def perform(arguments: argparse.Namespace) -> int:
    """Restyle answers without changing what they say, and see whom the judges prefer."""
    from pathlib import Path

    from peerexam.cli.agent_files import read_agents
    from peerexam.cli.asking import ask
    from peerexam.protocols.studies.style.protocol import draw_samples
    from peerexam.protocols.studies.style.study import study_style, style_cast
    from peerexam.report.style import style_page, style_text
    from peerexam.runfolder import RunFolder

    folder, out = Path(arguments.folder), Path(arguments.out)
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder; name the one that a run left")
    cast = style_cast(
        read_agents([arguments.agents]), arguments.rewriter, arguments.checker, arguments.judges
    )
    samples = draw_samples(
        RunFolder(folder), arguments.samples, seed=arguments.seed, of=arguments.of
    )
    result = ask(
        arguments,
        lambda progress, db: study_style(
            samples, cast, out, seed=arguments.seed, db=db, progress=progress
        ),
        cast.calls * len(samples),
    )
    page = out / "style.html"
    page.write_bytes(style_page(result.body))
    if arguments.json:
        say_json({**result.body, "folder": str(out), "page": str(page)})
    else:
        say(f"{style_text(result.body, columns())}\n\npage: {page}")
    return _status(result)


def _status(result: StyleResult) -> int:
    if result.stopped is not None:
        note(f"partial: {plain(result.stopped)}")
    if result.failed:
        note(
            f"partial: {len(result.failed)} calls failed, first: {plain(result.failed[0])[:200]}; "
            "the same command retries them"
        )
    return COMPLETE if result.is_complete else PARTIAL
