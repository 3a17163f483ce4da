"""EXAM.yaml as pydantic models: what a user may write, with defaults and bounds.

This is the file boundary. Inside the program the parts get the values they use, not this object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from peerexam.agents.layers.retrying import ATTEMPTS


def _printable(name: str) -> str:
    """A name is shown on terminals and pages: no control or direction characters, not blank."""
    if not name.isprintable() or not name.strip():
        raise ValueError(
            f"the name {name!a} is blank or has a control character: use printable characters"
        )
    return name


def _writable(path: Path) -> Path:
    if not str(path).isprintable():
        raise ValueError(f"the path {str(path)!a} has a control character: write another")
    return path


# Upper bounds are far above any real exam: they find a slip of the keyboard before it is paid for.
Positive = Annotated[int, Field(ge=1, le=1_000_000)]
Few = Annotated[int, Field(ge=1, le=1000)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=100)]
Seconds = Annotated[float, Field(gt=0, le=30 * 24 * 3600)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000)]
Nats = Annotated[float, Field(ge=0, le=1_000_000)]
Amount = Annotated[int, Field(ge=0, le=10**15)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]
RoleName = Literal["examiner", "examinee", "judge"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(_Strict):
    """US dollars for a million tokens; cached prompt tokens cost `input` unless said otherwise."""

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None


class AgentLimits(_Strict):
    """What one agent may be asked, and how long it may take.

    `concurrency` calls at once are made throughout. Without it, their number adapts to what the
    provider bears, up to `max_concurrency`. An agent is disabled after `give_up_after` calls in a
    row that failed for good: its remaining calls fail at once.
    """

    concurrency: Annotated[int, Field(ge=1, le=65_536)] | None = None
    max_concurrency: Annotated[int, Field(ge=1, le=65_536)] = 64
    give_up_after: Positive = 20
    requests_per_minute: Positive | None = None
    tokens_per_minute: Annotated[int, Field(ge=1, le=10**12)] | None = None
    attempts: Few = ATTEMPTS
    timeout: Seconds = 600.0
    deadline: Seconds = 1800.0


class Budget(_Strict):
    """What a run, or one agent, may spend at most.

    `seconds` is wall time of one session for the run, and for an agent the time that its calls of
    one session took, added up.
    """

    usd: Annotated[float, Field(ge=0, le=1e9)] | None = None
    calls: Amount | None = None
    tokens: Amount | None = None
    seconds: Annotated[float, Field(ge=0, le=366 * 24 * 3600)] | None = None


class JudgeSettings(_Strict):
    """How one agent judges.

    `likelihood` needs an agent that scores text. `pass_at` is then the gain in nats a token that
    counts as the full mark, and `per_token` compares gains a token in place of whole gains, which
    favour the longer of two fitting answers. A judge with a `share` below 1 judges that part of
    the questions, drawn by the exam's seed: for judges that are expensive or slow.
    """

    by: Literal["prompt", "likelihood"] = "prompt"
    tie_within: Nats = 0.0
    pass_at: Annotated[Nats, Field(gt=0)] = 1.0
    per_token: bool = False
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class AgentConfig(_Strict):
    """One agent of the exam. Its name is its identity.

    `joined` is written by `peerexam add`: the agent came after the exam, and is asked only for
    what that leaves it. As an examinee it is shown `shots` answered questions first: none by
    default where it follows instructions, five where it only goes on with a text (examiner paper,
    appendix C.2). `stop_at_line` ends its answers at the first line break; by default only those
    of a text that goes on.
    """

    name: Name
    model: str
    roles: tuple[RoleName, ...] = ("examiner", "examinee", "judge")
    base_url: str | None = None
    api_key_env: Annotated[str, Field(min_length=1)] | None = None
    system: str | None = None
    temperature: Temperature | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Tokens | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    judge: JudgeSettings = JudgeSettings()
    family: str | None = None
    variant_of: str | None = None
    joined: bool = False
    shots: Literal[0, 5] | None = None
    stop_at_line: bool | None = None
    price: Price | None = None
    limits: AgentLimits = AgentLimits()
    budget: Budget = Budget()
    options: dict[str, Any] = {}


class Levels(_Strict):
    """Which agents say what cognitive level a question asks for (examiner paper, §3.1).

    The first one's word goes into the question; a second shows how far classifiers agree.
    """

    classifiers: tuple[str, ...] = ()
    max_tokens: Tokens | None = None


class References(_Strict):
    """The authors' own answers to their questions (examiner paper, §3.1).

    With one draw an author answers each of its questions once. Of more, the first is its reference
    and the others are checked against it, by the `checker` or by the author itself: a question
    whose author gives the same answer in less than `min_agreement` of them is marked, or dropped.
    """

    draws: Annotated[int, Field(ge=0, le=1000)] = 0
    temperature: Temperature = 0.7
    max_tokens: Tokens | None = None
    checker: str | None = None
    min_agreement: Fraction = 0.5
    drop_inconsistent: bool = False


class Duplicates(_Strict):
    """Which questions count as one, over all authors and domains.

    Same words and nearly the same words (`near_duplicate` of the questions) always count within a
    paper. `embedding` names a sentence encoder (`minilm` is the one that a package carries) that
    also finds the same question in other words.
    """

    across: bool = True
    embedding: str | None = None
    embedding_similarity: Fraction = 0.95


class Questions(_Strict):
    """Where the questions come from: the examiners, or a file of the user's own.

    Domains are named one by one, or drawn from a `taxonomy` (`google-trends`, or a file): `sample`
    of them by the exam's seed, `stratified` by its first level; without `sample` all of it. A
    `file` of questions, or the folder of a data set, is asked in place of new ones;
    `peerexam generate` sets new ones whatever the file.
    """

    domains: tuple[str, ...] = ()
    taxonomy: str | None = None
    sample: Positive | None = None
    stratified: bool = False
    per_domain: Positive = 5
    style: Literal["breadth", "peer"] = "peer"
    file: Path | None = None
    attempts: Few = 4
    near_duplicate: Fraction = 0.8
    max_tokens: Tokens | None = None
    temperature: Temperature = 0.0
    retry_temperature: Temperature = 0.7
    duplicates: Duplicates = Duplicates()
    levels: Levels = Levels()
    references: References = References()


class Answers(_Strict):
    """How examinees are asked.

    Without `max_tokens` an answer may have 16,384 tokens, and 512 where the agent runs in this
    process (`protocols.token_limits`). The preset `paper` gives it the 200 of the examiner paper
    (appendix C.2). `truncated` says what becomes of an answer that was cut at the limit: `judge`
    takes it as it stands, `fail` takes it out.
    """

    preset: Literal["paper"] | None = None
    max_tokens: Tokens | None = None
    temperature: Temperature = 0.0
    truncated: Literal["judge", "fail"] = "judge"


class FollowUps(_Strict):
    """Rounds after the first, asked only after answers that the examiner marked as correct.

    Of a question's correct answers at most `sample` are followed up, and each with the probability
    `share`, both drawn by the exam's seed.
    """

    rounds: Annotated[int, Field(ge=0, le=100)] = 0
    sample: Positive | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_tokens: Tokens | None = None


class Fitness(_Strict):
    """Bounds outside which a judge is unfit and loses its vote; the defaults let all pass.

    They are on the share of pairs decided the same way in both orders, that of verdicts and marks
    that could not be read, the preference for a place in either direction, and the share of
    prompt injections in answers that succeed. A `max_attack_success` below 1 has every judge that
    is asked in words probed with such answers.
    """

    min_swap_consistency: Fraction = 0.0
    max_invalid_rate: Fraction = 1.0
    max_first_preference: Annotated[float, Field(ge=0, le=1)] = 1.0
    max_attack_success: Fraction = 1.0

    @property
    def probes(self) -> bool:
        """Whether judges are to be probed."""
        return self.max_attack_success < 1


class Judging(_Strict):
    """How answers are judged.

    `ranking` says which answers are compared. `merge_sort` asks the fewest comparisons, and
    with many questions all calls at once are used. `rank_merge` asks 1.3 (8 answers) to 1.8 times
    (64) as many, and waits for half to a sixth as many in a row: for few questions, or an exam
    that is watched.
    `round_robin` compares every pair, which trusts no transitivity and costs most.

    `own_answers` says whose answers a judge may not judge: those of an `agent` with the same
    model and settings under whatever name, or of any agent with the same `model`.

    A reply that cannot be read is asked for again `reasks` times, one that was cut at `max_tokens`
    with twice the room.
    """

    marks: bool = True
    ranking: Literal["merge_sort", "rank_merge", "round_robin", "none"] = "merge_sort"
    panel: Literal["all", "author"] = "all"
    disagreement: Literal["tie", "average", "abstain"] = "tie"
    own_answers: Literal["agent", "model"] = "agent"
    self_preference: bool = True
    reasks: Annotated[int, Field(ge=0, le=100)] = 1
    max_tokens: Tokens | None = None
    rubric: Path | None = None
    fitness: Fitness = Fitness()
    quorum: Positive = 1


class Voting(_Strict):
    """How the votes become standings."""

    method: Literal["borda", "copeland", "schulze", "bradley_terry"] = "borda"
    rounds: Positive = 1000
    confidence: Annotated[float, Field(ge=0.01, le=0.9999)] = 0.95
    cluster_judges: bool = False


class Limits(_Strict):
    """What the whole run may do at once and spend in all.

    After `stall_warning` seconds in which no call ended, the oldest one is named.
    """

    concurrency: Annotated[int, Field(ge=1, le=65_536)] = 64
    window: Positive | None = None
    stall_warning: Seconds = 60.0
    budget: Budget = Budget()


def _misfit(place: tuple[str | int, ...], text: str) -> PydanticCustomError:
    """What is wrong between settings, and where it stands below the model that finds it."""
    return PydanticCustomError("misfit", "{text}", {"text": text, "place": place})


class ExamConfig(_Strict):
    """The whole of EXAM.yaml.

    With `pilot` a first question goes through every role before the rest is asked, and the run
    stops there where no standings could follow.
    """

    name: Name = "exam"
    protocol: Literal["peer_exam", "exam"] = "peer_exam"
    examiner: str | None = None
    seed: Seed = 0
    agents: Annotated[tuple[AgentConfig, ...], Field(min_length=1)]
    questions: Questions = Questions()
    answers: Answers = Answers()
    follow_ups: FollowUps = FollowUps()
    judging: Judging = Judging()
    voting: Voting = Voting()
    limits: Limits = Limits()
    pilot: bool = True
    prompts: dict[str, Path] = {}
    output: Annotated[Path, AfterValidator(_writable)] | None = None

    @model_validator(mode="after")
    def _agents_fit_together(self) -> ExamConfig:
        names = [agent.name for agent in self.agents]
        twice = next((at for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise _misfit(
                ("agents", twice, "name"),
                f"two agents are called '{names[twice]}': an agent's name is its identity, rename "
                "one",
            )
        for at, agent in enumerate(self.agents):
            if agent.variant_of == agent.name:
                raise _misfit(
                    ("agents", at, "variant_of"),
                    f"'{agent.name}' is called a variant of itself: name the other agent, or "
                    "remove the line",
                )
            if agent.variant_of is not None and agent.variant_of not in names:
                raise _misfit(
                    ("agents", at, "variant_of"),
                    f"'{agent.name}' is called a variant of '{agent.variant_of}', which is not "
                    f"among the agents: {', '.join(names)}",
                )
        if self.protocol == "exam" and self.examiner is None:
            raise _misfit(
                ("protocol",), "protocol exam needs examiner: the name of the one central examiner"
            )
        if self.examiner is not None and self.examiner not in names:
            raise _misfit(
                ("examiner",),
                f"examiner '{self.examiner}' is not among the agents: {', '.join(names)}",
            )
        return self

    @model_validator(mode="after")
    def _question_helpers_are_here(self) -> ExamConfig:
        names = [agent.name for agent in self.agents]
        for at, name in enumerate(self.questions.levels.classifiers):
            if name not in names:
                raise _misfit(
                    ("questions", "levels", "classifiers", at),
                    f"'{name}' is to classify questions and is not among the agents: "
                    f"{', '.join(names)}",
                )
        checker = self.questions.references.checker
        if checker is not None and checker not in names:
            raise _misfit(
                ("questions", "references", "checker"),
                f"'{checker}' is to check references and is not among the agents: "
                f"{', '.join(names)}",
            )
        return self

    @model_validator(mode="after")
    def _questions_come_from_somewhere(self) -> ExamConfig:
        questions = self.questions
        if not questions.domains and questions.taxonomy is None and questions.file is None:
            raise _misfit(
                ("questions",),
                "questions need domains (a list of names), taxonomy (google-trends or a file of "
                "domains), or file (your own questions)",
            )
        if questions.domains and questions.taxonomy is not None:
            raise _misfit(
                ("questions", "taxonomy"),
                "questions have both domains and taxonomy: keep one of them",
            )
        if questions.taxonomy is None and (questions.sample is not None or questions.stratified):
            raise _misfit(
                ("questions",),
                "sample and stratified draw domains from a taxonomy, and none is named: add "
                "taxonomy: google-trends, or remove them",
            )
        if questions.stratified and questions.sample is None:
            raise _misfit(
                ("questions", "stratified"),
                "stratified says how to draw, and sample does not say how many: add sample",
            )
        return self

    @model_validator(mode="after")
    def _questions_can_be_asked(self) -> ExamConfig:
        domains = self.questions.domains
        twice = next((at for at, name in enumerate(domains) if name in domains[:at]), None)
        if twice is not None:
            raise _misfit(
                ("questions", "domains", twice),
                f"the domain '{domains[twice]}' is listed twice, and would get the same questions "
                "twice: remove one, and raise per_domain for more questions",
            )
        if self.follow_ups.rounds and not self.judging.marks:
            raise _misfit(
                ("follow_ups", "rounds"),
                "follow-ups go on from answers with the full mark, and judging.marks is false: let "
                "the judges mark, or ask for no follow-up rounds",
            )
        return self

    def agents_in(self, role: RoleName) -> tuple[AgentConfig, ...]:
        """The agents that play a role, in the order of the file.

        In the protocol `exam` the central examiner alone sets and judges, and it answers only
        where its roles say so explicitly.
        """
        if self.protocol == "exam":
            if role == "examinee":
                return tuple(
                    a
                    for a in self.agents
                    if "examinee" in a.roles
                    and (a.name != self.examiner or "roles" in a.model_fields_set)
                )
            return tuple(a for a in self.agents if a.name == self.examiner)
        return tuple(agent for agent in self.agents if role in agent.roles)
