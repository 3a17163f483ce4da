"""Pages of the studies: one file each, with the report's style and nothing that runs."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from peerexam.report.page.shell import content_policy, resource


def rendered(template: str, **fields: Any) -> str:
    """A study's page as text; everything that is filled in is escaped.

    Args:
        template: Its file; it fills the blocks of `study.html.j2`.
        fields: What it asks for.
    """
    environment = Environment(
        loader=PackageLoader("peerexam.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Markup(resource("report.css") + resource("study.css"))
    return environment.get_template(template).render(
        policy=content_policy(style, ""), style=style, **fields
    )
