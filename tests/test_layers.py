"""The arrows between the parts, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "peerexam"

BELOW: dict[str, set[str]] = {"errors": set()}
"""Part to the parts that it may import."""
BELOW["calls"] = {"errors"}
BELOW["records"] = {"calls", "errors"}
BELOW["fast_json"] = set()
BELOW["event_loop"] = set()
BELOW["printable"] = set()
BELOW["runfolder"] = {"records", "fast_json", *BELOW["records"]}
BELOW["ledger"] = {"runfolder", *BELOW["runfolder"]}
BELOW["agents"] = {"ledger", "printable", *BELOW["ledger"]}
BELOW["testing"] = {"agents", *BELOW["agents"]}
BELOW["examiners"] = {"agents", *BELOW["agents"]}
BELOW["tasks"] = BELOW["runfolder"] | {"runfolder"}
BELOW["stats"] = {"records", "errors"}
BELOW["protocols"] = BELOW["examiners"] | {"examiners", "tasks", "stats", "event_loop"}
BELOW["report"] = {"stats", "ledger", "runfolder", "records", "calls", "errors"}
BELOW["cli"] = set(BELOW) | {"protocols", "report"}
BELOW["__main__"] = {"cli"}

MODULES = {
    ".".join(("peerexam", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(SOURCE.rglob("*.py"))
}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imports_of(path: Path) -> Iterator[str]:
    """Modules of ours that a file imports, wherever in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "peerexam":
                yield name if name in MODULES else name.rpartition(".")[0]


def part_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def test_a_module_imports_only_what_lies_below_its_part() -> None:
    wrong = []
    for module, path in MODULES.items():
        part = part_of(module)
        if part is None:
            continue  # the front door names everything, and imports it only when it is used
        assert part in BELOW, f"{part} is not in docs/architecture.md"
        reached = {part_of(name) for name in imports_of(path)} - {part, None}
        wrong += [f"{module} imports {name}" for name in reached if name not in BELOW[part]]
    assert not wrong


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {
        module: set(imports_of(path)) - {module, "peerexam"} for module, path in MODULES.items()
    }
    # A package's front names its modules; they may not lean on the front in turn.
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_scipy_is_not_needed_at_run_time() -> None:
    for module, path in MODULES.items():
        names = [
            alias.name for n in nodes_of(path) if isinstance(n, ast.Import) for alias in n.names
        ]
        names += [n.module or "" for n in nodes_of(path) if isinstance(n, ast.ImportFrom)]
        assert not any(name.split(".")[0] == "scipy" for name in names), module


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert not drawers & {part for module in MODULES for part in module.split(".")}
