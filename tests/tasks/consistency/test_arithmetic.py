"""Random nested sums; values are checked against Python's own evaluation of their text."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import SetupError
from peerexam.tasks.consistency.arithmetic import GraphSettings, draw_graphs, graph_of

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluated(node: ast.expr) -> Fraction:
    if isinstance(node, ast.BinOp):
        return Fraction(OPERATORS[type(node.op)](evaluated(node.left), evaluated(node.right)))
    if isinstance(node, ast.UnaryOp):
        return -evaluated(node.operand)
    assert isinstance(node, ast.Constant)
    return Fraction(str(node.value))


def value_of(text: str) -> Fraction:
    """By Python's parser, which shares nothing with ours."""
    return evaluated(ast.parse(text, mode="eval").body)


EXAMPLE = graph_of("paper", ("+", ("*", 2, 3), ("/", 16, 4)))


def test_the_papers_example_has_three_initial_prompts_and_two_with_a_part_replaced() -> None:
    # Self-knowledge, "Synthetic arithmetic experimental set-up", word for word.
    assert [EXAMPLE.text(node) for node in EXAMPLE.inner] == ["16/4", "2*3", "(2*3)+(16/4)"]
    product, quotient = EXAMPLE.operands(0)
    assert set(EXAMPLE.parts(0)) == {product, quotient}
    assert EXAMPLE.text(0, {product: "8"}) == "8+(16/4)"
    assert EXAMPLE.text(0, {quotient: "4"}) == "(2*3)+4"
    assert [EXAMPLE.values[node] for node in (product, quotient, 0)] == [6, 4, 10]
    assert EXAMPLE.depths[0] == 2


def test_graphs_are_trees_with_two_operands_to_an_operator() -> None:
    for graph in draw_graphs(50):
        assert nx.is_arborescence(graph.dag)
        for node in graph.dag:
            degree = graph.dag.out_degree(node)
            assert degree == (0 if graph.operator(node) is None else 2)


def test_graphs_keep_to_the_papers_bounds() -> None:
    graphs = draw_graphs(500)
    assert max(graph.depths[0] for graph in graphs) == 5
    numbers = [
        n["number"] for graph in graphs for _, n in graph.dag.nodes(data=True) if "number" in n
    ]
    assert min(numbers) >= 1
    assert max(numbers) <= 999
    # With probability 0.5 for each of two operands, one in two is an operator below a root that
    # may be nested: of 1,000 the standard deviation is 16.
    below = [graph.operator(child) for graph in graphs for child in graph.operands(0)]
    assert 420 <= sum(each is not None for each in below) <= 580
    # As many operators on every level as roots, on average: five levels of 500.
    assert sum(len(graph.inner) for graph in graphs) == pytest.approx(2500, rel=0.15)
    used = Counter(graph.operator(node) for graph in graphs for node in graph.inner)
    assert min(used.values()) > 0.2 * sum(used.values())


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0, 1), st.integers(1, 4))
def test_text_and_value_say_the_same(seed: int, height: int, nesting: float, digits: int) -> None:
    (graph,) = draw_graphs(1, GraphSettings(height, nesting, digits), seed=seed)
    for node in graph.inner:
        assert value_of(graph.text(node)) == graph.values[node]
        for part in graph.parts(node):
            replaced = graph.text(node, {part: "7"})
            stated = graph.value_with(node, part, Fraction(7))
            if stated is None:
                with pytest.raises(ZeroDivisionError):
                    value_of(replaced)
            else:
                assert value_of(replaced) == stated


@given(st.integers(0, 10_000))
def test_variants_have_value_and_canonical_form_of_what_they_vary(seed: int) -> None:
    (graph,) = draw_graphs(1, seed=seed)
    for variant in graph.variants:
        assert variant.text != graph.text(variant.node)
        assert value_of(variant.text) == graph.values[variant.node]
        assert parsed(variant.text).canonical(0) == graph.canonical(variant.node)


def parsed(text: str):  # type: ignore[no-untyped-def]
    names = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

    def nested(node: ast.expr):  # type: ignore[no-untyped-def]
        if isinstance(node, ast.BinOp):
            return (names[type(node.op)], nested(node.left), nested(node.right))
        assert isinstance(node, ast.Constant)
        return node.value

    return graph_of("parsed", nested(ast.parse(text, mode="eval").body))


def test_brackets_move_and_operands_change_places() -> None:
    left = graph_of("left", ("+", ("+", 1, 2), 3))
    assert [(v.kind, v.text) for v in left.variants if v.node == 0] == [
        ("order", "3+(1+2)"),
        ("association", "1+(2+3)"),
    ]
    right = graph_of("right", ("*", 4, ("*", 5, 6)))
    assert ("association", "(4*5)*6") in [(v.kind, v.text) for v in right.variants]
    assert not graph_of("minus", ("-", ("-", 9, 2), 3)).variants
    assert not graph_of("twins", ("+", 2, 2)).variants


def test_canonical_forms_tell_apart_what_does_not_mean_the_same() -> None:
    forms = {
        graph_of("", nested).canonical(0)
        for nested in [("-", 1, 2), ("-", 2, 1), ("+", 1, ("-", 2, 3)), ("-", ("+", 1, 2), 3)]
    }
    assert len(forms) == 4
    assert graph_of("", ("+", 1, ("+", 2, 3))).canonical(0) == "(1+2+3)"


def test_a_graph_depends_on_its_seed_and_place_alone() -> None:
    few, many = draw_graphs(3, seed=5), draw_graphs(30, seed=5)
    assert [graph.text(0) for graph in few] == [graph.text(0) for graph in many[:3]]
    assert [graph.text(0) for graph in draw_graphs(3, seed=6)] != [graph.text(0) for graph in few]


@pytest.mark.parametrize(
    ("settings", "flag"),
    [((0, 0.5, 3), "--height"), ((5, 1.5, 3), "--nesting"), ((5, 0.5, 0), "--digits")],
)
def test_settings_out_of_bounds_are_refused(settings: tuple[int, float, int], flag: str) -> None:
    with pytest.raises(SetupError, match=flag):
        GraphSettings(*settings)
    with pytest.raises(SetupError, match="--graphs"):
        draw_graphs(0)
