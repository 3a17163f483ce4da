"""What a call costs in processor time, and the utilisation it allows, beside the peers.

    python benchmarks/call_cost.py [--calls 4000] [--runs 3] [--delay 0.05] [--concurrency 128]
        [--clients aiohttp,ours,sdk,openai,inspect] [--python inspect=PATH]

The work: half the calls are answers, the other half judge one each and quote it, at most
`concurrency` at a time, against `chat_server.py`. Every client runs in a process of its own on one
core, the server on the other; clients take turns, so that what else the machine does hits all.

`ours` is the whole path of an exam's call: settings, key, look-up, budget, deadline, retries,
limit, HTTP, parsing, and the record on disk before the answer is handed on; it runs in the loop
that a run is held in, uvloop where it is installed. `messages` is the same over Anthropic's
dialect, `asyncio` is `ours` in asyncio's own loop. `aiohttp` is the plain client: dumps, post,
loads, and nothing kept; `aiohttp-uvloop` and `pyreqwest` are as plain.

Targets: ours at most 0.5 ms a call at 128 in flight, at most 1.8 times plain aiohttp, growing at
most 1.5 times from 32 to 512, Inspect at least 25 times as much; utilisation (the share of the
calls allowed at once that is in flight) 0.60 at 50 ms and 128, 0.75 at 500 ms and 512, with 80 MB
at most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Ask = Callable[[str], Awaitable[str]]
HERE = Path(__file__).resolve().parent


def question(number: int) -> str:
    return f"Question {number}: what follows from the premises? " + "Consider them well. " * 20


def judging(number: int, answer: str) -> str:
    return f"Grade answer {number} as C or I.\n[answer]\n{answer}\n[end of answer]"


async def drive(ask: Ask, calls: int, concurrency: int) -> None:
    numbers = iter(range(calls // 2))

    async def work() -> None:
        for number in numbers:
            answer = await ask(question(number))
            await ask(judging(number, answer))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())


async def plain_aiohttp(url: str, calls: int, concurrency: int) -> None:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(text: str) -> str:
            body = {
                "model": "bench",
                "messages": [{"role": "user", "content": text}],
                "temperature": 0.0,
                "max_tokens": 200,
            }
            async with session.post(f"{url}/chat/completions", json=body) as response:
                reply = json.loads(await response.read())
            content: str = reply["choices"][0]["message"]["content"]
            return content

        await drive(ask, calls, concurrency)


async def plain_pyreqwest(url: str, calls: int, concurrency: int) -> None:
    from pyreqwest.client import ClientBuilder

    async with ClientBuilder().no_proxy().build() as client:

        async def ask(text: str) -> str:
            body = {
                "model": "bench",
                "messages": [{"role": "user", "content": text}],
                "temperature": 0.0,
                "max_tokens": 200,
            }
            sending = client.post(f"{url}/chat/completions").body_bytes(json.dumps(body).encode())
            response = await sending.header("Content-Type", "application/json").build().send()
            reply = json.loads(bytes(await response.bytes()))
            content: str = reply["choices"][0]["message"]["content"]
            return content

        await drive(ask, calls, concurrency)


async def _ours(model: str, calls: int, concurrency: int, options: dict[str, Any]) -> None:
    from peerexam.agents.layers.budgets.meter import BudgetLimits, BudgetMeter
    from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
    from peerexam.agents.layers.stack import LayerSettings, RunContext, assemble
    from peerexam.agents.spec import AgentSpec
    from peerexam.calls import Message, Request, Sampling
    from peerexam.ledger.sqlite.ledger import SqliteLedger
    from peerexam.protocols.session.garbage_collection import rare_collections

    provider, _, url = model.partition("@")
    sampling = Sampling(max_tokens=200)
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteLedger.open(Path(folder) / "ledger.sqlite") as ledger:
            agent = assemble(
                AgentSpec("one", provider, "bench", url, options=options),
                LayerSettings(concurrency=concurrency),
                RunContext(
                    ledger=ledger,
                    meters=[BudgetMeter(BudgetLimits(calls=10 * calls))],
                    run_slots=ConcurrencyLimit(concurrency),
                ),
            )

            async def ask(text: str) -> str:
                request = Request((Message("user", text),), sampling)
                return (await agent.complete(request)).text

            with rare_collections():  # as every run has it
                await drive(ask, calls, concurrency)
            await agent.close()


async def ours(url: str, calls: int, concurrency: int) -> None:
    await _ours(f"openai@{url}", calls, concurrency, {})


async def messages(url: str, calls: int, concurrency: int) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "bench-key"
    await _ours(f"anthropic@{url.removesuffix('/v1')}", calls, concurrency, {})


async def sdk(url: str, calls: int, concurrency: int) -> None:
    await _ours(f"openai@{url}", calls, concurrency, {"client": "sdk"})


async def openai_sdk(url: str, calls: int, concurrency: int) -> None:
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)

    async def ask(text: str) -> str:
        reply = await client.chat.completions.create(
            model="bench",
            messages=[{"role": "user", "content": text}],
            temperature=0.0,
            max_tokens=200,
        )
        return reply.choices[0].message.content or ""

    await drive(ask, calls, concurrency)


def inspect(url: str, calls: int, concurrency: int) -> None:
    from inspect_ai import Task, eval  # type: ignore[import-not-found]
    from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
    from inspect_ai.model import GenerateConfig, get_model  # type: ignore[import-not-found]
    from inspect_ai.scorer import model_graded_qa  # type: ignore[import-not-found]
    from inspect_ai.solver import generate  # type: ignore[import-not-found]

    model = get_model(
        "openai/bench",
        base_url=url,
        api_key="none",
        responses_api=False,
        config=GenerateConfig(temperature=0.0, max_tokens=200, max_connections=concurrency),
    )
    samples = [Sample(input=question(n), target="42") for n in range(calls // 2)]
    with tempfile.TemporaryDirectory() as folder:
        eval(
            Task(MemoryDataset(samples), solver=generate(), scorer=model_graded_qa(model=model)),
            model=model,
            max_samples=concurrency,
            log_dir=folder,
            display="none",
        )


CLIENTS: dict[str, Callable[[str, int, int], Any]] = {
    "aiohttp": plain_aiohttp,
    "aiohttp-uvloop": plain_aiohttp,
    "pyreqwest": plain_pyreqwest,
    "ours": ours,
    "asyncio": ours,
    "messages": messages,
    "sdk": sdk,
    "openai": openai_sdk,
    "inspect": inspect,
}
NAMES = {
    "aiohttp": "plain aiohttp",
    "aiohttp-uvloop": "plain aiohttp, uvloop",
    "pyreqwest": "plain pyreqwest",
    "ours": "peerexam, chat completions",
    "asyncio": "peerexam, asyncio's loop",
    "messages": "peerexam, Anthropic messages",
    "sdk": "peerexam, client=sdk",
    "openai": "openai SDK alone",
    "inspect": "inspect-ai",
}

_IN_OUR_LOOP = ("ours", "messages", "sdk")


def run_one(client: str, url: str, calls: int, concurrency: int) -> None:
    """One client in this process; prints its figures as JSON."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {0})
    # Imports are not what a call costs. Connections are opened anew by what is measured.
    _do(client, url, min(calls, 64), min(concurrency, 32))
    cpu, wall = time.process_time(), time.perf_counter()
    _do(client, url, calls, concurrency)
    print(
        json.dumps(
            {
                "cpu": (time.process_time() - cpu) / calls,
                "wall": time.perf_counter() - wall,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def _do(client: str, url: str, calls: int, concurrency: int) -> None:
    if client == "inspect":
        inspect(url, calls, concurrency)
        return
    work = CLIENTS[client](url, calls, concurrency)
    if client == "aiohttp-uvloop":
        import uvloop

        uvloop.run(work)
    elif client in _IN_OUR_LOOP:
        from peerexam.protocols.session.event_loop import run

        run(work)
    else:
        asyncio.run(work)


def compare(asked: argparse.Namespace) -> None:
    """All clients in turn, so often; medians and ratios."""
    pythons = dict(pair.split("=", 1) for pair in asked.python)
    served = subprocess.Popen(
        [
            sys.executable,
            str(HERE / "chat_server.py"),
            "--delay",
            str(asked.delay),
            "--cpu",
            str((os.cpu_count() or 1) - 1),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert served.stdout is not None
    assert served.stdin is not None
    url = f"http://127.0.0.1:{served.stdout.readline().strip()}/v1"
    try:
        for concurrency in asked.concurrency:
            found: dict[str, list[dict[str, float]]] = {name: [] for name in asked.clients}
            for _ in range(asked.runs):
                for client in asked.clients:
                    found[client].append(_measured(client, url, concurrency, asked, pythons))
            _report(found, concurrency, asked)
    finally:
        served.stdin.close()
        served.wait(10)


def _measured(
    client: str, url: str, concurrency: int, asked: argparse.Namespace, pythons: dict[str, str]
) -> dict[str, float]:
    calls = min(asked.calls, asked.peer_calls) if client == "inspect" else asked.calls
    command = [pythons.get(client, sys.executable), __file__, "--one", client, "--url", url]
    command += ["--calls", str(calls), "--concurrency", str(concurrency)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    figures["full"] = calls * asked.delay / concurrency / figures["wall"]
    return figures


def _report(
    found: dict[str, list[dict[str, float]]], concurrency: int, asked: argparse.Namespace
) -> None:
    def median(client: str, figure: str) -> float:
        return statistics.median(run[figure] for run in found[client])

    print(f"\n{asked.calls} calls, {asked.delay * 1e3:g} ms each, {concurrency} in flight")
    print(f"{'':30}{'CPU µs/call':>12}{'× aiohttp':>10}{'utilised':>10}{'RSS MB':>8}")
    for client in asked.clients:
        cpu = median(client, "cpu")
        ratio = f"{cpu / median('aiohttp', 'cpu'):10.2f}" if "aiohttp" in found else f"{'':10}"
        print(
            f"{NAMES[client]:30}{cpu * 1e6:12.0f}{ratio}{median(client, 'full'):10.2f}"
            f"{median(client, 'memory'):8.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--peer-calls", type=int, default=1000, help="for inspect, which is slow")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument(
        "--concurrency", type=lambda t: [int(n) for n in t.split(",")], default=[128]
    )
    parser.add_argument("--clients", type=lambda t: t.split(","), default=["aiohttp", "ours"])
    parser.add_argument("--python", action="append", default=[], metavar="CLIENT=PATH")
    parser.add_argument("--one")
    parser.add_argument("--url")
    asked = parser.parse_args()
    if asked.one:
        run_one(asked.one, asked.url, asked.calls, asked.concurrency[0])
    else:
        compare(asked)


if __name__ == "__main__":
    main()
