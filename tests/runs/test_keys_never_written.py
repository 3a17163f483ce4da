"""A key is planted wherever a key can come from, and everything that a run leaves is searched.

The servers repeat, in every error text, the headers and the path that they were sent.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from peerexam.testing.faults.server import Asked, Conditions, Fault, FaultServer, Reply, Scripted

# With characters that other spellings write otherwise.
KEYS = {
    "OPENAI_API_KEY": "sk-planted+openai/key==0123456789",
    "ANTHROPIC_API_KEY": "sk-planted+anthropic/key==0123456789",
}
PASSWORD = "planted+password/9876543210"
TOKEN = "planted-query-token-5555555555"
SHAPED = "sk-planted-in-the-exam-0123456789"  # known for a key by its shape
SECRETS = [*KEYS.values(), PASSWORD, TOKEN, SHAPED]

MARKS = "\n".join(
    f"{name}: 4" for name in ("accuracy", "coherence", "factuality", "comprehensiveness", "overall")
)
FAULTS = [fault for fault in Fault if fault is not Fault.CONNECTION_REFUSED]


def faulty(asked: Asked) -> Fault | str:
    """The model's name is the fault; other models answer, judge and mark."""
    if asked.body["model"] in set(Fault):
        return Fault(asked.body["model"])
    text = json.dumps(asked.body["messages"])
    if "Response 1" in text:
        return "Verdict: Response 1"
    return MARKS if "coherence" in text.lower() else "Blue."


@pytest.fixture
def server() -> Iterator[FaultServer]:
    numbers = Conditions(retry_after=0.01, slow_drip=30.0, echo_key=True)
    with FaultServer(faulty, numbers) as started:
        yield started


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose path has no `key_…` in it, as that of a test's name would."""
    return tmp_path_factory.mktemp("exam")


def spellings(secret: str) -> Iterator[bytes]:
    """The secret as it is, in a URL, in JSON, and in base64 wherever it stands in a longer text."""
    yield secret.encode()
    yield quote(secret, safe="").encode()
    yield quote(secret).encode()
    yield json.dumps(secret)[1:-1].replace("/", "\\/").encode()
    for lead in range(3):  # 3 bytes are 4 digits; the first and the last may hold others' bits
        digits = base64.b64encode(b"\0" * lead + secret.encode()).rstrip(b"=")
        yield digits[4:-1]
        yield digits[4:-1].translate(bytes.maketrans(b"+/", b"-_"))


# The slow ones say the same of clients that are not ours, whose errors pass the same redactor.
CLIENTS = ["lean", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sdk", "langchain"))]


def found_in(data: bytes) -> list[str]:
    return [secret for secret in SECRETS if any(form in data for form in spellings(secret))]


def leaks(folder: Path, *outputs: bytes) -> list[tuple[str, str]]:
    """Files and outputs that hold a secret, each with the secret."""
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    printed = {f"output {number}": output for number, output in enumerate(outputs)}
    return [(name, s) for name, data in (files | printed).items() for s in found_in(data)]


def write_exam(folder: Path, agents: list[dict[str, Any]]) -> Path:
    (folder / "questions.jsonl").write_text(
        '{"id": "sky", "text": "What colour is the sky?", "domain": "nature"}\n'
    )
    exam = {
        "name": "planted",
        "agents": agents,
        "questions": {"file": "questions.jsonl"},
        "judging": {"reasks": 0},
        "limits": {"concurrency": 40},
    }
    path = folder / "EXAM.json"
    path.write_text(json.dumps(exam))
    return path


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
    return kept | KEYS | {"PYTHONUNBUFFERED": "1"} | dict(extra or {})


def run(exam: Path, extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "peerexam", "--debug", "run", str(exam), "--out", "run"],
        cwd=exam.parent,
        env=environment(extra),
        capture_output=True,
        timeout=240,
    )


def examinee(provider: str, client: str, model: str, url: str = "") -> dict[str, Any]:
    at = f"@{url}" if url else ""
    by_langchain = f"langchain/{provider}:{model}{at}"
    return {
        "name": f"{provider}-{client}-{model}",
        "model": by_langchain if client == "langchain" else f"{provider}/{model}{at}",
        "roles": ["examinee"],
        "limits": {"attempts": 2, "timeout": 2.0},
        "options": {} if client == "langchain" else {"client": client},
        **({"api_key_env": f"{provider.upper()}_API_KEY"} if url else {}),
    }


def judge(url: str) -> dict[str, Any]:
    return {"name": "judge", "model": f"openai/judge@{url}", "roles": ["judge"]}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_no_fault_brings_a_key_into_a_runs_folder_or_onto_the_screen(
    provider: str, client: str, server: FaultServer, folder: Path
) -> None:
    if client != "lean":
        pytest.importorskip(provider if client == "sdk" else f"langchain_{provider}")
    url = server.openai_url if provider == "openai" else server.anthropic_url
    agents = [examinee(provider, client, model, url) for model in (*FAULTS, "good", "better")]
    ended = run(write_exam(folder, [*agents, judge(server.openai_url)]))
    assert ended.returncode == 3, ended.stderr.decode()  # it ends in order, agents being lost
    assert (folder / "run" / "report.html").exists()
    sent = {asked.key for asked in server.requests}
    assert KEYS[f"{provider.upper()}_API_KEY"] in sent, "the key was really used"
    everything = b"".join(path.read_bytes() for path in (folder / "run").iterdir())
    assert b"[key]" in everything, "and really repeated"
    assert leaks(folder, ended.stdout, ended.stderr) == []


WRITTEN: tuple[Callable[[str], str], ...] = (
    str,
    str.upper,
    repr,
    lambda key: quote(key, safe=""),
    lambda key: json.dumps(json.dumps(key)).replace("/", "\\/"),
    lambda key: base64.b64encode(key.encode()).decode(),
    lambda key: base64.b64encode(f"me:{key}".encode()).decode(),
)


def telling(asked: Asked) -> Scripted:
    """The model's name says in what kind of reply the key is told, in every field of it."""
    kind, _, number = str(asked.body["model"]).partition("-")
    if kind not in ("answers", "refuses", "breaks", "errs", "rejects"):
        return faulty(asked)
    told = f"It is {WRITTEN[int(number)](asked.key)}."
    headers = {"x-request-id": asked.key, "retry-after": asked.key}
    if kind in ("errs", "rejects"):
        words = dict.fromkeys(("message", "code", "type", "param"), told)
        return Reply(
            {"type": "error", "error": words}, 200 if kind == "errs" else 400, headers=headers
        )
    if asked.dialect == "anthropic":
        reason = {"refuses": "refusal", "breaks": "error"}.get(kind, f"end {told}")
        blocks = [{"type": part, part: told, "signature": told} for part in ("thinking", "text")]
        body: dict[str, Any] = {
            **{"id": told, "type": "message", "role": "assistant", "model": told},
            **{"content": blocks, "stop_reason": reason, "stop_sequence": told},
            **{"stop_details": {"explanation": told}},
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        return Reply(body, headers=headers)
    message = {"role": "assistant", "content": told, "reasoning_content": told, "name": told}
    message |= {"refusal": told} if kind == "refuses" else {}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": f"end {told}"}
    choice["logprobs"] = {"content": [{"token": told, "logprob": -1.0, "top_logprobs": []}]}
    if kind == "breaks":
        choice |= {"finish_reason": "error", "error": {"message": told, "code": told}}
    body = {"id": told, "object": told, "created": 1, "model": told, "choices": [choice]}
    body["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Reply(body, headers=headers)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_key_in_any_field_of_a_reply_is_in_nothing_that_a_run_leaves(
    provider: str, client: str, folder: Path
) -> None:
    if client != "lean":
        pytest.importorskip(provider if client == "sdk" else f"langchain_{provider}")
    models = [f"answers-{number}" for number in range(len(WRITTEN))]
    models += [f"{kind}-{number}" for number, kind in enumerate(("refuses", "breaks", "errs"))]
    models += ["breaks-3", "errs-4", "rejects-0", "rejects-3"]
    with FaultServer(telling) as server:
        url = server.openai_url if provider == "openai" else server.anthropic_url
        agents = [examinee(provider, client, model, url) for model in (*models, "good", "better")]
        for agent in agents:
            agent["limits"] = {"attempts": 1, "timeout": 100}
        ended = run(write_exam(folder, [*agents, judge(server.openai_url)]))
    assert ended.returncode == 3, ended.stderr.decode()
    exported = subprocess.run(
        [sys.executable, "-m", "peerexam", "export", "run", "--out", "out", "--no-parquet"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=240,
        check=True,
    )
    assert {asked.key for asked in server.requests} >= {KEYS[f"{provider.upper()}_API_KEY"]}
    answers = (folder / "run" / "answers.jsonl").read_bytes()
    assert answers.count(b"It is ") >= len(WRITTEN), "the answers themselves are kept"
    assert b"[key]" in answers
    lowered = {secret.lower().encode() for secret in SECRETS}
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    files = [data for data in files if not data.startswith(b'{"name": "planted"')]
    outputs = [ended.stdout, ended.stderr, exported.stdout, exported.stderr]
    assert not [s for data in (*files, *outputs) for s in lowered if s in data.lower()]
    assert leaks(folder, *outputs) == []


@pytest.mark.parametrize("client", CLIENTS[:2])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_login_in_an_endpoint_from_the_environment_is_used_and_never_written(
    provider: str, client: str, server: FaultServer, folder: Path
) -> None:
    if client == "sdk":
        pytest.importorskip(provider)
    plain = server.openai_url if provider == "openai" else server.anthropic_url
    url = plain.replace("//", f"//planted:{quote(PASSWORD, safe='')}@")
    agents = [examinee(provider, client, m) for m in (Fault.BAD_KEY, Fault.MALFORMED_JSON, "good")]
    exam = write_exam(folder, [*agents, judge(server.openai_url)])
    ended = run(exam, {f"{provider.upper()}_BASE_URL": url})
    assert ended.returncode == 3, ended.stderr.decode()
    assert len(server.requests) > 3, "the endpoint was reached"
    assert leaks(folder, ended.stdout, ended.stderr) == []


@pytest.mark.parametrize("client", CLIENTS[:2])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_token_in_an_endpoints_query_is_used_and_never_written(
    provider: str, client: str, server: FaultServer, folder: Path
) -> None:
    if client == "sdk":
        pytest.importorskip(provider)
    plain = server.openai_url if provider == "openai" else server.anthropic_url
    agents = [examinee(provider, client, m) for m in (Fault.BAD_KEY, Fault.MALFORMED_JSON, "good")]
    exam = write_exam(folder, [*agents, judge(server.openai_url)])
    ended = run(exam, {f"{provider.upper()}_BASE_URL": f"{plain}?api-key={TOKEN}"})
    assert ended.returncode == 3, ended.stderr.decode()
    paths = {asked.path for asked in server.requests}
    assert any(path.endswith(f"s?api-key={TOKEN}") for path in paths), paths
    assert leaks(folder, ended.stdout, ended.stderr) == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("place", ["login", "header", "extra_body", "option"])
def test_a_key_in_the_exam_itself_is_refused_without_repeating_it(
    provider: str, place: str, server: FaultServer, folder: Path
) -> None:
    key = KEYS[f"{provider.upper()}_API_KEY"]
    agent = examinee(provider, "lean", "good", server.openai_url)
    if place == "login":
        agent["model"] = f"{provider}/good"
        agent["base_url"] = server.openai_url.replace(
            "//", f"//planted:{quote(PASSWORD, safe='')}@"
        )
    elif place == "option":
        agent["model"] += f"?api_key={quote(key)}"
    else:
        inner = {"X-Api-Key": "x" * 20} if place == "header" else {"note": SHAPED}
        agent["options"] = {"headers" if place == "header" else "extra_body": inner}
    other = examinee("openai", "lean", "other", server.openai_url)
    ended = run(write_exam(folder, [agent, other, judge(server.openai_url)]))
    assert ended.returncode == 2, ended.stderr.decode()
    assert b"environment variable" in ended.stderr or b"api_key_env" in ended.stderr
    assert b"questions" not in ended.stderr, "it is the agent that is refused"
    assert not server.requests
    assert not found_in(ended.stdout + ended.stderr)
    assert not (folder / "run").exists() or leaks(folder / "run") == []


def test_a_key_without_a_keys_shape_is_refused_before_anything_is_written(
    server: FaultServer, folder: Path
) -> None:
    agent = examinee("openai", "lean", "good", server.openai_url)
    agent["options"] = {"extra_body": {"note": f"see {KEYS['OPENAI_API_KEY']}"}}
    other = examinee("openai", "lean", "other", server.openai_url)
    ended = run(write_exam(folder, [agent, other, judge(server.openai_url)]))
    assert ended.returncode == 2, ended.stderr.decode()
    assert not server.requests
    assert leaks(folder / "run", ended.stdout, ended.stderr) == []


def test_no_key_is_in_what_a_killed_run_leaves(server: FaultServer, folder: Path) -> None:
    models = (Fault.BAD_KEY, Fault.OVERLOADED, Fault.HANG, "good")
    agents = [
        {**examinee(p, "lean", m, u), "limits": {"attempts": 1, "timeout": 60}}
        for p, u in (("openai", server.openai_url), ("anthropic", server.anthropic_url))
        for m in models
    ]
    exam = write_exam(folder, [*agents, judge(server.openai_url)])
    command = [sys.executable, "-m", "peerexam", "--debug", "run", str(exam), "--out", "run"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        log = folder / "run" / "ledger.sqlite-wal"
        until = time.monotonic() + 60
        while time.monotonic() < until and not (log.exists() and b"[key]" in log.read_bytes()):
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        output = running.communicate()
    assert log.exists(), output[1].decode()
    assert b"[key]" in log.read_bytes(), "the failures stand in the write-ahead log"
    assert leaks(folder, *output) == []
