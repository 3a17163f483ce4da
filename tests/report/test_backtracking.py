"""The page of the curve over reward-model accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerexam.report.backtracking import panels, write_curve


def point(share: float, lost: float | None, gained: float) -> dict[str, Any]:
    def ends(value: float | None) -> dict[str, Any]:
        if value is None:
            return {"value": None, "low": None, "high": None, "n": 0}
        return {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 9}

    return {
        "agent": "<b>a</b>",
        "task": "words",
        "accuracy_rm": share,
        "delta_correct": ends(lost),
        "delta_incorrect": ends(gained),
    }


def test_gains_are_drawn_above_losses_and_from_left_to_right() -> None:
    (panel,) = panels([point(0.1, -0.2, 0.1), point(1.0, -0.1, 0.4)])
    losses, gains = panel.lines
    assert losses.is_dashed
    places = [tuple(map(float, pair.split(","))) for pair in gains.points.split()]
    assert places[0][0] < places[1][0]
    assert places[1][1] < places[0][1] < panel.zero
    assert all(float(pair.split(",")[1]) > panel.zero for pair in losses.points.split())


def test_a_change_without_a_value_has_no_line_and_says_none() -> None:
    (panel,) = panels([point(0.5, None, 0.1)])
    assert len(panel.lines) == 1
    assert panel.rows[0]["changes"][0]["value"] == "none"


def test_a_name_on_the_page_is_text(tmp_path: Path) -> None:
    text = write_curve(tmp_path / "new", [point(0.5, -0.2, 0.1)]).read_text(encoding="utf-8")
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "<script" not in text
    assert "+10.00" in text
