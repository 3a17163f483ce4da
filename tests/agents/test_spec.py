from __future__ import annotations

import pytest

from peerexam.agents.spec import parse_model
from peerexam.errors import SetupError


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai/gpt-4o-mini", ("openai", "gpt-4o-mini", None, {})),
        ("openai/org/model:free", ("openai", "org/model:free", None, {})),
        ("openai/@cf/meta/llama", ("openai", "@cf/meta/llama", None, {})),
        (
            "openai/m@https://host/v1?temperature=0.5&tools=null&tag=x",
            ("openai", "m", "https://host/v1", {"temperature": 0.5, "tools": None, "tag": "x"}),
        ),
        ("sim/a?ability=-1&noise=1e3", ("sim", "a", None, {"ability": -1, "noise": 1000.0})),
        ("sim/a?ability=nan", ("sim", "a", None, {"ability": "nan"})),
    ],
)
def test_a_model_name_falls_into_its_parts(text: str, parts: tuple[object, ...]) -> None:
    assert parse_model(text) == parts


@pytest.mark.parametrize("text", ["gpt-4o", "/gpt-4o", "openai/", "Open AI/x", ""])
def test_what_is_no_model_name_is_refused_with_the_mend(text: str) -> None:
    with pytest.raises(SetupError, match="write provider/model"):
        parse_model(text)


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8000", "localhost:8000/v1"])
def test_an_endpoint_needs_its_scheme(endpoint: str) -> None:
    with pytest.raises(SetupError, match="without http://"):
        parse_model(f"openai/x@{endpoint}")
