from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.registry import (
    BUILT_IN,
    BuiltIn,
    create_agent,
    installed_providers,
    register,
    runs_here,
    unregister,
)
from peerexam.agents.spec import AgentSpec
from peerexam.errors import MissingExtraError, SetupError, UnknownProviderError


def _echo(spec: AgentSpec) -> Agent:
    return ScriptedAgent(lambda request: request.messages[-1].content, spec.name)


def test_an_unknown_provider_lists_those_that_are_there() -> None:
    names = "anthropic, file, gguf, hf, langchain, local, openai"
    with pytest.raises(UnknownProviderError, match=f"'nobody'.*{names}"):
        create_agent(AgentSpec("a", "nobody", "m"))


def test_a_simulated_player_is_no_text_agent() -> None:
    with pytest.raises(UnknownProviderError, match="built by the exam"):
        create_agent(AgentSpec("a", "sim", "m"))


def test_a_program_adds_its_own_provider_by_call_or_as_a_decorator() -> None:
    try:
        register("echo", _echo)
        assert create_agent(AgentSpec("a", "echo", "m")).name == "a"

        @register("echo-2")
        def create(spec: AgentSpec) -> Agent:
            return _echo(spec)

        assert create(AgentSpec("b", "echo-2", "m")).name == "b", "the decorator keeps it"
        assert {"echo", "echo-2"} <= {info.name for info in installed_providers()}
        assert not runs_here("echo")
    finally:
        unregister("echo")
        unregister("echo-2")
    with pytest.raises(UnknownProviderError):
        create_agent(AgentSpec("a", "echo", "m"))


def test_a_name_that_cannot_stand_before_the_slash_is_refused() -> None:
    for name in ("Echo", "a/b", "", "a b"):
        with pytest.raises(SetupError):
            register(name, _echo)


def test_a_missing_package_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = BuiltIn("peerexam.agents.hosted.openai.provider:create", "no_such_package", "openai")
    monkeypatch.setitem(BUILT_IN, "absent", entry)
    with pytest.raises(MissingExtraError, match=r"pip install 'peerexam\[openai\]'"):
        create_agent(AgentSpec("a", "absent", "m"))
    info = next(info for info in installed_providers() if info.name == "absent")
    assert not info.installed
    assert info.install == "pip install 'peerexam[openai]'"


def test_another_packages_provider_comes_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(
        tmp_path, "good = plugin_good:create\nneedy = plugin_needy:create\nbad = plugin_good:x"
    )
    (tmp_path / "plugin_good.py").write_text(
        "from peerexam.agents.function import ScriptedAgent\n"
        "def create(spec): return ScriptedAgent(lambda request: 'hi', spec.name)\n"
    )
    (tmp_path / "plugin_needy.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert create_agent(AgentSpec("a", "good", "m")).name == "a"
    with pytest.raises(MissingExtraError, match="pip install no_such_package"):
        create_agent(AgentSpec("a", "needy", "m"))
    with pytest.raises(SetupError, match="bad"):
        create_agent(AgentSpec("a", "bad", "m"))
    sources = {info.name: info.source for info in installed_providers()}
    assert (sources["good"], sources["openai"]) == ("plugin", "built in")


def test_a_factory_that_breaks_is_named_with_its_agent_and_not_called_our_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, "brittle = plugin_brittle:create")
    (tmp_path / "plugin_brittle.py").write_text("def create(spec): return int(spec.model)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SetupError, match=r"agent 'odd': provider 'brittle'.*'six': ValueError"):
        create_agent(AgentSpec("odd", "brittle", "six"))


def _install(folder: Path, entries: str) -> None:
    meta = folder / "plugin-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text(f"[peerexam.agents]\n{entries}\n")


def test_whether_a_key_is_set_is_told_without_telling_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    info = next(info for info in installed_providers() if info.name == "openai")
    assert (info.key_variable, info.key_set) == ("OPENAI_API_KEY", True)
    assert "sk-secret" not in repr(info)
    monkeypatch.delenv("OPENAI_API_KEY")
    assert next(i for i in installed_providers() if i.name == "openai").key_set is False


def test_every_built_in_target_is_written_as_an_entry_point_is() -> None:
    for name, entry in BUILT_IN.items():
        assert EntryPoint(name, entry.target, "peerexam.agents").attr


def test_listing_providers_imports_no_heavy_package() -> None:
    code = (
        "import sys; from peerexam.agents.registry import installed_providers;"
        "installed_providers();"
        "print([m for m in ('openai', 'xllamacpp', 'numpy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert done.stdout.strip() == "[]"
