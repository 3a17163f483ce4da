"""Where a provider's own key goes, and where it does not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Message, Request
from peerexam.cli.dotenv import load_dotenv
from peerexam.errors import BadKeyError, SetupError
from peerexam.testing.faults.server import Fault, FaultServer

KEY = "sk-planted-0123456789abcdef"
ASK = Request((Message("user", "Why?"),))
PROVIDERS = ("openai", "anthropic", "langchain-openai", "langchain-anthropic")


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found = str(request.param)
    if found.startswith("langchain"):
        pytest.importorskip(found.replace("-", "_"))
    for name in ("OPENAI", "ANTHROPIC"):
        for end in ("API_KEY", "BASE_URL", "API_BASE", "API_URL"):
            monkeypatch.delenv(f"{name}_{end}", raising=False)
    return found


def api(provider: str) -> str:
    return provider.removeprefix("langchain-")


def variable(provider: str, end: str = "API_KEY") -> str:
    return f"{api(provider).upper()}_{end}"


def url_of(server: FaultServer, provider: str) -> str:
    return server.openai_url if api(provider) == "openai" else server.anthropic_url


def spec_of(
    provider: str,
    url: str | None = None,
    key: str | None = None,
    options: Mapping[str, bool] | None = None,
) -> AgentSpec:
    model = f"{api(provider)}:m" if provider.startswith("langchain") else "m"
    return AgentSpec("pupil", provider.split("-")[0], model, url, key, options or {})


async def sent(server: FaultServer, spec: AgentSpec) -> list[str]:
    """What came with one call, in any header."""
    agent = create_agent(spec)
    await agent.complete(ASK)
    await agent.close()
    return [KEY for asked in server.requests if KEY in f"{asked.headers}"]


async def test_another_endpoint_gets_no_key_unless_its_variable_is_named(
    provider: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(variable(provider), KEY)
    with FaultServer(["Fine."]) as server:
        url = url_of(server, provider)
        assert await sent(server, spec_of(provider, url)) == []
        assert f"no key is sent to {url}" in caplog.text
        assert f"api_key_env: {variable(provider)}" in caplog.text
        assert KEY not in caplog.text
        assert await sent(server, spec_of(provider, url, variable(provider))) == [KEY]


async def test_the_endpoint_that_is_named_beside_the_key_gets_it(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(provider), KEY)
    with FaultServer(["Fine."]) as server:
        monkeypatch.setenv(variable(provider, "BASE_URL"), url_of(server, provider))
        assert await sent(server, spec_of(provider)) == [KEY]
        # The same one, written out, is no other.
        assert len(await sent(server, spec_of(provider, url_of(server, provider)))) == 2
        with FaultServer(["Fine."]) as other:
            assert await sent(other, spec_of(provider, url_of(other, provider))) == []


@pytest.mark.parametrize("in_file", ["BASE_URL", "API_KEY", "both"])
async def test_a_key_and_an_endpoint_of_two_places_do_not_come_together(
    provider: str, in_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultServer(["Fine."]) as server:
        key = f"{KEY}-{provider}-{in_file}"  # where one came from is known by its value, too
        values = {"BASE_URL": url_of(server, provider), "API_KEY": key}
        lines = []
        for end, value in values.items():
            # So that whatever the file sets is taken back after the test.
            monkeypatch.setenv(variable(provider, end), value)
            if in_file in (end, "both"):
                monkeypatch.delenv(variable(provider, end))
                lines.append(f"{variable(provider, end)}={value}\n")
        (tmp_path / ".env").write_text("".join(lines))
        load_dotenv(os.environ, tmp_path)
        assert os.environ[variable(provider)] == key
        found = await sent(server, spec_of(provider))
        assert found == ([KEY] if in_file == "both" else [])


@pytest.mark.parametrize("host", ["models.example", "10.0.0.7", "192.168.1.5:8000"])
def test_a_key_goes_to_no_other_machine_over_plain_http_unless_asked_for(
    provider: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUPIL_KEY", KEY)
    with pytest.raises(SetupError, match=r"plain HTTP.*allow_plain_http: true") as caught:
        create_agent(spec_of(provider, f"http://{host}/v1", "PUPIL_KEY"))
    assert KEY not in str(caught.value)
    create_agent(spec_of(provider, f"http://{host}/v1", "PUPIL_KEY", {"allow_plain_http": True}))
    create_agent(spec_of(provider, f"https://{host}/v1", "PUPIL_KEY"))
    create_agent(spec_of(provider, f"http://{host}/v1"))  # without a key


@pytest.mark.parametrize("secret", ["//me:pass-word-1@models.example", "//models.example"])
def test_a_login_and_a_token_are_keys_too(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    query = "" if "@" in secret else "?token=0123456789abcdef"
    with pytest.raises(SetupError, match="plain HTTP") as caught:
        create_agent(AgentSpec("pupil", "openai", "m", f"http:{secret}/v1{query}"))
    assert "pass-word" not in str(caught.value)
    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize("provider_name", ["openai", "anthropic"])
async def test_who_is_refused_for_want_of_a_key_is_told_which_to_name(
    provider_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(provider_name), KEY)
    with FaultServer([Fault.BAD_KEY]) as server:
        agent = create_agent(spec_of(provider_name, url_of(server, provider_name)))
        with pytest.raises(BadKeyError, match=f"api_key_env: {variable(provider_name)}"):
            await agent.complete(ASK)
        await agent.close()


@pytest.mark.parametrize("host", ["api.openai.com.evil.example", "evilapi.openai.com", "x@y"])
def test_a_host_that_only_looks_like_the_providers_gets_no_key(
    host: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    create_agent(AgentSpec("pupil", "openai", "m", f"https://{host}/v1"))
    assert "no key is sent" in caplog.text
