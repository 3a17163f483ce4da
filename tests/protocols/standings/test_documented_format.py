"""`docs/standings-format.md` names every key that `standings.json` has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam

PAGE = Path(__file__).resolve().parents[3] / "docs" / "standings-format.md"
PLAYERS = ("player-one", "player-two", "player-three")


def _keys(value: Any) -> Iterator[str]:
    inner = value if isinstance(value, list) else []
    if isinstance(value, dict):
        yield from value
        inner = list(value.values())
    for one in inner:
        yield from _keys(one)


async def test_every_key_is_documented(tmp_path: Path) -> None:
    config = ExamConfig.model_validate(
        {
            "agents": [{"name": name, "model": f"sim/{name}"} for name in PLAYERS],
            "questions": {"domains": ["geography"], "per_domain": 3},
            "follow_ups": {"rounds": 1},
            "judging": {"fitness": {"max_attack_success": 0.5}},
            "voting": {"rounds": 20},
        }
    )
    outcome = await run_exam(config, tmp_path / "run")
    named = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    assert set(_keys(outcome.standings)) - named - set(PLAYERS) == set()
