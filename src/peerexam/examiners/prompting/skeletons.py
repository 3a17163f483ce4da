"""What a prompt's template comes to between the texts that it only lets through.

Most prompts of an exam differ in nothing but a question and answers, which stand in them as they
are. Such a template is filled in once for each setting of its switches; after that the texts are
put into their places, which costs a tenth of going through the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment, Template, nodes

Skeleton = Sequence[str]
"""Words of the template and names of fields by turns, words first and last."""

# Neither a template nor a rubric has these characters in it.
_PLACE = re.compile("\x00field ([^\x00]*)\x00")


def skeleton(template: Template, fields: Mapping[str, Any]) -> Skeleton:
    """Fill in a template but for its texts.

    Args:
        template: Lets every one of the texts through as it is.
        fields: What it asks for; the strings among them are the texts.

    Raises:
        jinja2.TemplateError: It cannot be filled in.
    """
    marked = {
        name: f"\x00field {name}\x00" if isinstance(value, str) else value
        for name, value in fields.items()
    }
    return _PLACE.split(template.render(**marked))


def filled(bones: Skeleton, fields: Mapping[str, Any]) -> str:
    """Put the texts into their places.

    >>> filled(["Q: ", "question", "!"], {"question": "Why?"})
    'Q: Why?!'
    """
    parts = list(bones)
    parts[1::2] = [fields[name] for name in parts[1::2]]
    return "".join(parts)


def lets_through(environment: Environment, source: str, names: set[str]) -> bool:
    """Whether a template does nothing with these fields but print them as they are.

    So it is where each stands alone in `{{ … }}`, under no other statement than `{% if %}`, and is
    no part of a condition; a template that brings in others is not looked into.

    >>> from jinja2 import Environment
    >>> lets_through(Environment(), "{% if short %}{{ text }}{% endif %}", {"text"})
    True
    >>> lets_through(Environment(), "{{ text | upper }}", {"text"})
    False

    Raises:
        jinja2.TemplateSyntaxError: It is no template.
    """
    from jinja2 import nodes

    tree = environment.parse(source)
    others = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block)
    if any(isinstance(node, others) for node in tree.find_all(nodes.Stmt)):
        return False
    used = sum(1 for node in tree.find_all(nodes.Name) if node.name in names)
    return used == sum(1 for node in _printed(tree) if node.name in names)


def _printed(node: nodes.Node) -> Iterator[nodes.Name]:
    """Names that are printed as they are, whatever the conditions."""
    from jinja2 import nodes

    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Output):
            yield from (name for name in child.nodes if isinstance(name, nodes.Name))
        elif isinstance(child, nodes.If):
            yield from _printed(child)
