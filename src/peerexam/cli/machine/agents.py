"""`agents`: the providers here, and, on request, whether agents answer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli import COMPLETE, FAILED
from peerexam.cli.arguments import add_action
from peerexam.cli.machine import probe
from peerexam.cli.output import plain, say, say_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from peerexam.calls import Completion
    from peerexam.protocols.config.models import AgentConfig

_QUESTION = "What is the capital of France? Answer in one word."
_SECONDS = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command and of its action."""
    live = parser.add_mutually_exclusive_group()
    live.add_argument("--check", metavar="MODEL", help="ask one model one short question")
    live.add_argument("--live", metavar="EXAM.yaml", help="ask every agent of an exam")
    actions = parser.add_subparsers(dest="action", metavar="probe")
    probe.add_arguments(
        add_action(actions, "probe", "measure how often judges obey prompt injections in answers")
    )


def perform(arguments: argparse.Namespace) -> int:
    """List the providers, or ask some agents."""
    import os

    from peerexam.cli.agent_files import read_agents
    from peerexam.protocols.config.loading import load_config

    if arguments.action == "probe":
        return probe.perform(arguments)
    if arguments.check:
        return _check(read_agents([arguments.check]), as_json=arguments.json)
    if arguments.live:
        agents = load_config(arguments.live, environ=os.environ).agents
        return _check(agents, as_json=arguments.json)
    return _list(as_json=arguments.json)


def _list(*, as_json: bool) -> int:
    """Print providers, whether they are installed, and whether their key is set."""
    from peerexam.agents.registry import installed_providers
    from peerexam.protocols.config.checks import PLAYS_DIRECTLY

    rows: list[dict[str, Any]] = [
        {
            "provider": info.name,
            "source": info.source,
            "installed": info.installed,
            "install": info.install,
            "key_variable": info.key_variable,
            "key_set": info.key_set,
        }
        for info in installed_providers()
    ]
    rows.append({"provider": PLAYS_DIRECTLY, "source": "built in", "installed": True})
    weights = _weights()
    if as_json:
        say_json({"providers": rows, "weights": weights})
        return COMPLETE
    lacking = [name for name, entry in weights.items() if not entry["installed"]]
    for row in rows:
        state = _state(row)
        if row["provider"] == "local" and row["installed"] and lacking:
            state += f"; without the weights of {', '.join(lacking)}"
        say(f"{row['provider'] + '/…':12} {state}")
    for name, entry in weights.items():
        state = "installed" if entry["installed"] else f"not installed: {entry['fetch']}"
        say(f"local/{name}: {state}; licence {entry['licence']}")
    say("ask one: peerexam agents --check openai/gpt-4o-mini")
    return COMPLETE


def _state(row: dict[str, Any]) -> str:
    parts = ["installed" if row["installed"] else f"not installed: {row['install']}"]
    if row.get("key_variable"):
        parts.append(f"{row['key_variable']} is {'set' if row['key_set'] else 'not set'}")
    if row["source"] != "built in":
        parts.append(f"from {plain(row['source'])}")
    return "; ".join(parts)


def _weights() -> dict[str, dict[str, Any]]:
    from peerexam.agents.local import weights

    return {
        name: {
            "installed": weights.is_installed(name),
            "licence": about.licence,
            "fetch": about.fetch_command,
        }
        for name, about in weights.WEIGHTS.items()
    }


def _check(agents: Sequence[AgentConfig], *, as_json: bool) -> int:
    from peerexam.cli.interrupt import run_interruptibly

    results = run_interruptibly(_ask_all(agents))
    if as_json:
        say_json(results)
    else:
        for result in results:
            mark = "ok  " if result["ok"] else "FAIL"
            say(f"{mark} {plain(result['agent'])}: {plain(result['said'])}")
    return COMPLETE if all(result["ok"] for result in results) else FAILED


async def _ask_all(agents: Sequence[AgentConfig]) -> list[dict[str, Any]]:
    return [await _ask(agent) for agent in agents]


async def _ask(agent: AgentConfig) -> dict[str, Any]:
    import asyncio

    from peerexam.agents.registry import create_agent
    from peerexam.calls import Message, Request, Sampling
    from peerexam.errors import PeerexamError
    from peerexam.protocols.config.checks import PLAYS_DIRECTLY, agent_spec

    spec = agent_spec(agent)
    if spec.provider == PLAYS_DIRECTLY:
        return {
            "agent": agent.name,
            "ok": True,
            "said": "simulated",
            "seconds": None,
        }
    request = Request((Message("user", _QUESTION),), Sampling(max_tokens=agent.max_tokens or 64))
    try:
        made = create_agent(spec)
        try:
            async with asyncio.timeout(_SECONDS):
                completion = await made.complete(request)
        finally:
            await made.close()
    except (PeerexamError, TimeoutError) as error:
        said = str(error) or f"no answer within {_SECONDS:.0f} s"
        return {"agent": agent.name, "ok": False, "said": said, "seconds": None}
    return _answered(agent.name, completion)


def _answered(name: str, completion: Completion) -> dict[str, Any]:
    usable = completion.state in ("ok", "truncated")
    said = completion.text.strip() or completion.state
    return {"agent": name, "ok": usable, "said": said[:200], "seconds": completion.latency}
