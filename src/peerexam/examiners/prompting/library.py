"""The words of the roles: template files, one a prompt, any of which a user may replace."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerexam.calls import Message, canonical_json
from peerexam.errors import SetupError
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.examiners.prompting.skeletons import Skeleton, filled, lets_through, skeleton

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

COMPLETION = ".completion"
"""Ends the name of a prompt for agents that only go on with a text."""

_SUFFIX = ".j2"
_HASH_DIGITS = 16
# Where a text that goes on would begin with the next example.
_STOPS: Mapping[str, tuple[str, ...]] = {
    "answer.completion": ("\n",),
    "answer_zero.completion": ("\n",),
    "follow_up.completion": ("\n",),
    "questions_breadth.completion": ("\n\n",),
    "questions_peer.completion": ("\n\n",),
    "mark.completion": ("\n\n",),
    "reask_mark.completion": ("\n\n",),
    "compare.completion": ("\n\n",),
    "reask_compare.completion": ("\n\n",),
    "level.completion": ("\n\n",),
    "reask_level.completion": ("\n\n",),
    "reference.completion": ("\n",),
    "same_answer.completion": ("\n\n",),
    "reask_same_answer.completion": ("\n\n",),
    "rewrite.completion": ("\n\n", "[["),
    "content_kept.completion": ("\n\n",),
    "reask_content_kept.completion": ("\n\n",),
    "choose.completion": ("\n\n", "[["),
    "rate_answer.completion": ("\n\n",),
    "truthful.completion": ("\n",),
    "informative.completion": ("\n",),
    "reask_line.completion": ("\n",),
    "next_thought.completion": ("\n",),
    "locate_mistake.completion": ("\n\n",),
    "calculate.completion": ("\n",),
    "own_choice.completion": ("\n\n",),
    "funql.completion": ("\n",),
    "check_thought.completion": ("\n\n",),
}


_SHOWN = frozenset({"question", "answer", "response_1", "response_2", "domain"})
_SAMPLES: Mapping[str, Any] = {
    **{field: f"some {field}" for field in (*_SHOWN, "key", "problem", "form", "answer_1")},
    "answer_2": "some answer_2",
    "already": ("a question",),
    "n": 2,
    "as_json": False,
    "ties": True,
    "concise": 1,
    "complex": 1,
    "compound": 1,
    "rubric": Rubric(),
}
"""One value of every field that an exam's prompts have, to try a user's template with."""


def _settings(known: Collection[str]) -> Iterator[dict[str, Any]]:
    """Every setting of the switches, and questions that there are already or not."""
    varied: dict[str, tuple[Any, ...]] = {
        "as_json": (False, True),
        "ties": (True, False),
        "already": (("a question",), ()),
    }
    names = [name for name in varied if name in known]
    for values in product(*(varied[name] for name in names)):
        yield dict(zip(names, values, strict=True))


_Told = tuple[Any, ...]
"""A prompt's name and, by field, what decides its words beside the texts."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt, ready to be sent.

    Attributes:
        messages: One user message.
        prompt_hash: 16 hexadecimal digits: of the template's text, of the rubric, and of the
            switches given to it, but not of what is asked with it.
        stop: Strings before which the reply should end.
    """

    messages: tuple[Message, ...]
    prompt_hash: str
    stop: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The message's text."""
        return self.messages[0].content


class PromptLibrary:
    """All prompts by name, the user's own in place of ours.

    Args:
        overrides: Prompt name to the file that replaces it.

    Raises:
        SetupError: A name is not known, or a file cannot be read.
    """

    def __init__(self, overrides: Mapping[str, Path] | None = None) -> None:
        self._texts = _shipped()
        self._templates: dict[str, Template] = {}
        self._digests: dict[_Told, tuple[str, tuple[Rubric, ...]]] = {}
        self._skeletons: dict[_Told, Skeleton | None] = {}
        for name, path in (overrides or {}).items():
            if name not in self._texts:
                raise SetupError(
                    f"there is no prompt '{name}'; prompts are {', '.join(sorted(self._texts))}"
                )
            try:
                self._texts[name] = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise SetupError(f"prompt '{name}': {path} cannot be read: {error}") from error

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all prompts, sorted."""
        return tuple(sorted(self._texts))

    def problem(self, name: str) -> str | None:
        """What is wrong with a prompt that a user wrote, None where it can be filled in.

        Looked at without a model: whether it is a template, names only fields that this prompt
        has, comes to some text with every setting of its switches, and shows the texts that it is
        about (question, answer, …).

        Args:
            name: Its full name, with `.completion` where it has that.
        """
        import jinja2
        from jinja2.meta import find_undeclared_variables

        try:
            used = find_undeclared_variables(self._environment.parse(self._texts[name]))
        except jinja2.TemplateSyntaxError as error:
            return f"line {error.lineno}: {error.message}"
        forms = self._fields(name)
        known = set().union(*forms)
        shown = _SHOWN.intersection(*forms)
        unknown = sorted(used - known)
        if unknown:
            return f"it has no field '{unknown[0]}'; it has {', '.join(sorted(known))}"
        if not known <= set(_SAMPLES):
            return None
        for switches in _settings(known):
            fields = {field: _SAMPLES[field] for field in known} | switches
            problem = self._unfit(name, fields, shown)
            if problem is not None:
                return problem
        return None

    def _unfit(self, name: str, fields: Mapping[str, Any], shown: Set[str]) -> str | None:
        try:
            text = self._template(name).render(**fields)
        except Exception as error:  # whatever a template of the user's computes
            return f"it cannot be filled in: {type(error).__name__}: {error}"
        if not text.strip():
            return "it comes to no text at all"
        words = text.casefold()
        hidden = [field for field in sorted(shown) if _SAMPLES[field].casefold() not in words]
        return f"it does not show the {hidden[0]}: write {{{{ {hidden[0]} }}}}" if hidden else None

    def _fields(self, name: str) -> list[set[str]]:
        """What our own prompts of this name ask for, in either form."""
        from jinja2.meta import find_undeclared_variables

        shipped, base = _shipped(), name.removesuffix(COMPLETION)
        ours = [shipped[one] for one in (base, base + COMPLETION) if one in shipped]
        return [find_undeclared_variables(self._environment.parse(text)) for text in ours]

    def render(self, name: str, chat: bool, **fields: Any) -> Rendered:
        """Fill in a prompt.

        Args:
            name: Its name, without `.completion`.
            chat: Whether the agent follows instructions; otherwise the completion prompt is taken.
            fields: What the template asks for; what it does not name is ignored.

        Raises:
            SetupError: The prompt is not known, or its template cannot be filled in.
        """
        import jinja2

        full = name if chat else name + COMPLETION
        if full not in self._texts:
            raise SetupError(f"there is no prompt '{full}'; prompts are {', '.join(self.names)}")
        told = _told(full, fields)
        try:
            text = self._filled(told, full, fields)
            # A text to be continued ends where the template ends, to the very character.
            text = text.strip() if chat else text
        except jinja2.TemplateSyntaxError as error:
            raise SetupError(f"prompt '{full}', line {error.lineno}: {error.message}") from error
        except jinja2.TemplateError as error:
            raise SetupError(f"prompt '{full}' cannot be filled in: {error.message}") from error
        digest = self._digest(told, full, fields)
        return Rendered((Message("user", text),), digest, _STOPS.get(full, ()))

    def _template(self, name: str) -> Template:
        """Compiled once: the texts do not change under a run."""
        found = self._templates.get(name)
        if found is None:
            found = self._templates[name] = self._environment.get_template(name)
        return found

    def _filled(self, told: _Told, name: str, fields: Mapping[str, Any]) -> str:
        if told not in self._skeletons:
            self._skeletons[told] = self._skeleton(name, fields)
        bones = self._skeletons[told]
        return self._template(name).render(**fields) if bones is None else filled(bones, fields)

    def _skeleton(self, name: str, fields: Mapping[str, Any]) -> Skeleton | None:
        """None where the template must be gone through every time."""
        if not all(type(value) in (bool, str, Rubric) for value in fields.values()):
            return None
        texts = {field for field, value in fields.items() if isinstance(value, str)}
        if not lets_through(self._environment, self._texts[name], texts):
            return None
        return skeleton(self._template(name), fields)

    def _digest(self, told: _Told, name: str, fields: Mapping[str, Any]) -> str:
        known = self._digests.get(told)
        if known is None:
            switches = {k: v for k, v in fields.items() if isinstance(v, bool)}
            rubrics = {k: v for k, v in fields.items() if isinstance(v, Rubric)}
            settings: dict[str, Any] = {**switches, **{k: v.to_json() for k, v in rubrics.items()}}
            body = canonical_json([self._texts[name], settings]).encode("utf-8", "surrogatepass")
            digest = hashlib.sha256(body).hexdigest()[:_HASH_DIGITS]
            # A rubric is told by the object: it is kept here, so no other gets its number.
            known = self._digests[told] = (digest, tuple(rubrics.values()))
        return known[0]

    @cached_property
    def _environment(self) -> SandboxedEnvironment:
        from jinja2 import DictLoader, StrictUndefined
        from jinja2.sandbox import SandboxedEnvironment

        # Prompts are plain text for a model, so nothing is escaped for HTML.
        return SandboxedEnvironment(
            loader=DictLoader(self._texts),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )


def _told(name: str, fields: Mapping[str, Any]) -> _Told:
    told: list[Any] = [name]
    for field, value in fields.items():
        kind = type(value)
        told += (field, value if kind is bool else id(value) if kind is Rubric else kind)
    return tuple(told)


def _shipped() -> dict[str, str]:
    folder = resources.files("peerexam.examiners") / "templates"
    return {
        entry.name.removesuffix(_SUFFIX): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(_SUFFIX)
    }
