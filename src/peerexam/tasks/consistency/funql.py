"""FunQL programs as trees: parsing, one form for all that mean the same, and parts of them.

A program is a term: a name with arguments in brackets, or a constant. Spaces do not matter
(`state ( loc_1 ( all ) )`), constants may be quoted and then hold spaces (`cityid('new york', _)`),
and `_` stands for an argument left open. Quotes and case make no difference to a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from peerexam.calls import LONGEST_REPLY

_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>'[^'\n]*'|\"[^\"\n]*\"|[‘’][^‘’\n]*[‘’])|(?P<name>[\w.]+)|(?P<sign>[(),]))"
)
_LEAD = re.compile(r"^(?:[-*•]\s*+)?(?:\*{0,9}program\*{0,9}\s*+[:=])?", re.IGNORECASE)
_COMMUTATIVE = frozenset({"intersection"})
_WHOLE = "answer"
_DEEPEST = 100


class FunqlError(ValueError):
    """A text is no program."""


@dataclass(frozen=True, slots=True)
class Term:
    """A program, or a part of one.

    Attributes:
        name: The operator, or the constant without its quotes.
        arguments: None for a constant.
        quoted: Whether the constant was quoted; two that differ in this alone are equal.
    """

    name: str
    arguments: tuple[Term, ...] | None = None
    quoted: bool = field(default=False, compare=False)

    @property
    def is_operator(self) -> bool:
        """Whether it has arguments."""
        return self.arguments is not None

    @property
    def depth(self) -> int:
        """Terms on the longest way down, itself and the constant included."""
        return 1 + max((each.depth for each in self.arguments or ()), default=0)

    def terms(self) -> Iterator[Term]:
        """Itself and all terms in it, from the left, each before those in it."""
        yield self
        for each in self.arguments or ():
            yield from each.terms()

    def operators(self) -> Iterator[Term]:
        """Itself and all terms in it that have arguments."""
        return (each for each in self.terms() if each.is_operator)

    def __str__(self) -> str:
        """As the data write it: a space after each comma and nowhere else.

        >>> str(parse_funql("answer ( cityid ( 'new york' , _ ) )"))
        "answer(cityid('new york', _))"
        """
        if self.arguments is None:
            return f"'{self.name}'" if self.quoted else self.name
        return f"{self.name}({', '.join(map(str, self.arguments))})"


def parse_funql(text: str) -> Term:
    """Parse a program.

    Raises:
        FunqlError: It is none, or there is something before or after it.
    """
    term, rest = _parsed(text, 0, 1)
    if text[rest:].strip():
        raise FunqlError(f"after the program there is {text[rest:].strip()[:40]!r}")
    return term


def _parsed(text: str, at: int, depth: int) -> tuple[Term, int]:
    if depth > _DEEPEST:
        raise FunqlError(f"it is nested more than {_DEEPEST} deep")
    found = _TOKEN.match(text, at)
    if found is None or found["sign"]:
        raise FunqlError(f"a name or constant is missing before {text[at:].strip()[:40]!r}")
    if found["quoted"]:
        return Term(found["quoted"][1:-1].strip().lower(), quoted=True), found.end()
    name, at = found["name"].lower(), found.end()
    if _sign(text, at) != "(":
        return Term(name), at
    arguments = []
    sign: str | None = "("
    while sign in ("(", ","):
        argument, at = _parsed(text, _after_sign(text, at), depth + 1)
        arguments.append(argument)
        sign = _sign(text, at)
    if sign != ")":
        raise FunqlError(f"a bracket of {name} is never closed")
    return Term(name, tuple(arguments)), _after_sign(text, at)


def _sign(text: str, at: int) -> str | None:
    found = _TOKEN.match(text, at)
    return found["sign"] if found else None


def _after_sign(text: str, at: int) -> int:
    found = _TOKEN.match(text, at)
    return found.end() if found else at


def canonical(term: Term) -> Term:
    """The one form of all programs that differ in the order of an intersection alone.

    >>> str(canonical(parse_funql("intersection(state(all), loc_1(all))")))
    'intersection(loc_1(all), state(all))'
    """
    if term.arguments is None:
        return term
    arguments = [canonical(each) for each in term.arguments]
    if term.name in _COMMUTATIVE:
        arguments.sort(key=_order)
    return Term(term.name, tuple(arguments))


def _order(term: Term) -> tuple[str, ...]:
    # Not the text: that has quotes, which make no difference.
    return tuple(f"{each.name}/{len(each.arguments or ())}" for each in term.terms())


def same_program(one: Term, other: Term) -> bool:
    """Whether two programs are the same tree."""
    return canonical(one) == canonical(other)


def holds(whole: Term, part: Term) -> bool:
    """Whether a program holds another as a subtree; it holds itself.

    >>> holds(parse_funql("answer(state(loc_1(all)))"), parse_funql("loc_1(all)"))
    True
    """
    wanted = canonical(part)
    return any(each == wanted for each in canonical(whole).terms())


def body(term: Term) -> Term:
    """A program without the `answer(…)` round it, which a part of a program does not have."""
    if term.name == _WHOLE and term.arguments is not None and len(term.arguments) == 1:
        return term.arguments[0]
    return term


def read_program(text: str) -> Term | str:
    """The program that a reply gives: of its lines, the first that is one.

    A constant alone is no program: any word would be one.

    Returns:
        The program, or why none was read.
    """
    problem = "it holds no program"
    if len(text) > LONGEST_REPLY:
        return "it is too long"
    for line in text.splitlines():
        stripped = _LEAD.sub("", line.strip(), count=1)
        stripped = stripped.strip().strip("`").removesuffix(".").strip()
        if "(" not in stripped:
            continue
        try:
            term = parse_funql(stripped)
        except FunqlError as error:
            problem = str(error)
            continue
        if term.is_operator:
            return term
    return problem
