"""The conformance kit over the agent, and what is its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from peerexam_example_plugin.chain import Chain

from peerexam.agents.base import Agent
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Message, Request, Sampling
from peerexam.errors import SetupError
from peerexam.testing import AgentConformance

TEXT = "The cat sat on the mat.\nThe dog sat on the log.\nThe number is seven.\n"


def spec(path: Path, **options: object) -> AgentSpec:
    """A spec as peerexam reads it from `markov/PATH?…`."""
    return AgentSpec("chain", "markov", str(path), options=options)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file to learn from."""
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


class TestConformance(AgentConformance):
    """Every check of the kit; `create_agent` finds the provider by its entry point."""

    ignores = frozenset(("top_p",))

    @pytest.fixture(autouse=True)
    def _corpus(self, corpus: Path) -> None:
        self.corpus = corpus

    def make_agent(self) -> Agent:
        """Build the agent as an exam does."""
        return create_agent(spec(self.corpus))


def complete(path: Path, text: str, continuation: str | None = None) -> Completion:
    """Ask a chain of order 4 once."""
    request = Request((Message("user", text),), Sampling(), continuation=continuation)
    return asyncio.run(create_agent(spec(path)).complete(request))


def test_it_goes_on_as_its_text_does(corpus: Path) -> None:
    """Four characters decide the rest of this line."""
    assert complete(corpus, "The dog").text == " sat on the mat."


def test_what_its_text_holds_is_likelier_than_what_it_does_not(corpus: Path) -> None:
    """Log-probabilities of two continuations of equal length."""
    seen = complete(corpus, "The number is", continuation=" seven.")
    unseen = complete(corpus, "The number is", continuation=" eleven")
    assert seen.logprob > unseen.logprob


@pytest.mark.parametrize("context", ["", "T", "The c", "xyz"])
def test_the_probabilities_of_all_characters_sum_to_one(context: str) -> None:
    """Seen ones, and the equal shares of all that were never seen."""
    chain = Chain(TEXT, 3)
    seen = sum(chain.probability(context, character) for character in chain.alphabet)
    unseen = (0x110000 - len(chain.alphabet)) * chain.probability(context, "\u2603")
    assert seen + unseen == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"), [({"order": 0}, "from 1 to 12"), ({"size": 3}, "no option 'size'")]
)
def test_a_wrong_option_is_named(corpus: Path, options: dict[str, object], message: str) -> None:
    """The message has the mend."""
    with pytest.raises(SetupError, match=message):
        create_agent(spec(corpus, **options))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A set-up error, not a traceback."""
    with pytest.raises(SetupError, match=r"nowhere\.txt cannot be read"):
        create_agent(spec(tmp_path / "nowhere.txt"))
