"""Pushing with the hub's own client to a real server that speaks the few endpoints it needs."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import PeerexamError, SetupError
from peerexam.report.export.hub import Hub, how_to_push

pytest.importorskip("huggingface_hub")

TOKEN = "hf_" + "a" * 20


class FakeHub:
    """A hub of one user, `ann`, and her organisation `lab`.

    Attributes:
        repos: Name to whether it is private.
        files: What was committed, by path.
        deleted: Paths that a commit deleted.
        role: Of the token.
        asked: Method and path of every request.
    """

    def __init__(self) -> None:
        self.repos: dict[str, bool] = {}
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.role = "write"
        self.asked: list[str] = []
        self.tokens: set[str] = set()
        self.broken = False
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def _go(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                hub.tokens.add(self.headers.get("authorization") or "")
                hub.asked.append(f"{self.command} {self.path}")
                status, body = hub.answer(self.command, self.path.partition("?")[0], raw)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                if status == 404:
                    self.send_header("x-error-code", "RepoNotFound")
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_HEAD = do_PUT = _go

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, raw: bytes) -> tuple[int, Any]:
        if path == "/api/whoami-v2":
            auth = {"accessToken": {"role": self.role}}
            return 200, {"type": "user", "name": "ann", "orgs": [{"name": "lab"}], "auth": auth}
        if path == "/api/repos/create":
            body = json.loads(raw)
            name = f"{body.get('organization') or 'ann'}/{body['name']}"
            self.repos.setdefault(name, body.get("private") or body.get("visibility") == "private")
            return 200, {"url": f"{self.url}/datasets/{name}"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        name = "/".join(path.split("/")[3:5])
        if not path.startswith("/api/datasets/") or name not in self.repos:
            return 404, {"error": "Repository not found"}
        return self._about(name, path, raw)

    def _about(self, name: str, path: str, raw: bytes) -> tuple[int, Any]:
        if "/preupload/" in path:
            if self.broken:
                return 400, {"error": "the disk is full"}
            asked = json.loads(raw)["files"]
            modes = [{"path": f["path"], "uploadMode": "regular"} for f in asked]
            return 200, {"files": [{**mode, "shouldIgnore": False} for mode in modes]}
        if "/commit/" in path:
            for line in raw.splitlines():
                entry = json.loads(line)
                value = entry["value"]
                if entry["key"] == "file":
                    self.files[value["path"]] = base64.b64decode(value["content"])
                elif entry["key"] == "deletedFile":
                    self.deleted.append(value["path"])
            oid = "0" * 40
            return 200, {"commitOid": oid, "commitUrl": f"{self.url}/datasets/{name}/commit/{oid}"}
        siblings = [{"rfilename": file} for file in self.files]
        if "/tree/" in path:
            tree = [{"type": "file", "path": f, "oid": "1", "size": 1} for f in self.files]
            return 200, tree
        body = {"id": name, "private": self.repos[name], "siblings": siblings, "sha": "0" * 40}
        return 200, body


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    server = FakeHub()
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "set"
    (out / "data").mkdir(parents=True)
    (out / "README.md").write_text("---\nlicense: other\n---\n# A set\n")
    (out / "manifest.json").write_text("{}")
    (out / "canary.txt").write_text("canary")
    (out / "data" / "questions.jsonl").write_text('{"id":"q1"}\n')
    (out / "ledger.sqlite").write_text("what models said")
    (out / "exam.yaml").write_text("name: at home")
    return out


def at(server: FakeHub, name: str = "ann/set", *, public: bool = False) -> Hub:
    return Hub(name, public=public, endpoint=server.url, token=TOKEN)


@pytest.mark.parametrize("public", [False, True])
def test_a_data_set_goes_up_without_ledger_and_config(
    hub: FakeHub, folder: Path, public: bool
) -> None:
    place = at(hub, public=public)
    place.check()
    assert hub.repos == {}  # looking changes nothing
    assert place.push(folder) == f"{hub.url}/datasets/ann/set"
    assert hub.repos == {"ann/set": not public}
    assert sorted(hub.files) == ["README.md", "canary.txt", "data/questions.jsonl", "manifest.json"]
    assert hub.files["data/questions.jsonl"] == b'{"id":"q1"}\n'
    assert hub.tokens == {f"Bearer {TOKEN}"}
    assert not any(TOKEN.encode() in content for content in hub.files.values())


def test_files_of_an_earlier_set_are_deleted(hub: FakeHub, folder: Path) -> None:
    hub.repos["ann/set"] = True
    hub.files = {"data/levels.parquet": b"old", "notes.md": b"kept"}
    at(hub).push(folder)
    assert hub.deleted == ["data/levels.parquet"]


def test_without_a_token_nothing_is_tried(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(SetupError, match="hf auth login"):
        Hub("ann/set", endpoint=hub.url).check()
    assert hub.asked == []


def test_a_token_that_may_only_read_is_refused(hub: FakeHub) -> None:
    hub.role = "read"
    with pytest.raises(SetupError, match="may only read"):
        at(hub).check()


def test_another_owner_is_refused_and_an_organisation_of_ones_own_is_not(hub: FakeHub) -> None:
    with pytest.raises(SetupError, match=r"no right to 'bob'.* push to ann/set"):
        at(hub, "bob/set").check()
    at(hub, "lab/set").check()


def test_what_everyone_sees_is_not_added_to_in_private_nor_the_other_way_round(
    hub: FakeHub, folder: Path
) -> None:
    hub.repos["ann/set"] = False
    with pytest.raises(SetupError, match="visible to everyone: add --public"):
        at(hub).check()
    with pytest.raises(SetupError, match="visible to everyone"):
        at(hub).push(folder)
    assert hub.files == {}
    hub.repos["ann/set"] = True
    with pytest.raises(SetupError, match="is there and private"):
        at(hub, public=True).check()


def test_a_hub_that_cannot_be_reached_is_refused_before_anything_is_asked(hub: FakeHub) -> None:
    place = at(hub)
    hub.stop()
    with pytest.raises(SetupError, match="cannot push to ann/set"):
        place.check()


def test_a_push_that_fails_says_what_the_hub_said(hub: FakeHub, folder: Path) -> None:
    hub.broken = True
    with pytest.raises(PeerexamError, match=r"could not push to ann/set: .*disk is full"):
        at(hub).push(folder)
    assert "hf upload ann/set" in how_to_push(folder, "ann/set")


@pytest.mark.parametrize("name", ["set", "ann/", "../set", "ann/set/more", "ann set", ""])
def test_a_name_that_is_no_place_on_the_hub_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match="write OWNER/NAME"):
        Hub(name)
