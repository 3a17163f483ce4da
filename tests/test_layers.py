"""The rooms of the package: which may import which, how full they are, and what they are called.

`docs/architecture.md` draws the arrows; where the drawing and the imports differ, the test prints
the drawing that is true.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "peerexam"
PAGE = ROOT / "docs" / "architecture.md"
FULL = 15
"""Entries of a folder beside its `__init__.py`."""

ONE_FILE_EACH = {
    "examiners/templates",  # a prompt each
    "report/templates",
}
"""Folders of data that may hold more."""

BELOW: dict[str, set[str]] = {"errors": set()}
"""Part to the parts that it may import."""
BELOW["calls"] = {"errors"}
BELOW["records"] = {"calls", "errors"}
BELOW["fast_json"] = set()
BELOW["printable"] = set()
BELOW["runfolder"] = {"records", "fast_json", *BELOW["records"]}
BELOW["ledger"] = {"runfolder", *BELOW["runfolder"]}
BELOW["agents"] = {"ledger", "printable", *BELOW["ledger"]}
BELOW["testing"] = {"agents", *BELOW["agents"]}
BELOW["examiners"] = {"agents", *BELOW["agents"]}
BELOW["tasks"] = BELOW["runfolder"] | {"runfolder"}
BELOW["stats"] = {"records", "errors"}
BELOW["protocols"] = BELOW["examiners"] | {"examiners", "tasks", "stats"}
BELOW["report"] = {"stats", "ledger", "runfolder", "records", "calls", "errors"}
BELOW["cli"] = set(BELOW) | {"protocols", "report"}
BELOW["__main__"] = {"cli"}

MODULES = {
    ".".join(("peerexam", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(SOURCE.rglob("*.py"))
}
FOLDERS = sorted(
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*")
    if path.is_dir() and path.name != "__pycache__"
)
STUDIES = {
    path.stem
    for path in (SOURCE / "protocols" / "studies").iterdir()
    if path.stem not in ("__init__", "__pycache__", "base", "names", "plan", "profile", "result")
}
"""The capabilities beside the exam: each has this one name in every layer."""


def imports_of(path: Path) -> Iterator[str]:
    """Modules of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


IMPORTS = {module: set(imports_of(path)) - {module, "peerexam"} for module, path in MODULES.items()}


def part_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def arrows() -> Mapping[str, nx.DiGraph[str]]:
    """Imports between the entries of each folder: folder to graph, `""` for the package itself."""
    found: defaultdict[str, nx.DiGraph[str]] = defaultdict(nx.DiGraph)
    for module, imported in IMPORTS.items():
        here = module.split(".")[1:]
        for name in imported:
            there = name.split(".")[1:]
            same = 0
            while same < min(len(here), len(there)) and here[same] == there[same]:
                same += 1
            if same < len(here) and same < len(there):  # else one is the other's folder
                found["/".join(here[:same])].add_edge(here[same], there[same])
    return found


def test_a_module_imports_only_what_lies_below_its_part() -> None:
    for module, imported in IMPORTS.items():
        part = part_of(module)
        if part is None:
            continue  # the front door names everything, and imports it only when it is used
        assert part in BELOW, f"{part} is in no layer"
        reached = {part_of(name) for name in imported} - {part, None}
        assert reached <= BELOW[part], module


def test_no_module_imports_itself_by_way_of_others() -> None:
    # A package's front names its modules; they may not lean on the front in turn.
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_folder_imports_itself_by_way_of_its_neighbours() -> None:
    for folder, graph in arrows().items():
        circles = [
            sorted(some) for some in nx.strongly_connected_components(graph) if len(some) > 1
        ]
        assert not circles, f"in {folder or 'peerexam'}: {circles}"


def drawing(folder: str) -> str:
    """Mermaid for the arrows of a folder, without those that follow from others."""
    graph = nx.transitive_reduction(arrows()[folder])
    lines = [f"  {tail} --> {head}" for tail, head in sorted(graph.edges)]
    return "\n".join(
        ["```mermaid", "flowchart TD", f"  %% peerexam/{folder}".rstrip("/"), *lines, "```"]
    )


def test_the_drawings_of_the_architecture_are_the_imports() -> None:
    text = PAGE.read_text(encoding="utf-8")
    drawn = re.findall(r"^  %% peerexam/?(.*)$", text, re.MULTILINE)
    assert {"", "agents", "protocols"} <= set(drawn)
    for folder in drawn:
        assert drawing(folder) in text, f"draw it so:\n{drawing(folder)}"


def test_no_folder_is_too_full() -> None:
    for folder in ["", *FOLDERS]:
        names = {
            path.name
            for path in (SOURCE / folder).iterdir()
            if path.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
        }
        assert len(names) <= FULL or folder in ONE_FILE_EACH, f"{folder}: {len(names)} entries"


def test_a_file_does_not_repeat_its_folders_name() -> None:
    for module in MODULES:
        *_, folder, name = ("", *module.split("."))
        assert name != folder, module
        assert not name.startswith(f"{folder}_"), module


def test_every_folder_of_modules_says_what_is_in_it() -> None:
    for folder in FOLDERS:
        if any((SOURCE / folder).glob("*.py")):
            front = SOURCE / folder / "__init__.py"
            assert front.exists(), f"{folder} has no __init__.py"
            assert ast.get_docstring(ast.parse(front.read_text(encoding="utf-8"))), folder


def test_a_study_has_one_name_in_every_layer() -> None:
    shared = {
        "tasks": {"benchmarks", "importers", "metrics", "questions", "taxonomy"},
        "examiners": {"judging", "prompting", "questions", "reading", "simulated"},
        "stats": {"benchmarks", "core", "judges", "pairs", "ranking"},
        "report": {"export", "figures", "page", "run"},
    }
    for layer, others in shared.items():
        folders = {
            path.name
            for path in (SOURCE / layer).iterdir()
            if path.is_dir() and any(path.glob("*.py"))
        }
        assert folders - others <= STUDIES, f"{layer} has a folder of no study"


def test_scipy_is_not_needed_at_run_time() -> None:
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [
            alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names
        ]
        names += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        assert not any(name.split(".")[0] == "scipy" for name in names), module


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert not drawers & {part for module in MODULES for part in module.split(".")}
