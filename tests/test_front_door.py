"""What `import peerexam` gives, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys

import peerexam

HEAVY = (
    *("numpy", "pydantic", "yaml", "jinja2", "networkx", "rich", "pyarrow", "scipy", "psycopg"),
    *("pyreqwest", "uvloop", "openai", "anthropic", "langchain_core", "torch", "transformers"),
    "genai_prices",
)


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_the_names_of_the_front_door_are_sorted_and_true() -> None:
    assert peerexam.__all__ == sorted(set(peerexam.__all__))
    for name in peerexam.__all__:
        assert getattr(peerexam, name) is not None
    assert set(peerexam.__all__) <= set(dir(peerexam))


def test_importing_loads_nothing_heavy() -> None:
    assert not loaded_after("import peerexam") & set(HEAVY)


def test_the_help_loads_nothing_heavy() -> None:
    statement = "from peerexam.cli import main\nmain(['--help'])"
    assert not loaded_after(statement) & {*HEAVY, "asyncio", "sqlite3", "importlib.metadata"}


def test_the_help_of_a_command_loads_nothing_heavy() -> None:
    statement = (
        "from peerexam.cli import main\nfrom peerexam.cli.commands import COMMANDS\n"
        "for name in COMMANDS: main([name, '--help'])"
    )
    assert not loaded_after(statement) & {*HEAVY, "asyncio", "sqlite3"}


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "peerexam", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.stdout.startswith("peerexam ")
