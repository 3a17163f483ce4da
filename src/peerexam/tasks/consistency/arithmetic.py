"""Random nested sums as graphs (self-knowledge, "Arithmetic as a DAG" and "Synthetic arithmetic").

An inner node applies an operator to its two operands, a leaf is a number, and the root is the
whole expression: the expression `(2*3)+(16/4)` is a `+` over a `*` and a `/`. The paper draws 500
graphs of height 5 at most, with nesting probability 0.5 and operands of 3 digits at most. What it
leaves open is settled so: the root is always an operator; below it, each operand is an operator
with the nesting probability as long as the height allows it, and else a number, uniform from 1 to
the largest of so many digits; the operator is uniform over the four, and drawn again from the other
three where a division would be by zero. Values are exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import networkx as nx
import numpy as np

from peerexam.errors import SetupError

OPERATORS = ("+", "-", "*", "/")
"""As they stand in a prompt."""

COMMUTATIVE = frozenset("+*")
"""Operators whose operands may change places, and whose brackets may move."""

VariantKind = Literal["order", "association"]

_HIGHEST, _MOST_DIGITS, _DEPTH_OF_ONE = 10, 9, 1


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """How graphs are drawn; the defaults are the paper's.

    Attributes:
        height: Operators on the longest way from the root to a number, at most.
        nesting: Probability that an operand is an operator.
        digits: Of a number, at most.
    """

    height: int = 5
    nesting: float = 0.5
    digits: int = 3

    def __post_init__(self) -> None:
        """Refuse what no graph can be drawn from.

        Raises:
            SetupError: A figure is out of bounds.
        """
        if not 1 <= self.height <= _HIGHEST:
            raise SetupError(f"--height is a number from 1 to {_HIGHEST}")
        if not 0 <= self.nesting <= 1:
            raise SetupError("--nesting is a probability, from 0 to 1")
        if not 1 <= self.digits <= _MOST_DIGITS:
            raise SetupError(f"--digits is a number from 1 to {_MOST_DIGITS}")


@dataclass(frozen=True, slots=True)
class Variant:
    """An expression that means the same as that of a node.

    Attributes:
        kind: `order` where the operands changed places, `association` where the brackets moved.
        node: Whose expression it stands for.
        text: What it reads.
    """

    kind: VariantKind
    node: int
    text: str


class ArithmeticGraph:
    """One expression as a graph.

    Args:
        name: What it is called in records.
        dag: A tree with the root 0 and an edge from each operator to its operands. An operator's
            node has the attribute `operator`, a number's `number`; edges have `place`, 0 or 1.
    """

    def __init__(self, name: str, dag: nx.DiGraph[int]) -> None:
        self.name = name
        self.dag = dag
        self._texts: dict[int, str] = {}

    @cached_property
    def inner(self) -> tuple[int, ...]:
        """Operators, each after those below it: the root is the last."""
        order = reversed(list(nx.topological_sort(self.dag)))
        return tuple(node for node in order if self.operator(node) is not None)

    @cached_property
    def depths(self) -> Mapping[int, int]:
        """Node to its height: how many operators lie on the longest way down from it."""
        depths: dict[int, int] = {}
        for node in reversed(list(nx.topological_sort(self.dag))):
            below = [depths[child] for child in self.dag.successors(node)]
            depths[node] = 1 + max(below) if below else 0
        return depths

    @cached_property
    def values(self) -> Mapping[int, Fraction]:
        """Node to the exact value of its expression."""
        values: dict[int, Fraction] = {}
        for node in reversed(list(nx.topological_sort(self.dag))):
            operator = self.operator(node)
            if operator is None:
                values[node] = Fraction(self.dag.nodes[node]["number"])
            else:
                values[node] = applied(operator, *(values[each] for each in self.operands(node)))
        return values

    def operator(self, node: int) -> str | None:
        """An inner node's operator; None of a number."""
        found: str | None = self.dag.nodes[node].get("operator")
        return found

    def operands(self, node: int) -> tuple[int, int]:
        """An operator's two operands, the left one first."""
        left, right = sorted(
            self.dag.successors(node), key=lambda child: int(self.dag.edges[node, child]["place"])
        )
        return left, right

    def parts(self, node: int) -> tuple[int, ...]:
        """The operators below a node, in the order of `inner`."""
        below = nx.descendants(self.dag, node)
        return tuple(each for each in self.inner if each in below)

    def text(self, node: int, replaced: Mapping[int, str] | None = None) -> str:
        """The expression of a node, with brackets round every operator below it.

        Args:
            node: Which.
            replaced: Nodes to what stands in their place, as it is.
        """
        if replaced is None and node in self._texts:
            return self._texts[node]
        operator = self.operator(node)
        if operator is None:
            return str(self.dag.nodes[node]["number"])
        left, right = (self.bracketed(each, replaced) for each in self.operands(node))
        text = f"{left}{operator}{right}"
        if replaced is None:
            self._texts[node] = text
        return text

    def bracketed(self, node: int, replaced: Mapping[int, str] | None = None) -> str:
        """The same as it stands in a larger one."""
        if replaced and node in replaced:
            return replaced[node]
        text = self.text(node, replaced)
        return text if self.operator(node) is None else f"({text})"

    def value_with(self, node: int, part: int, value: Fraction) -> Fraction | None:
        """The value of a node were that of a part of it another; None where it has none."""
        if node == part:
            return value
        operator = self.operator(node)
        if operator is None or part not in nx.descendants(self.dag, node):
            return self.values[node]
        left, right = (self.value_with(each, part, value) for each in self.operands(node))
        if left is None or right is None or (operator == "/" and right == 0):
            return None
        return applied(operator, left, right)

    def canonical(self, node: int) -> str:
        """One form for all expressions that differ in operand order or association alone."""
        operator = self.operator(node)
        if operator is None:
            return self.text(node)
        if operator not in COMMUTATIVE:
            left, right = (self.canonical(each) for each in self.operands(node))
            return f"({left}{operator}{right})"
        return f"({operator.join(sorted(self._flat(node, operator)))})"

    def _flat(self, node: int, operator: str) -> list[str]:
        if self.operator(node) != operator:
            return [self.canonical(node)]
        return [form for each in self.operands(node) for form in self._flat(each, operator)]

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Expressions that mean the same as that of a node, from `a+b` and from `(a+b)+c`.

        Of every node with `+` or `*` one has its operands the other way round, and one its
        brackets moved where one of its operands has the same operator, the left one before the
        right one. Variants that read the same as the expression are left out.
        """
        made = [variant for node in self.inner for variant in self._variants_of(node)]
        return tuple(each for each in made if each.text != self.text(each.node))

    def _variants_of(self, node: int) -> Sequence[Variant]:
        operator = self.operator(node)
        if operator not in COMMUTATIVE:
            return []
        left, right = self.operands(node)
        a, b = self.bracketed(left), self.bracketed(right)
        made = [Variant("order", node, f"{b}{operator}{a}")]
        for child in (left, right):
            if self.operator(child) != operator:
                continue
            inner = [self.bracketed(each) for each in self.operands(child)]
            moved = (
                f"{inner[0]}{operator}({inner[1]}{operator}{b})"
                if child == left
                else f"({a}{operator}{inner[0]}){operator}{inner[1]}"
            )
            return [*made, Variant("association", node, moved)]
        return made


def applied(operator: str, left: Fraction, right: Fraction) -> Fraction:
    """The value of an operator over two operands.

    Raises:
        ZeroDivisionError: It divides by zero.
    """
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right


def draw_graphs(
    count: int, settings: GraphSettings | None = None, *, seed: int = 0
) -> list[ArithmeticGraph]:
    """Draw graphs; the n-th depends on settings, seed and n alone.

    Args:
        count: How many.
        settings: How.
        seed: Of the draws.

    Raises:
        SetupError: `count` is below 1.
    """
    if count < 1:
        raise SetupError("--graphs is a number of graphs, 1 or more")
    settings = settings or GraphSettings()
    graphs = []
    for place in range(count):
        nested, _ = _drawn(np.random.default_rng([seed, place]), settings, settings.height)
        graphs.append(graph_of(f"g{place + 1:04d}", nested))
    return graphs


def _drawn(
    rng: np.random.Generator, settings: GraphSettings, height: int
) -> tuple[tuple[str, Any, Any], Fraction]:
    """An operator with its operands (`(operator, left, right)`, numbers as `int`) and its value."""
    operands: list[Any] = []
    values: list[Fraction] = []
    for _ in range(2):
        if height > _DEPTH_OF_ONE and rng.random() < settings.nesting:
            nested, value = _drawn(rng, settings, height - 1)
            operands.append(nested)
            values.append(value)
        else:
            number = int(rng.integers(1, 10**settings.digits))
            operands.append(number)
            values.append(Fraction(number))
    operator = OPERATORS[int(rng.integers(len(OPERATORS)))]
    if operator == "/" and not values[1]:
        operator = OPERATORS[int(rng.integers(len(OPERATORS) - 1))]
    return (operator, operands[0], operands[1]), applied(operator, values[0], values[1])


def graph_of(name: str, nested: tuple[str, Any, Any]) -> ArithmeticGraph:
    """A graph from an expression in prefix form, nodes numbered from the root, left before right.

    >>> graph_of("example", ("+", ("*", 2, 3), ("/", 16, 4))).text(0)
    '(2*3)+(16/4)'
    """
    dag: nx.DiGraph[int] = nx.DiGraph()
    _add(dag, nested)
    return ArithmeticGraph(name, dag)


def _add(dag: nx.DiGraph[int], nested: tuple[str, Any, Any] | int) -> int:
    node = dag.number_of_nodes()
    if isinstance(nested, int):
        dag.add_node(node, number=nested)
        return node
    operator, *operands = nested
    dag.add_node(node, operator=operator)
    for place, operand in enumerate(operands):
        dag.add_edge(node, _add(dag, operand), place=place)
    return node
