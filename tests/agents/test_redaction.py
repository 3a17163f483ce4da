"""Keys are found in any spelling, placeholders are left alone, and nothing else is changed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import FunctionAgent
from peerexam.agents.layers.stack import LayerSettings, wrap
from peerexam.agents.redaction import REDACTED, Redactor, is_secret, secrets_in
from peerexam.calls import Completion, Message, Request, TokenLogprob
from peerexam.errors import PermanentError, RateLimitedError, RefusedParameterError

KEY = "sk-planted+some/key==0123456789"

keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=14, max_size=60).filter(
    lambda text: is_secret(text) and sum(char.isalnum() for char in text) >= 10
)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "upper": str.upper,
    "swapped case": str.swapcase,
    "quoted": repr,
    "JSON": lambda key: json.dumps(key).replace("/", "\\/"),
    "JSON in JSON": lambda key: json.dumps(json.dumps({"k": key})),
    "all escaped": escaped,
    "URL": lambda key: quote(key, safe=""),
    "URL twice": lambda key: quote(quote(key, safe=""), safe=""),
    "all URL-encoded": lambda key: "".join(f"%{ord(char):02x}" for char in key),
    "HTML": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"me:{key}".encode()).decode(),
    "base64 inside": lambda key: base64.urlsafe_b64encode(f"x={key};y".encode()).decode(),
    "octal": lambda key: "".join(f"\\{ord(char):03o}" for char in key),
    "JavaScript": lambda key: "".join(f"\\u{{{ord(char):x}}}" for char in key),
    "long escapes": lambda key: "".join(f"\\U{ord(char):08x}" for char in key),
    "HTML by name": lambda key: key.replace("+", "&plus;").replace("/", "&sol;"),
    "unseen characters": "\u200b".join,
    "hexadecimal": lambda key: key.encode().hex(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(key=keys, before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_key_is_redacted_in_any_spelling(
    spelling: str, key: str, before: str, after: str
) -> None:
    written = SPELLINGS[spelling](key)
    redacted = Redactor([key])(f"{before} {written} {after}")
    assert REDACTED in redacted
    # Whatever of it is left is too little to be read by any of the ways back.
    assert key.lower() not in redacted.lower()
    assert written not in redacted


@given(text=st.text(), key=keys)
def test_a_text_without_the_key_stays_as_it_is(text: str, key: str) -> None:
    if key.lower() not in text.lower():
        assert Redactor([key])(text) == text


PLACEHOLDERS = (
    "x token EMPTY sk-test none dummy ollama lm-studio not-needed sk-no-key-required "
    "placeholder your-api-key-here anything sk-1234 token-abc123 xxxxxxxxxxxx changeme"
)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS.split())
def test_a_placeholder_is_no_secret(placeholder: str) -> None:
    assert not is_secret(placeholder)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        "sk-proj-8fQz",
        "0123456789abcdef",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "sk-ant-api03-AbCdEf",
        "sk-1234567890",
        "hunter22",
        "correcthorsebatterystaple",
        "5555555555",
    ],
)
def test_what_may_be_a_key_is_one(key: str) -> None:
    assert is_secret(key)


def test_every_text_of_a_completion_is_redacted_and_tokens_that_spell_a_key_together() -> None:
    pieces = [KEY[:5], KEY[5:20], KEY[20:], "!"]
    found = Redactor([KEY]).completion(
        Completion(
            f"it is {KEY}",
            thinking=f"say {quote(KEY, safe='')}",
            finish_reason=KEY,
            model=f"m/{KEY}",
            logprobs=tuple(TokenLogprob(piece, -1.0) for piece in ["It: ", *pieces]),
        )
    )
    assert (found.text, found.thinking) == ("it is [key]", "say [key]")
    assert (found.finish_reason, found.model) == ("[key]", "m/[key]")
    assert found.logprobs is not None
    assert [entry.token for entry in found.logprobs] == ["It: ", "[key]", "[key]", "[key]", "!"]


def test_a_key_that_begins_in_the_thinking_and_ends_in_the_answer_is_in_neither() -> None:
    found = Redactor([KEY]).completion(Completion(f"{KEY[9:]} it is", thinking=f"So {KEY[:9]}"))
    assert (found.thinking, found.text) == ("So [key]", " it is")
    apart = Completion("in two", thinking="no key")
    assert Redactor([KEY]).completion(apart) is apart


def test_an_error_keeps_its_kind_and_its_numbers() -> None:
    refused = Redactor([KEY]).error(RefusedParameterError(f"no {KEY}", KEY))
    assert (str(refused), refused.parameter) == ("no [key]", "[key]")  # type: ignore[attr-defined]
    limited = Redactor([KEY]).error(RateLimitedError(f"wait, {KEY}", 4.5))
    assert (str(limited), limited.retry_after) == ("wait, [key]", 4.5)  # type: ignore[attr-defined]


def test_a_text_of_a_million_characters_is_searched_in_one_pass() -> None:
    # Each would take minutes if a pattern went back over what it has read.
    for run in ("\\", "%25", "&#0", "s", "%", "0", "sk-planted", "\\163", "\u200b", "s\u200b"):
        text = run * (1_000_000 // len(run))
        assert Redactor([KEY])(text) == text


async def test_a_functions_error_repeats_no_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SERVICE_API_KEY", KEY)
    monkeypatch.setenv("OTHER_TOKEN", "token")

    def fails(messages: object) -> str:
        raise RuntimeError(f"401 for {quote(KEY, safe='')}: bad token")

    agent = wrap(FunctionAgent("own", fails), LayerSettings(attempts=1))
    with pytest.raises(PermanentError, match=r"401 for \[key\]: bad token") as caught:
        await agent.complete(Request((Message("user", "Why?"),)))
    assert KEY not in repr(caught.value)


def test_only_variables_named_like_keys_are_secrets() -> None:
    environment = {"A_KEY": KEY, "B_TOKEN": "token", "HOME": "/home/somebody-0123", "PASSWORD": "x"}
    assert secrets_in(environment) == (KEY,)
