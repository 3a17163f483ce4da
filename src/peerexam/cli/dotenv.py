"""Keys from `.env` in the working directory; what is already in the environment stays.

Which variables came from here is remembered: a key goes only to an endpoint from the same place.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")


def read_dotenv(text: str) -> dict[str, str]:
    r"""The variables of a `.env` file. Lines that set nothing are skipped; nothing is expanded.

    >>> read_dotenv('# keys\nexport A_KEY="x y"  # mine\nB_KEY=z # other\n')
    {'A_KEY': 'x y', 'B_KEY': 'z'}
    """
    found = {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            found[match.group(1)] = _value(match.group(2))
    return found


def _value(raw: str) -> str:
    if raw[:1] in ("'", '"'):
        end = raw.find(raw[0], 1)
        if end > 0:
            return raw[1:end]
    return re.split(r"\s+#", raw, maxsplit=1)[0].rstrip()


def load_dotenv(environ: MutableMapping[str, str], folder: Path | None = None) -> None:
    """Add the variables of `.env` to an environment that does not have them."""
    try:
        text = ((folder or Path()) / ".env").read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return
    new = {name: value for name, value in read_dotenv(text).items() if name not in environ}
    if new:
        from peerexam.agents.hosted.endpoint import set_by_file

        environ.update(new)
        set_by_file(new)
