"""Writes the folders of this test: `PYTHONPATH=OLD/src python make.py FOLDER`, see README.md."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

EXAM = """\
name: old
seed: 7
agents:
  - {name: ada, model: player/ada}
  - {name: bob, model: player/bob}
  - {name: cyd, model: player/cyd, temperature: 0.5}
questions:
  domains: [rivers, numbers]
  per_domain: 2
  levels: {classifiers: [ada, bob]}
  references: {draws: 1}
follow_ups: {rounds: 1}
voting: {rounds: 50}
limits: {concurrency: 4}
"""
SIMULATED = """\
name: simulated
seed: 3
agents:
  - {name: ada, model: "sim/ada?ability=1&self_preference=0.2"}
  - {name: bob, model: "sim/bob?error_rate=0.1"}
  - {name: cyd, model: "sim/cyd?ability=-1"}
questions: {domains: [rivers], per_domain: 4}
voting: {rounds: 50}
"""
AGENTS = """\
agents:
  - {name: ada, model: player/ada}
  - {name: bob, model: player/bob}
"""
SUMS = [{"question": f"What is {n} + 2?", "answer": f"#### {n + 2}"} for n in (1, 2, 3)]
TRACES = [
    {
        "input": f"{n} + 1 =",
        "steps": [f"{n} + 1 = {n + 2}.", f"That is {n + 2}.", f"So the answer is {n + 2}."],
        "target": str(n + 1),
        "answer": str(n + 2),
        "mistake_index": 0,
    }
    for n in (1, 2)
] + [
    {
        "input": "2 + 2 =",
        "steps": ["2 + 2 = 4.", "So the answer is 4."],
        "target": "4",
        "answer": "4",
        "mistake_index": None,
    }
]
PROGRAMS = {
    "name the states": "answer(state(all))",
    "name the rivers": "answer(river(all))",
    "how large is utah": "answer(size(stateid('utah')))",
    "name the longest river": "answer(longest(river(all)))",
}
PEOPLE = """\
question,reference,answer 1,rating 1,answer 2,rating 2,answer 3,rating 3,ranking
What is 2 + 2?,It is 4,It is 4,5,It is 4 of course,4,7,1,1>2>3
What is 3 + 3?,It is 6,nine,1,It is good 6,5,It is 6,5,2=3>1
"""


def lines(*bodies: object) -> str:
    return "".join(json.dumps(body) + "\n" for body in bodies)


FILES = {
    "exam.yaml": EXAM,
    "simulated.yaml": SIMULATED,
    "agents.yaml": AGENTS,
    "sums.jsonl": lines(*SUMS),
    "traces/adding.jsonl": lines(*TRACES),
    "geo/geoquery.en": "\n".join(PROGRAMS) + "\n",
    "geo/geoquery.funql": "\n".join(PROGRAMS.values()) + "\n",
    "prompts.txt": "Name a lake.\nName a sea.\n",
    "people.csv": PEOPLE,
    "corpus.txt": "What does ada know of deltas?\nNobody knows.\n",
}
STUDIES = {
    "discriminate": "discriminate gsm8k sums.jsonl --peers --variations plain,rotated",
    "find": "mistakes find traces --methods trace,step",
    "backtrack": "mistakes backtrack traces --locations gold,random,own --samples 2",
    "arithmetic": "consistency arithmetic --graphs 3 --height 2 --digits 1",
    "hypothetical": "consistency hypothetical prompts.txt",
    "geoquery": "consistency geoquery geo --shots 1",
}
"""By folder, each with `--agents agents.yaml --out FOLDER`."""
OTHERS = {
    "probes": "agents probe agents.yaml --samples 1 --out probes",
    "trust": "trust annotations people.csv --judges agents.yaml --metrics none --out trust",
    "style": "bias style finished --agents agents.yaml --rewriter ada --checker bob --samples 3"
    " --out style",
    "self-bias": "self-bias finished --rounds 50 --out self-bias",
    "leakage": "leakage finished --corpus corpus.txt --out leakage",
}


def arguments_of(study: str) -> list[str]:
    if study in OTHERS:
        return OTHERS[study].split()
    return [*STUDIES[study].split(), "--agents", "agents.yaml", "--out", study]


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def peerexam(folder: Path, *arguments: str, die_after: int = 0) -> str:
    """One command in a process of its own, in that folder; what it printed."""
    command = [sys.executable, __file__, "--run", *arguments]
    environment = {**os.environ, "DIE_AFTER": str(die_after)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if die_after == 0 and done.returncode != 0:
        raise SystemExit(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def make(folder: Path) -> None:
    write_files(folder)
    peerexam(folder, "run", "exam.yaml", "--out", "finished", "--quiet")
    peerexam(folder, "run", "exam.yaml", "--out", "interrupted", "--quiet", die_after=250)
    peerexam(folder, "run", "simulated.yaml", "--out", "simulated", "--quiet")
    peerexam(folder, "export", "finished", "--out", "exported", "--no-parquet")
    peerexam(folder, "generate", "exam.yaml", "--out", "generated", "--no-parquet", "--quiet")
    for study in (*STUDIES, *OTHERS):
        peerexam(folder, *arguments_of(study))
    peerexam(folder, "profile", "finished", *STUDIES)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        from peerexam import register
        from peerexam.cli import main

        players = runpy.run_path(str(Path(__file__).with_name("player.py")))
        register("player")(players["create"])
        raise SystemExit(main(sys.argv[2:]))
    make(Path(sys.argv[1]))
