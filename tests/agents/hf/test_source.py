import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from peerexam.agents.hf.options import OPTIONS
from peerexam.agents.hf.source import find_source
from peerexam.agents.registry import create_agent, installed_providers
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Json
from peerexam.errors import SetupError


def spec_of(text: str, **options: Json) -> AgentSpec:
    provider, model, base_url, found = parse_model(text)
    return AgentSpec("one", provider, model, base_url, options={**found, **options})


def test_the_provider_is_known_with_the_command_that_installs_it() -> None:
    (info,) = (one for one in installed_providers() if one.name == "hf")
    assert info.install == "pip install 'peerexam[hf]'"
    assert info.key_variable is None


def test_a_moved_folder_is_the_same_model_and_a_changed_one_is_not(
    small_models: Any, base_model: Path, chat_model: Path
) -> None:
    moved = small_models.copy(base_model)
    changed = small_models.with_json(base_model, "generation_config.json", do_sample=True)
    same, other, third = (find_source(str(path), None) for path in (moved, changed, chat_model))
    original = find_source(str(base_model), None)
    assert original.identity == same.identity
    assert original.identity != other.identity
    assert str(base_model.parent) not in json.dumps(dict(original.identity))
    assert (original.has_template, third.has_template) == (False, True)


def test_a_folder_may_be_written_in_every_way_a_path_can(
    base_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(base_model.parent)
    monkeypatch.setenv("HOME", str(base_model.parent))
    ways = [f"./{base_model.name}", f"~/{base_model.name}", str(base_model)]
    assert {find_source(way, None).folder for way in ways} == {base_model.resolve()}
    with pytest.raises(SetupError, match="hub"):  # a bare name is the hub's, whatever lies here
        find_source(base_model.name, None)


def test_a_chat_template_may_stand_in_the_tokenizers_config(
    small_models: Any, base_model: Path
) -> None:
    folder = small_models.with_json(base_model, "tokenizer_config.json", chat_template="{{ 1 }}")
    assert find_source(str(folder), None).has_template


def test_a_folder_that_is_not_there_or_holds_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no folder with weights: .*nowhere"):
        find_source(f"{tmp_path}/nowhere", None)
    with pytest.raises(SetupError, match=r"no config\.json"):
        find_source(str(tmp_path), None)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(SetupError, match="no JSON object"):
        find_source(str(tmp_path), None)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SetupError, match=r"cannot read .*config\.json"):
        find_source(str(tmp_path), None)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SetupError, match="no weights"):
        find_source(str(tmp_path), None)


def test_pickled_weights_are_refused_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "pytorch_model.bin").write_bytes(b"not even read")
    with pytest.raises(SetupError, match=r"pickled .* convert them"):
        find_source(str(tmp_path), None)


def test_code_of_a_models_own_needs_leave(small_models: Any, base_model: Path) -> None:
    pytest.importorskip("transformers")
    auto_map = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
    own = small_models.with_json(
        base_model, "config.json", model_type="never-heard-of", auto_map=auto_map
    )
    with pytest.raises(SetupError, match="trust_remote_code=true"):
        find_source(str(own), None)
    assert find_source(str(own), None, trust_remote_code=True).name == own.name
    # Transformers' own code runs this one; the code beside it is left alone.
    known = small_models.with_json(base_model, "config.json", auto_map=auto_map)
    assert find_source(str(known), None).name == known.name


def test_a_gguf_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(SetupError, match="no GGUF file"):
        find_source(f"{tmp_path}/text.gguf", None)
    with pytest.raises(SetupError, match=r"cannot read weights .*none\.gguf"):
        find_source(f"{tmp_path}/none.gguf", None)


def test_what_is_neither_a_path_nor_a_hub_name_is_told_the_three_ways() -> None:
    with pytest.raises(SetupError, match=r"hf/ORG/NAME.*hf/\./folder.*\.gguf"):
        find_source("a/b/c", None)


def test_a_path_has_no_revision(base_model: Path) -> None:
    with pytest.raises(SetupError, match="revision is for models on the hub"):
        find_source(str(base_model), "main")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("flavour=mint", "batch_size, batch_tokens, chat"),
        ("device=tpu", "device is one of auto, cpu"),
        ("dtype=int3", "dtype is one of auto, float32"),
        ("batch_size=0", "batch_size"),
        ("batch_tokens=1", "batch_tokens"),
        ("max_context=two", "max_context"),
        ("threads=true", "threads"),
        ("chat=maybe", "chat is true or false"),
        ("trust_remote_code=1", "trust_remote_code"),
    ],
)
def test_a_wrong_option_is_named(base_model: Path, options: str, named: str) -> None:
    with pytest.raises(SetupError, match=named):
        create_agent(spec_of(f"hf/{base_model}?{options}"))


def test_an_endpoint_makes_no_sense(base_model: Path) -> None:
    with pytest.raises(SetupError, match="no @url"):
        create_agent(spec_of(f"hf/{base_model}@http://127.0.0.1:1/v1"))


def test_a_device_that_is_not_here_is_named(base_model: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(SetupError, match="finds no cuda"):
        create_agent(spec_of(f"hf/{base_model}?device=cuda"))


COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_planted_secret"


class Hub(ThreadingHTTPServer):
    """A hub on loopback, as far as huggingface_hub asks one about public repositories."""

    def __init__(self, repositories: dict[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _HubHandler)
        self.repositories = repositories
        self.fetched: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def describe(self, repository: str, what: str, revision: str) -> tuple[int, str, Any]:
        """Status, error code and JSON of `/api/models/REPOSITORY/WHAT/REVISION`."""
        if repository not in self.repositories:
            return 401, "RepoNotFound", {}
        if repository.startswith("gated/"):
            return 403, "GatedRepo", {}
        if revision not in ("main", COMMIT):
            return 404, "RevisionNotFound", {}
        paths = sorted(self.repositories[repository].iterdir())
        if what == "tree":
            entry = {"type": "file", "oid": "0"}
            return (
                200,
                "",
                [{**entry, "path": path.name, "size": path.stat().st_size} for path in paths],
            )
        siblings = [{"rfilename": path.name} for path in paths]
        return 200, "", {"id": repository, "sha": COMMIT, "siblings": siblings}


class _HubHandler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, *, with_body: bool) -> None:
        parts = unquote(self.path).split("?")[0].strip("/").split("/")
        if parts[0] == "api":
            what, revision = parts[4:6] or ("", "main")
            status, code, body = self.server.describe("/".join(parts[2:4]), what, revision)
            self._send(status, json.dumps(body).encode(), {"X-Error-Code": code}, with_body)
            return
        repository, name = "/".join(parts[:2]), "/".join(parts[4:])
        body = (self.server.repositories[repository] / name).read_bytes()
        if with_body:
            self.server.fetched.append(name)
        headers = {"ETag": f'"{len(body)}-{name}"', "X-Repo-Commit": COMMIT}
        self._send(200, body, headers, with_body)

    def _send(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


@pytest.fixture
def hub(small_models: Any, chat_model: Path) -> Iterator[Hub]:
    pickled = small_models.with_json(chat_model, "notes.json")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    both = small_models.copy(chat_model)
    shutil.copy(both / "model.safetensors", both / "pytorch_model.bin")
    (both / "modeling_mine.py").write_text("raise SystemExit")
    made = Hub({"org/tiny": both, "org/pickled": pickled, "gated/tiny": chat_model})
    yield made
    made.close()


ASK = """
import asyncio, json, sys
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Message, Request, Sampling

async def main(text):
    provider, model, _, options = parse_model(text)
    agent = create_agent(AgentSpec("one", provider, model, options=options | {"device": "cpu"}))
    reply = await agent.complete(Request((Message("user", "Rome?"),), Sampling(max_tokens=3)))
    await agent.close()
    print(json.dumps([dict(agent.fingerprint), sorted(agent.features), reply.model]))

asyncio.run(main(sys.argv[1]))
"""


def ask(
    model: str, endpoint: str, home: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """In a process of its own: huggingface_hub reads its settings once, when it is imported."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    environment.pop("HF_HUB_OFFLINE", None)
    environment.update(variables)
    return subprocess.run(
        [sys.executable, "-c", ASK, model],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_model_on_the_hub_is_fetched_at_one_commit_and_asked_again_without_the_hub(
    hub: Hub, tmp_path: Path
) -> None:
    first = ask("hf/org/tiny", hub.url, tmp_path)
    assert first.returncode == 0, first.stderr
    fingerprint, features, answered = json.loads(first.stdout.splitlines()[-1])
    assert (fingerprint["model"], fingerprint["revision"]) == ("org/tiny", COMMIT)
    assert "chat" in features
    assert answered == "org/tiny"
    assert "model.safetensors" in hub.fetched
    # Neither pickled weights nor code is brought here.
    assert not [name for name in hub.fetched if name.endswith((".bin", ".py"))]

    offline = ask("hf/org/tiny", "http://127.0.0.1:9", tmp_path, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert json.loads(offline.stdout.splitlines()[-1]) == [fingerprint, features, answered]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("hf/org/pickled", "org/pickled on the hub holds pickled weights only"),
        ("hf/org/nothing", "the hub knows no model 'org/nothing'"),
        ("hf/org/tiny?revision=v9", "org/tiny has no revision 'v9'"),
        ("hf/gated/tiny", "gated/tiny is gated: accept its terms"),
    ],
)
def test_what_the_hub_will_not_give_is_a_set_up_error(
    hub: Hub, tmp_path: Path, model: str, said: str
) -> None:
    failed = ask(model, hub.url, tmp_path)
    assert failed.returncode == 1
    assert f"peerexam.errors.SetupError: {said}" in failed.stderr
    assert TOKEN not in failed.stderr


def test_without_a_hub_what_is_missing_is_named_with_the_command(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    failed = ask("hf/org/tiny", "http://127.0.0.1:9", tmp_path, HF_HUB_OFFLINE="1")
    assert "org/tiny is not here and cannot be fetched from the hub" in failed.stderr
    assert "hf download org/tiny" in failed.stderr
    assert TOKEN not in failed.stderr


def test_the_docs_name_every_option() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "local-models.md"
    rows = re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(OPTIONS)
