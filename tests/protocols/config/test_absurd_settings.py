"""Slips in an exam's file that `validate` and `plan` find before any model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from peerexam.cli import main

SOUND: dict[str, Any] = {
    "agents": [
        {"name": "a", "model": "sim/a?ability=1"},
        {"name": "b", "model": "sim/b?ability=0"},
        {"name": "c", "model": "openai/gpt-4o-mini"},
    ],
    "questions": {"domains": ["tides"], "per_domain": 2},
}

INFINITE, NAN = float("inf"), float("nan")

# Where, what, and a word of the message.
SLIPS: list[tuple[str, Any, str]] = [
    *(
        (place, value, place.rpartition(".")[2])
        for value in (INFINITE, NAN, -1.0, 1e300)
        for place in (
            "agents.2.price.input",
            "agents.2.price.output",
            "agents.2.temperature",
            "agents.2.top_p",
            "agents.2.limits.timeout",
            "agents.2.limits.deadline",
            "agents.2.budget.usd",
            "agents.2.judge.tie_within",
            "agents.2.judge.pass_at",
            "answers.temperature",
            "questions.temperature",
            "questions.retry_temperature",
            "questions.references.temperature",
            "voting.confidence",
            "limits.stall_warning",
            "limits.budget.usd",
            "limits.budget.seconds",
        )
    ),
    *(
        (place, value, place.rpartition(".")[2])
        for value in (10**12, 10**30)
        for place in (
            "agents.2.max_tokens",
            "agents.2.limits.attempts",
            "agents.2.limits.concurrency",
            "agents.2.limits.max_concurrency",
            "agents.2.limits.give_up_after",
            "agents.2.limits.requests_per_minute",
            "answers.max_tokens",
            "questions.max_tokens",
            "questions.per_domain",
            "questions.attempts",
            "questions.references.draws",
            "follow_ups.rounds",
            "follow_ups.sample",
            "judging.reasks",
            "judging.quorum",
            "voting.rounds",
            "limits.concurrency",
            "limits.window",
        )
    ),
    ("seed", 2**63, "seed"),
    ("agents.2.seed", 2**63, "seed"),
    ("limits.budget.calls", 10**30, "calls"),
    *(
        ("agents.2.base_url", url, "no URL")
        for url in (
            "",
            "localhost:8000",
            "//127.0.0.1/v1",
            "ftp://127.0.0.1/v1",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://",
            "http:///v1",
            "http://:8000/v1",
            "http://a b/v1",
            "http://h\\v1",
            "http://h\t/v1",
            "http://h:0/v1",
            "http://h:99999/v1",
            "http://h:abc/v1",
            "http://h:-1/v1",
            "http://[::1/v1",
            "http://::1/v1",
            "http://./v1",
            "http://h..x/v1",
            "http://-h-/v1",
            "http://h/v1#part",
            "http://" + "x" * 64 + "/v1",
        )
    ),
    *(
        ("agents.2.model", f"openai/m{rest}", word)
        for rest, word in {
            "@http://h:99999": "no URL",
            "@http://": "no URL",
            "@https://a b": "no URL",
            " ": "blank",
            "?temperature=inf": "temperature",
            "?temperature=1e400": "temperature",
            "?temperature=-1": "temperature",
            "?temperature=hot": "temperature",
            "?temperature=1&temperature=2": "twice",
            "?=1": "without a name",
            "?top_p=2": "top_p",
            "?max_tokens=0": "max_tokens",
            "?max_tokens=ten": "max_tokens",
            "?max_tokens=1000000000000": "max_tokens",
            "?seed=1.5": "seed",
        }.items()
    ),
    *(
        ("agents.2.model", model, word)
        for model, word in {
            "openai/m?temprature=1": "temprature",
            "openai/m?client=foo": "client",
            "openai/m?timeout=-1": "timeout",
            "openai/m?max_tokens_param=limit": "max_tokens_param",
            "anthropic/m?foo=1": "foo",
            "anthropic/m?thinking=3": "thinking",
            "anthropic/m?default_max_tokens=0": "default_max_tokens",
            "local/smollm2?context=ten": "context",
            "local/smollm2?context=99999999999": "context",
            "local/smollm2?contex=10": "contex",
            "local/smollm2?slots=0": "slots",
            "local/smollm2?min_p=2": "min_p",
            "local/smollm2?chat=maybe": "chat",
            "hf/org/x?dtype=float9": "dtype",
            "hf/org/x?device=tpu": "device",
            "hf/org/x?batch_size=0": "batch_size",
        }.items()
    ),
    ("agents.2.options", {"foo": 1}, "foo"),
    ("agents.2.options", {"headers": {"bad name": "x"}}, "header"),
    ("agents.2.options", {"temperature": NAN}, "temperature"),
    ("agents.2.options", {"extra_body": {"a": [1, INFINITE]}}, "extra_body"),
    *(
        (place, name, "name")
        for place in ("name", "agents.2.name")
        for name in (" ", "x\ny", "a\x1b[31m", "\u202eabc", "\x00", "a\u2028b")
    ),
    ("agents.2.api_key_env", "", "api_key_env"),
    ("agents.2.variant_of", "c", "itself"),
    ("output", "runs/\x00x", "control character"),
]


def changed(place: str, value: Any) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load(yaml.safe_dump(SOUND))
    *above, last = place.split(".")
    at: Any = body
    for part in above:
        at = at[int(part)] if part.isdecimal() else at.setdefault(part, {})
    if last in ("input", "output") and above[-1:] == ["price"]:
        at.update({"input": 1, "output": 1})
    at[last] = value
    return body


@pytest.mark.parametrize("command", ["validate", "plan"])
@pytest.mark.parametrize(("place", "value", "word"), SLIPS)
def test_a_slip_is_named_with_its_line_and_asks_nobody(
    place: str,
    value: Any,
    word: str,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "EXAM.yaml"
    path.write_text(yaml.safe_dump(changed(place, value)))
    assert main([command, str(path)]) == 2
    said = capsys.readouterr().err
    assert word in said
    assert f"{path}:" in said
    assert "fault of peerexam" not in said
    assert "\x1b" not in said.replace("\\x1b", "")


def test_more_questions_than_any_exam_has_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = changed("questions.per_domain", 900_000)
    body["questions"]["domains"] = [f"domain {number}" for number in range(5)]
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(body))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 2
    assert "13,500,000 questions" in capsys.readouterr().err  # 3 examiners × 5 × 900,000


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "https://api.example.org",
        "HTTP://Example.org/v1/",
        "http://[::1]:8000/v1",
        "http://my_server.internal:8000/v1",
        "http://bücher.example/v1",
        "https://example.org.:443/openai/v1?api-version=2",
    ],
)
def test_every_usual_endpoint_is_taken(url: str, tmp_path: Path) -> None:
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(changed("agents.2.base_url", url)))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 0


TEMPLATES: dict[str, tuple[str, str]] = {
    "{{ question": ("compare", "line 1"),
    "{% for %}": ("mark", "line 1"),
    "{% if ties %}{{ question }}": ("compare", "line 1"),
    "{{ question }} {{ response_1 }} {{ response2 }}": ("compare", "no field 'response2'"),
    "{{ question }} {{ response_1 }}": ("compare", "does not show the response_2"),
    "{{ question }}": ("mark", "does not show the answer"),
    "{% if false %}{{ question }}{% endif %}x": ("answer", "does not show the question"),
    "nothing of it": ("questions_peer", "does not show the domain"),
    "   ": ("answer", "no text at all"),
    "{{ question }}{{ 1 / 0 }}": ("answer", "ZeroDivisionError"),
    "{{ question + 1 }}": ("answer", "TypeError"),
    "{{ question }}{{ question.missing }}": ("answer", "UndefinedError"),
    "{{ question.__class__.__mro__ }}{{ question }}": ("answer", "SecurityError"),
    "{{ question }}{% include 'nowhere' %}": ("answer", "TemplateNotFound"),
    "{{ question }}{% for i in range(10000000) %}.{% endfor %}": ("answer", "OverflowError"),
    "{{ question | nofilter }}": ("answer", "nofilter"),
}


@pytest.mark.parametrize(("text", "name", "said"), [(t, *v) for t, v in TEMPLATES.items()])
def test_a_broken_prompt_is_named_before_anything_is_asked(
    text: str, name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.j2").write_text(text)
    body = changed("prompts", {name: "mine.j2"})
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(body))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert f"prompt '{name}'" in error


def test_a_prompt_that_is_no_text_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.j2").write_bytes(b"\xff\xfe{{ question }}")
    body = changed("prompts", {"answer": "mine.j2"})
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(body))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 2
    assert "mine.j2 cannot be read" in capsys.readouterr().err


def test_a_prompt_that_fails_for_one_setting_only_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "{{ question }} {{ response_1 }} {{ response_2 }}{% if as_json %}{{ 1 / 0 }}{% endif %}"
    (tmp_path / "mine.j2").write_text(text)
    body = changed("prompts", {"compare": "mine.j2"})
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(body))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_every_shipped_prompt_of_an_exam_passes_as_a_users_own(tmp_path: Path) -> None:
    from peerexam.examiners.prompting.library import PromptLibrary

    library = PromptLibrary()
    assert {name: library.problem(name) for name in library.names} == dict.fromkeys(library.names)


def test_a_broken_rubric_is_named_by_validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rubric.yaml").write_text("dimensions: 3\n")
    body = changed("judging.rubric", "rubric.yaml")
    (tmp_path / "EXAM.yaml").write_text(yaml.safe_dump(body))
    assert main(["validate", str(tmp_path / "EXAM.yaml")]) == 2
    assert "rubric" in capsys.readouterr().err
