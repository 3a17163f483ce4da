"""`bias style`: whom do judges prefer where only the style differs?"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.agent_files import read_agents
from peerexam.cli.display import shown
from peerexam.cli.interrupt import run_interruptibly
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.style.protocol import draw_samples
from peerexam.protocols.studies.style.study import StyleResult, study_style, style_cast
from peerexam.report.style import style_page, style_text
from peerexam.runfolder import RunFolder

PAGE = "style.html"


def style(arguments: argparse.Namespace) -> int:
    """Rewrite answers without changing what they say, and see whom the judges prefer."""
    if arguments.stall is not None and not arguments.stall > 0:
        raise SetupError("--stall is a number of seconds above 0")
    folder, out = Path(arguments.folder), Path(arguments.out)
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder; name the one that a run left")
    cast = style_cast(
        read_agents([arguments.agents]), arguments.rewriter, arguments.checker, arguments.judges
    )
    samples = draw_samples(
        RunFolder(folder), arguments.samples, seed=arguments.seed, of=arguments.of
    )
    progress = Progress(cast.calls * len(samples), stall_warning=arguments.stall)
    with shown(progress, quiet=arguments.quiet):
        result = run_interruptibly(
            study_style(
                samples,
                cast,
                out,
                seed=arguments.seed,
                db=arguments.db or os.environ.get("PEEREXAM_DB") or None,
                progress=progress,
            )
        )
    page = out / PAGE
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
            "the same command asks them again"
        )
    return COMPLETE if result.is_complete else PARTIAL
