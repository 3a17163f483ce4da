"""A page that nothing can run in but its own script.

Texts from models are data. Jinja escapes them in bodies and attributes; the JSON block escapes
whatever could end it; and the content security policy names the page's one style and one script by
their hashes, so that even markup that slipped through could neither run nor call out.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

from markupsafe import Markup

from peerexam.calls import Json

_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_RISKY = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def resource(name: str) -> Markup:
    """One of the page's own files, to be put into the page as it is."""
    return Markup(files("peerexam.report").joinpath("templates", name).read_text("utf-8"))


def embedded_json(value: Json) -> Markup:
    r"""JSON for a `<script type="application/json">` block: nothing in it can end the block.

    `JSON.parse` gives back the very same text, lone surrogates included.

    >>> print(embedded_json("</script><!-- &"))
    "\u003c/script\u003e\u003c!-- \u0026"

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(_RISKY.sub(_escape, text))


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPED.get(char) or f"\\u{ord(char):04x}"


def source_hash(text: str) -> str:
    """The hash by which a content security policy allows one inline style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def content_policy(style: str, script: str) -> str:
    """A policy under which the page reaches nothing and runs only this style and this script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {source_hash(style)}",
            f"script-src {source_hash(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def encoded(page: str) -> bytes:
    """The page in UTF-8; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    return _SURROGATE.sub("\ufffd", page).encode("utf-8")
