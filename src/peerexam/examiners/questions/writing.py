"""Setting questions: a set for a domain, and follow-up questions to an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Request, Sampling
from peerexam.errors import CallError
from peerexam.examiners.asking import Room
from peerexam.examiners.base import AuthoredQuestions, FollowUp, Style
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import follow_up_form, questions_form
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.questions.drafts import Draft, Source
from peerexam.examiners.questions.duplicates import near_duplicate
from peerexam.examiners.questions.identifiers import follow_up_id
from peerexam.examiners.questions.reading import is_whole, read_follow_up, read_questions
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.records import Answer, Domain, Group, Question

_OPEN_ITEM = re.compile(r"(?:\A|\n)([0-9]+[.)])[ \t]*\Z")
_UNUSABLE = ("refused", "filtered", "empty")


@dataclass(frozen=True, slots=True)
class SettingOptions:
    """How questions are asked for.

    Attributes:
        attempts: Most calls for one domain, or for one follow-up, the first included.
        near_duplicate: Similarity from which a question counts as a repetition.
        max_tokens: Of one reply with questions.
        temperature: Of the first call.
        retry_temperature: Of the calls for what is missing, or for another follow-up.
        follow_up_max_tokens: Of one reply with a follow-up.
        seed: The exam's; it keys the fences round the text of others.
    """

    attempts: int = 4
    near_duplicate: float = 0.8
    max_tokens: int = 1024
    temperature: float = 0.0
    retry_temperature: float = 0.7
    follow_up_max_tokens: int = 200
    seed: int = 0


def groups_for(n: int, style: Style) -> tuple[Group, ...]:
    """The kind of each of n questions, in order.

    For breadth the paper's 10 are three concise, four complex and three compound questions
    (appendix B.1); other numbers get three tenths, rounded, of the first and the last kind, and at
    least one concise question. For peer examination all are hard (B.3).

    >>> groups_for(5, "breadth")
    ('concise', 'concise', 'complex', 'compound', 'compound')
    """
    if style == "peer":
        return tuple(_repeated("hard", n))
    outer = (3 * n + 5) // 10
    concise = max(outer, min(n, 1))
    middle = n - concise - outer
    return (
        *_repeated("concise", concise),
        *_repeated("complex", middle),
        *_repeated("compound", outer),
    )


def _repeated(group: Group, times: int) -> list[Group]:
    return [group] * times


class ModelExaminer:
    """An examiner that is a model.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: SettingOptions | None = None
    ) -> None:
        self.agent = agent
        self.prompts = prompts
        self.options = options or SettingOptions()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    @property
    def _chat(self) -> bool:
        return "chat" in self.agent.features

    async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
        """Set n questions; what is missing, repeated or no question is asked for again.

        Raises:
            BudgetReachedError: The budget stops the next call.
            SetupError: A prompt cannot be filled in.
        """
        draft = Draft(groups_for(n, style), self.options.attempts)
        room = Room(self.options.max_tokens)
        while draft.attempts_left and draft.missing():
            await self._attempt(domain, style, draft, room)
        return draft.questions(self.name, domain)

    async def more(
        self, domain: Domain, style: Style, so_far: AuthoredQuestions, avoid: Sequence[str] = ()
    ) -> AuthoredQuestions:
        """Ask once more for the questions that are missing, within the attempts that it has left.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: A prompt cannot be filled in.
        """
        draft = Draft.of(so_far, groups_for(so_far.wanted, style), avoid)
        if draft.attempts_left and draft.missing():
            room = Room(self.options.max_tokens)
            await self._attempt(domain, style, draft, room)
        return draft.questions(self.name, domain)

    async def _attempt(self, domain: Domain, style: Style, draft: Draft, room: Room) -> None:
        attempt, missing = self.options.attempts - draft.attempts_left, draft.missing()
        rendered = self._prompt(domain, missing, style, draft.already)
        request = self._request(rendered, attempt, len(missing))
        draft.attempts_left -= 1
        try:
            completion = await room.complete(self.agent, request)
        except CallError as error:
            draft.fail(f"attempt {attempt + 1}: {type(error).__name__}: {error}")
            return
        if completion.state == "truncated":
            room.grow()
        read = _questions_in(rendered, completion)
        if isinstance(read, Unreadable):
            draft.reasons.append(f"attempt {attempt + 1}: {read.reason}")
            return
        source = Source(completion.call or None, rendered.prompt_hash)
        repeated = draft.take(read, missing, source, self.options.near_duplicate)
        draft.reasons.append(
            f"attempt {attempt + 1}: {len(read)} of {len(missing)} questions, "
            f"{repeated} of them repeated"
        )

    def _prompt(
        self, domain: Domain, missing: Sequence[Group], style: Style, already: list[str]
    ) -> Rendered:
        return self.prompts.render(
            f"questions_{style}",
            self._chat,
            domain=" ".join(domain.name.split()),
            n=len(missing),
            concise=missing.count("concise"),
            complex=missing.count("complex"),
            compound=missing.count("compound"),
            already=already,
        )

    def _request(self, rendered: Rendered, attempt: int, n: int) -> Request:
        options = self.options
        form = questions_form(n, self.agent.features, _opened(rendered))
        temperature = options.retry_temperature if attempt else options.temperature
        sampling = Sampling(
            temperature=temperature,
            max_tokens=options.max_tokens,
            stop=() if form else rendered.stop,
            form=form,
        )
        return Request(rendered.messages, sampling, draw=attempt)

    async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
        """Ask deeper, going on from an answer (examiner paper, §3.1 and B.2).

        The new question is for the answer's examinee alone, one round on, and is asked without
        what went before it. A reply that cannot be read, or that repeats the question, is asked
        for again within the same bounds as a domain's questions.

        Raises:
            BudgetReachedError: The budget stops the call.
            SetupError: The prompt cannot be filled in.
        """
        rendered = self._follow_up_prompt(question, answer)
        reasons: list[str] = []
        room = Room(self.options.follow_up_max_tokens)
        for attempt in range(self.options.attempts):
            try:
                request = self._follow_up_request(rendered, attempt)
                completion = await room.complete(self.agent, request)
            except CallError as error:
                reasons.append(f"{type(error).__name__}: {error}")
                return FollowUp(None, "; ".join(dict.fromkeys(reasons)), failed=True)
            text = self._read_follow_up(question, rendered, completion)
            if not isinstance(text, Unreadable):
                return FollowUp(self._next_round(question, answer, text, rendered, completion))
            reasons.append(text.reason)
            if completion.state == "truncated":
                room.grow()
            if completion.state in ("refused", "filtered"):
                break  # asking again would be asking to be let past
        return FollowUp(None, "; ".join(dict.fromkeys(reasons)))

    def _follow_up_request(self, rendered: Rendered, attempt: int) -> Request:
        options = self.options
        form = follow_up_form("follow question: " if self._chat else " ", self.agent.features)
        sampling = Sampling(
            temperature=options.retry_temperature if attempt else options.temperature,
            max_tokens=options.follow_up_max_tokens,
            stop=() if form else rendered.stop,
            form=form,
        )
        return Request(rendered.messages, sampling, draw=attempt)

    def _read_follow_up(
        self, question: Question, rendered: Rendered, completion: Completion
    ) -> str | Unreadable:
        if completion.state not in ("ok", "truncated"):
            return Unreadable(f"the reply is {completion.state}")
        text = read_follow_up(_continued(rendered, completion.text, "follow question:"))
        if isinstance(text, Unreadable):
            return text
        if completion.state == "truncated" and not is_whole(text):
            return Unreadable("the reply is cut at the length limit")
        if near_duplicate(text, [question.text], self.options.near_duplicate) is not None:
            return Unreadable("the follow-up repeats the question it follows")
        return text

    def _follow_up_prompt(self, question: Question, answer: Answer) -> Rendered:
        fence = fence_for(self.options.seed, question.text, [question.text, answer.text])
        if self._chat:
            asked = fence.around("Question", question.text)
            answered = fence.around("Answer", answer.text)
        else:
            # A text to be continued has its shape from its examples: one line each.
            asked = f"Question: {' '.join(fence.neutralised(question.text).split())}"
            answered = f"Answer: {' '.join(fence.neutralised(answer.text).split())}"
        return self.prompts.render(
            "follow_up",
            self._chat,
            domain=" ".join(question.domain.split()),
            question=asked,
            answer=answered,
            key=fence.key,
        )

    def _next_round(
        self,
        parent: Question,
        answer: Answer,
        text: str,
        rendered: Rendered,
        completion: Completion,
    ) -> Question:
        return Question(
            id=follow_up_id(parent, self.name, answer.examinee),
            text=text,
            domain=parent.domain,
            domain_path=parent.domain_path,
            author=self.name,
            group=parent.group,
            round=parent.round + 1,
            parent_id=parent.id,
            examinee=answer.examinee,
            prompt=rendered.prompt_hash,
            call=completion.call or None,
        )


def _continued(rendered: Rendered, reply: str, opening: str) -> str:
    """The reply with the opening that the prompt already wrote for it."""
    return f"{opening}{reply}" if rendered.text.endswith(opening) else reply


def _opened(rendered: Rendered) -> str:
    """The item number with which a prompt ends, for the reply to go on from."""
    found = _OPEN_ITEM.search(rendered.text)
    return found.group(1) if found else ""


def _questions_in(rendered: Rendered, completion: Completion) -> tuple[str, ...] | Unreadable:
    if completion.state in _UNUSABLE:
        return Unreadable(f"the reply is {completion.state}")
    reply = completion.text
    opened = _opened(rendered)
    if opened:
        reply = f"{opened} {reply.lstrip()}"
    read = read_questions(reply)
    if isinstance(read, Unreadable) or completion.state != "truncated" or is_whole(read[-1]):
        return read
    return read[:-1] or Unreadable("the reply is cut at the length limit")
