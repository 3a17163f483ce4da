"""The results that a run's standings rest on, read back from its folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.prompting.rubric import Rubric, load_rubric
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.run.finishing import tally_folder
from peerexam.protocols.run.folder.lock import settled
from peerexam.protocols.standings.columns import Gathered, gather
from peerexam.protocols.standings.judges import gave_something
from peerexam.runfolder import RunFolder
from peerexam.stats.core.tables import Positions
from peerexam.stats.pairs.orders import combine_orders, on_own_answer, rows_where
from peerexam.stats.ranking.ballots import positions_by_marks
from peerexam.stats.ranking.results import Results, results_from


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted.

    Attributes:
        results: Of the judges that count.
        made_of: `rankings`, `verdicts` or `marks`.
        disagreement: What two orders that disagree are worth.
        confidence: Of intervals.
        prior: Drawn results a pair that the Bradley-Terry vote of the standings adds.
        judges: That count.
        no_standings: Why there are none; None where there are some.
    """

    results: Results
    made_of: str
    disagreement: str
    confidence: float
    prior: float
    judges: tuple[str, ...]
    no_standings: str | None = None


def counted_results(path: Path) -> Counted:
    """Read a run's records, and make of them what its standings were counted from.

    Standings that are not there are counted first, and written.

    Raises:
        SetupError: The folder holds no run, or its standings are those of an older peerexam.
    """
    folder = RunFolder(path)
    settled(folder)
    if not folder.standings_path.exists():
        folder.write_standings(tally_folder(path))
    standings = folder.read_standings()
    voting, names = standings["voting"], _judges(folder, standings)
    if "bradley_terry_prior" not in voting:
        raise SetupError(
            f"{folder.standings_path} was left by an older peerexam: remove it, and `peerexam "
            f"report {path}` counts it again"
        )
    table = gather(
        questions=list(folder.questions()),
        answers=(),
        marks=folder.marks(),
        verdicts=folder.verdicts(),
        rankings=folder.rankings(),
        agents=standings["win_rates"]["agents"],
        judges=names,
    )
    peers = rows_where(table.verdicts, ~on_own_answer(table.verdicts))
    pairs = combine_orders(peers, voting["disagreement"], _orderless(folder, standings))
    left_out = {row["agent"] for row in voting["judges_left_out"]}
    gave = gave_something(table)
    # With too few judges for the quorum, nobody's votes count.
    counted = [
        name
        for place, name in enumerate(names)
        if voting["quorum_met"] and gave[place] and name not in left_out
    ]
    return Counted(
        results_from(_positions(table, voting["ballots"]), pairs).of_judges(counted),
        voting["ballots"],
        voting["disagreement"],
        float(voting["confidence"]),
        float(voting["bradley_terry_prior"]),
        tuple(counted),
        standings.get("no_standings"),
    )


def full_mark_of(path: Path) -> int:
    """The overall mark that is full in a run's folder: its rubric's, or what an import said.

    Raises:
        SetupError: The folder holds no run.
    """
    folder = RunFolder(path)
    settled(folder)
    if not folder.config_path.exists():
        return int(folder.read_manifest().get("full_mark") or Rubric().full_mark)
    rubric = load_config(folder.config_path, environ={}).judging.rubric
    return (load_rubric(rubric) if rubric else Rubric()).full_mark


def _judges(folder: RunFolder, standings: dict[str, Json]) -> list[str]:
    """All by name, those too that the standings have in one row under another name."""
    shown = [sheet["agent"] for sheet in standings["judges"]]
    agents = folder.read_manifest().get("agents", ())
    judges = [agent["name"] for agent in agents if "judge" in agent.get("roles", ())]
    return shown if set(shown) <= set(judges) else judges


def _orderless(folder: RunFolder, standings: dict[str, Json]) -> list[str]:
    """Judges for whom one verdict a pair is enough."""
    by_likelihood = [s["agent"] for s in standings["judges"] if s["by"] == "likelihood"]
    agents = folder.read_manifest().get("agents", ())
    return by_likelihood + [agent["name"] for agent in agents if agent.get("orders") == "one"]


def _positions(table: Gathered, made_of: str) -> Positions:
    if made_of != "marks":
        return table.positions
    first = table.questions.first_round[table.marks.question]
    overall = np.where(first, table.marks.overall, np.nan)
    return positions_by_marks(replace(table.marks, overall=overall))
