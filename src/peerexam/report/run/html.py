"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from peerexam.calls import Json
from peerexam.errors import LedgerFileError, MissingExtraError
from peerexam.ledger.reading import CallReader, reading
from peerexam.report.figures.axis import WIDTH
from peerexam.report.figures.radar import radar
from peerexam.report.page.shell import content_policy, embedded_json, encoded, resource
from peerexam.report.profile import AgentProfile, read_profiles
from peerexam.report.run import basis as basis_view
from peerexam.report.run import benchmarks as benchmark_view
from peerexam.report.run import conclusion
from peerexam.report.run import judges as judges_view
from peerexam.report.run import question_profile as profile_view
from peerexam.report.run import standings as standings_view
from peerexam.report.run.depth_curve import LEAST_AT_RISK, depth_curve
from peerexam.report.run.exchanges import ROOM
from peerexam.report.run.questions import QUESTION_LIMIT, Browsable, browsable
from peerexam.runfolder import RunFolder


def write_report(
    folder: Path,
    out: Path | None = None,
    *,
    question_limit: int = QUESTION_LIMIT,
    room: int = ROOM,
    db: str | Path | None = None,
) -> Path:
    """Write the report of a run.

    The same folder gives the same bytes. The page makes no request, and texts of models are
    shown as they are, never run.

    Args:
        folder: The run's folder.
        out: The file to write; `report.html` in the folder by default.
        question_limit: How many questions the page's browser holds at most. Of more, a sample
            drawn with the run's seed is shown, and the page says so.
        room: Characters of prompts and replies that the page holds at most; where they do not
            suffice for all questions, the page says so.
        db: The ledger with the prompts and replies, a path or URL; by default `ledger.sqlite` in
            the folder. Where it cannot be read, the page says what it lacks.

    Returns:
        The file.

    Raises:
        SetupError: The folder is not that of a run, or one of its files cannot be read.
    """
    run = RunFolder(folder)
    manifest = run.read_manifest()
    # A run that stopped before its standings still has questions and answers to read.
    standings = run.read_standings() if run.standings_path.exists() else {}
    seed = int(manifest.get("seed") or 0)
    try:
        with ExitStack() as stack:
            reader = _ledger(run, db, stack)
            questions = browsable(run, seed, question_limit, reader, room)
    except (LedgerFileError, MissingExtraError):
        # The report is of the records, which are sound; the page says what it lacks.
        questions = browsable(run, seed, question_limit)
    profiles, notes = read_profiles(folder)
    target = run.report_path if out is None else out
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(encoded(render(manifest, standings, questions, profiles, notes)))
    return target


def _ledger(run: RunFolder, db: str | Path | None, stack: ExitStack) -> CallReader | None:
    if db is None and not run.ledger_path.exists():
        return None
    return stack.enter_context(reading(db or run.ledger_path))


def render(
    manifest: Mapping[str, Json],
    standings: Mapping[str, Json],
    questions: Browsable,
    profiles: Sequence[AgentProfile] = (),
    profile_notes: Sequence[str] = (),
) -> str:
    """The page as text."""
    style, script = resource("report.css"), resource("report.js")
    environment = Environment(
        loader=PackageLoader("peerexam.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        policy=content_policy(style, script),
        style=style,
        script=script,
        data=embedded_json(questions.body),
        axis_width=WIDTH,
        profiles=profiles,
        profile_notes=profile_notes,
        **_run_facts(manifest, standings, questions),
        **_standings_facts(standings),
        **_judges_facts(standings),
        **_benchmark_facts(standings),
    )


def _run_facts(
    manifest: Mapping[str, Json], standings: Mapping[str, Json], questions: Browsable
) -> dict[str, Any]:
    status = {**standings, **{k: v for k, v in manifest.items() if v is not None}}
    states, counts = basis_view.count_table(standings.get("counts") or manifest.get("counts") or {})
    return {
        "exam": status.get("exam") or "exam",
        "protocol": str(status.get("protocol") or "exam").replace("_", " "),
        "is_partial": "partial" in (manifest.get("status"), standings.get("status")),
        "status_reason": manifest.get("status_reason") or standings.get("status_reason"),
        "seed": status.get("seed"),
        "questions_hash": manifest.get("questions_hash"),
        "versions": manifest.get("versions") or {},
        "run_notes": list(manifest.get("notes") or ()),
        "agents": basis_view.agent_rows(manifest),
        "states": states,
        "counts": counts,
        "total_questions": questions.total,
        "shown_questions": questions.shown,
        "tally": questions.tally,
        "asked_questions": questions.asked,
        "opened_questions": questions.opened,
    }


def _standings_facts(standings: Mapping[str, Json]) -> dict[str, Any]:
    methods, method_rows = standings_view.method_rows(standings)
    pooled, per_judge = standings_view.win_matrices(standings)
    full_mark_judges, full_marks = standings_view.full_mark_rows(standings)
    rounds, depth = basis_view.depth_table(standings)
    return {
        "headline": conclusion.headline(standings),
        "has_standings": conclusion.has_standings(standings),
        "basis": conclusion.basis(standings),
        "cautions": conclusion.cautions(standings),
        "voting": standings.get("voting") or {},
        "rows": standings_view.standing_rows(standings),
        "axis": standings_view.standing_axis(standings),
        "tiers": conclusion.tiers(standings),
        "methods": methods,
        "method_rows": method_rows,
        "pooled": pooled,
        "per_judge": per_judge,
        "full_mark_judges": full_mark_judges,
        "full_marks": full_marks,
        "rounds": rounds,
        "depth": depth,
        "depth_axis": basis_view.DEPTH_AXIS,
        "curve": depth_curve(standings, [agent for agent, _ in depth]),
        "least_at_risk": LEAST_AT_RISK,
    }


def _judges_facts(standings: Mapping[str, Json]) -> dict[str, Any]:
    share_axis, rank_axis = judges_view.self_preference_axes(standings)
    return {
        "judges": judges_view.judge_rows(standings),
        "self_preference": judges_view.self_preference_rows(standings),
        "share_axis": share_axis,
        "rank_axis": rank_axis,
        "one_model": judges_view.one_model(standings),
        "home": judges_view.home_rows(standings),
        "home_axis": judges_view.home_axis(standings),
        "agreement": judges_view.agreement_rows(standings),
    }


def _benchmark_facts(standings: Mapping[str, Json]) -> dict[str, Any]:
    return {
        "table_3": benchmark_view.table_3(standings),
        "gains": benchmark_view.gain_table(standings),
        "aspects": benchmark_view.aspect_table(standings),
        "radar": radar(*benchmark_view.aspect_series(standings)),
        "domains": benchmark_view.domain_table(standings),
        "domains_hidden": benchmark_view.domains_hidden(standings),
        "profile": profile_view.profile_bars(standings),
        "selection": benchmark_view.selection(standings),
    }
