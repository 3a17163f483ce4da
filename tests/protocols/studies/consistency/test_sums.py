"""Compositional self-consistency on nested sums, with agents whose consistency is planted."""

from __future__ import annotations

import ast
import hashlib
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.errors import PermanentError
from peerexam.protocols.config.models import AgentConfig, Budget, Limits
from peerexam.protocols.studies.base import StudyRecords, ask_study, study_config
from peerexam.protocols.studies.consistency.plan import sums_plan
from peerexam.protocols.studies.consistency.sum_measures import sums_result
from peerexam.protocols.studies.consistency.sums import Prompt, Sums
from peerexam.protocols.studies.result import StudyResult
from peerexam.stats.core.estimate import Estimate
from peerexam.tasks.consistency.arithmetic import ArithmeticGraph, draw_graphs, graph_of

EXAMPLE = graph_of("paper", ("+", ("*", 2, 3), ("/", 16, 4)))
RIGHT = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}

Answer = Callable[[str], str | Exception]


def _divided(one: Fraction, other: Fraction) -> Fraction:
    return one / other


def evaluated(text: str, operators: Mapping[type[ast.operator], Callable[..., Fraction]]) -> str:
    def of(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            # `/` is missing, and is a division.
            return Fraction(operators.get(type(node.op), _divided)(of(node.left), of(node.right)))
        if isinstance(node, ast.UnaryOp):
            return -of(node.operand)
        assert isinstance(node, ast.Constant)
        return Fraction(str(node.value))

    return str(of(ast.parse(text, mode="eval").body))


def perfect(expression: str) -> str:
    return evaluated(expression, RIGHT)


def takes_times_for_plus(expression: str) -> str | Exception:
    """Wrong in a way that composes, so that it is consistent."""
    try:
        return evaluated(expression, {**RIGHT, ast.Mult: operator.add})
    except ZeroDivisionError:
        return "undefined"


def drawn_from(expression: str) -> int:
    """A number below a million that hangs on the prompt alone."""
    return int(hashlib.sha256(expression.encode()).hexdigest(), 16) % 1_000_000


def errs(share: float) -> Answer:
    """Wrong on that share of prompts, each time in a way of its own."""

    def answer(expression: str) -> str:
        right, by = perfect(expression), drawn_from(expression)
        return right if by >= share * 1_000_000 else f"{Fraction(right) + 1_000_003 + by}"

    return answer


def expression_in(request: Request) -> str:
    found = re.search(r"value of (\S+) \?", request.messages[-1].content)
    assert found, request.messages[-1].content
    return found.group(1)


def agent(answer: Answer, name: str = "solver") -> ScriptedAgent:
    return ScriptedAgent(lambda request: answer(expression_in(request)), name)


async def asked(
    folder: Path,
    graphs: Sequence[ArithmeticGraph],
    solver: ScriptedAgent,
    limits: Limits | None = None,
) -> StudyRecords[Prompt]:
    config = study_config([AgentConfig(name="solver", model="file/none.jsonl")], "c", limits=limits)
    return await ask_study(config, Sums(graphs), folder, agents={"solver": solver})


async def result_of(
    folder: Path, graphs: Sequence[ArithmeticGraph], solver: ScriptedAgent
) -> StudyResult:
    return sums_result(await asked(folder, graphs, solver), {}, 0)


def estimate(result: StudyResult, name: str, condition: str = "") -> Estimate:
    (found,) = [m for m in result.measures if (m.name, m.condition) == (name, condition)]
    return found.estimate


def of_kind(rows: Sequence[Prompt], kind: str) -> list[Prompt]:
    return [row for row in rows if row.kind == kind]


async def test_the_papers_example_is_asked_word_for_word(tmp_path: Path) -> None:
    # Self-knowledge, "Self-knowledge prompts": the answer to 2*3 is 8 there, and wrong.
    said = {"2*3": "8", "16/4": "4", "(2*3)+(16/4)": "10", "8+(16/4)": "12", "(2*3)+4": "10"}
    solver = agent(lambda expression: said.get(expression, "0"))
    rows = (await asked(tmp_path, [EXAMPLE], solver)).rows
    assert {row.expression for row in of_kind(rows, "initial")} == set(list(said)[:3])
    pairs = {row.expression: row for row in of_kind(rows, "self_knowledge")}
    assert set(pairs) == {"8+(16/4)", "(2*3)+4"}
    wrong, right = pairs["8+(16/4)"], pairs["(2*3)+4"]
    assert [str(row.expected.value) for row in (wrong, right) if row.expected] == ["10", "10"]
    assert (wrong.consistent, wrong.correct, wrong.follows, wrong.part_right) == (
        False,
        False,
        True,
        False,
    )
    assert (right.consistent, right.correct, right.follows, right.part_right) == (True,) * 4


async def test_a_perfect_calculator_is_consistent_and_correct(tmp_path: Path) -> None:
    result = await result_of(tmp_path, draw_graphs(25), agent(perfect))
    assert result.status == "complete"
    headline = next(m for m in result.measures if m.headline)
    assert (headline.name, headline.estimate.value) == ("consistency", 1.0)
    for name, condition in [
        ("consistency_strict", ""),
        ("consistency_whole", ""),
        ("consistency", "depth 5"),
        ("correctness", "initial"),
        ("correctness", "self-knowledge"),
        ("invariance", "order"),
        ("invariance", "association"),
    ]:
        assert estimate(result, name, condition).value == 1.0, name
    assert estimate(result, "unreadable", "initial").value == 0.0
    assert estimate(result, "error_propagation", "part right").value == 0.0
    assert estimate(result, "error_propagation", "part wrong").reason is not None
    chance = estimate(result, "consistency_chance").value
    assert chance is not None
    assert chance < 0.2


async def test_a_model_may_be_consistent_and_wrong(tmp_path: Path) -> None:
    graphs = [
        graph for graph in draw_graphs(60) if any("*" in graph.text(node) for node in graph.inner)
    ]
    result = await result_of(tmp_path, graphs, agent(takes_times_for_plus))
    assert estimate(result, "consistency").value == 1.0
    correct = estimate(result, "correctness", "self-knowledge").value
    assert correct is not None
    assert correct < 0.5
    assert estimate(result, "consistency", "part wrong").value == 1.0


async def test_who_says_the_same_to_everything_is_no_better_than_chance(tmp_path: Path) -> None:
    result = await result_of(tmp_path, draw_graphs(20), agent(lambda _: "7"))
    assert estimate(result, "consistency").value == 1.0
    assert estimate(result, "consistency_chance").value == 1.0


@pytest.mark.parametrize("share", [0.1, 0.4])
async def test_a_planted_rate_of_errors_is_recovered(tmp_path: Path, share: float) -> None:
    # Errs independently on each prompt, never twice alike: a pair of prompts agrees where whole,
    # part and the prompt with the part put in are all right, which is (1 - share)³.
    result = await result_of(tmp_path, draw_graphs(60), agent(errs(share)))
    for found, truth in [
        (estimate(result, "correctness", "initial"), 1 - share),
        (estimate(result, "consistency"), (1 - share) ** 3),
        (estimate(result, "consistency", "part right"), (1 - share) ** 2),
        (estimate(result, "error_propagation", "part right"), share),
        (estimate(result, "follows", "part wrong"), 1 - share),
        (estimate(result, "invariance", "order"), (1 - share) ** 2),
    ]:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= truth <= found.high, found
    # By depth, the errors after right parts are those over all depths.
    deep = [
        one.estimate
        for one in result.measures
        if one.name == "error_propagation" and one.condition.startswith("part right depth ")
    ]
    assert len(deep) == 4
    whole = estimate(result, "error_propagation", "part right")
    assert sum(one.n for one in deep) == whole.n
    assert sum(one.n * (one.value or 0) for one in deep) == pytest.approx(
        whole.n * (whole.value or 0)
    )
    gain = estimate(result, "correctness_gain")
    assert gain.value is not None
    # Wrong parts spoil what they are put into.
    assert gain.value < 0


async def test_unreadable_answers_are_a_state_of_their_own(tmp_path: Path) -> None:
    said = {"2*3": "many", "16/4": "4", "(2*3)+(16/4)": "10", "(2*3)+4": "10"}
    solver = agent(lambda expression: said.get(expression, "10"))
    rows = (await asked(tmp_path, [EXAMPLE], solver)).rows
    pairs = of_kind(rows, "self_knowledge")
    states = {row.replaced: row.state for row in pairs}
    product, quotient = EXAMPLE.operands(0)
    assert states == {product: "not_asked", quotient: "ok"}
    result = sums_result(StudyRecords(rows, None, {}, {}), {}, 0)
    assert (estimate(result, "consistency").value, estimate(result, "consistency").n) == (1.0, 1)
    assert estimate(result, "consistency").left_out == 1
    assert estimate(result, "consistency_strict").value == 0.5
    unreadable = estimate(result, "unreadable", "initial")
    assert unreadable.value == pytest.approx(1 / 3)
    # It is wrong all the same.
    assert estimate(result, "correctness", "initial").value == pytest.approx(2 / 3)
    assert result.status == "complete"


async def test_a_part_answered_with_zero_makes_no_divisor(tmp_path: Path) -> None:
    graph = graph_of("g", ("/", 6, ("-", 5, 3)))
    solver = agent(lambda expression: "0")
    rows = (await asked(tmp_path, [graph], solver)).rows
    (pair,) = of_kind(rows, "self_knowledge")
    assert pair.state == "not_asked"
    assert pair.reason == "6/0 divides by zero"


async def test_negative_answers_and_fractions_are_put_in_brackets(tmp_path: Path) -> None:
    graph = graph_of("g", ("-", ("-", 1, 9), ("/", 7, 2)))
    rows = (await asked(tmp_path, [graph], agent(perfect))).rows
    assert {row.expression for row in of_kind(rows, "self_knowledge")} == {
        "(-8)-(7/2)",
        "(1-9)-(7/2)",
    }
    assert all(row.consistent for row in of_kind(rows, "self_knowledge"))


async def test_failed_calls_say_nothing_of_a_model(tmp_path: Path) -> None:
    def fails(expression: str) -> str | Exception:
        return PermanentError("no voice") if expression == "2*3" else perfect(expression)

    found = await asked(tmp_path, [EXAMPLE], agent(fails))
    result = sums_result(found, {}, 0)
    assert result.status == "partial"
    assert result.status_reason is not None
    assert "no voice" in result.status_reason
    assert estimate(result, "correctness", "initial").value == 1.0
    strict = estimate(result, "consistency_strict")
    assert (strict.value, strict.n, strict.left_out) == (1.0, 1, 1)
    (pair,) = [row for row in found.rows if row.state == "not_asked"]
    assert pair.reason == "the call for its part 2*3 failed"


async def test_equal_prompts_that_fail_are_one_call(tmp_path: Path) -> None:
    def fails(expression: str) -> str | Exception:
        return PermanentError("no") if expression == "2*3" else perfect(expression)

    again = graph_of("again", ("+", ("*", 2, 3), ("/", 16, 4)))
    found = await asked(tmp_path, [EXAMPLE, again], agent(fails))
    failed = [row.expression for row in found.rows if row.state == "error"]
    assert failed == ["2*3", "2*3"]
    result = sums_result(found, {}, 0)
    assert (result.status_reason or "").startswith("1 calls failed")


async def test_the_plan_says_what_is_asked_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    graphs = draw_graphs(12)
    config = study_config([AgentConfig(name="solver", model="openai/x@http://here")], "c")
    planned = sums_plan(config, graphs).to_json()
    solver = agent(perfect)
    rows = (await asked(tmp_path, graphs, solver)).rows
    by_task = {line["task"]: line["calls"]["expected"] for line in planned["lines"]}
    assert by_task == {
        "initial prompts": len(of_kind(rows, "initial")),
        "self-knowledge prompts": len(of_kind(rows, "self_knowledge")),
        "order and association": len(rows)
        - len(of_kind(rows, "initial"))
        - len(of_kind(rows, "self_knowledge")),
    }
    assert planned["calls"]["most"] == len(rows)
    # Equal prompts are one call.
    assert solver.calls == len({row.expression for row in rows})
    before, first = solver.calls, (tmp_path / "prompts.jsonl").read_bytes()
    await asked(tmp_path, graphs, solver)
    assert solver.calls == before
    assert (tmp_path / "prompts.jsonl").read_bytes() == first
    line = json.loads(first.splitlines()[0])
    assert line["item"] == "g0001"
    assert line["call"]


async def test_a_budget_leaves_whole_graphs_and_the_same_command_goes_on(tmp_path: Path) -> None:
    graphs = draw_graphs(8)
    few = Limits(concurrency=1, budget=Budget(calls=30))
    part = await asked(tmp_path, graphs, agent(perfect), few)
    assert part.stopped is not None
    whole = await asked(tmp_path, graphs, agent(perfect))
    assert whole.stopped is None
    assert len(part.rows) < len(whole.rows)
    done = {row.item for row in part.rows}
    assert len(part.rows) == len([row for row in whole.rows if row.item in done])
    assert sums_result(part, {}, 0).status == "partial"
