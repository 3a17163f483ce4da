"""A chat-completions server for benchmarks: fixed answers after a fixed delay.

    python benchmarks/chat_server.py --delay 0.05 [--cpu 1]

It prints its port, answers `POST …/chat/completions` and `POST …/messages`, and ends with its
standard input. One hand-made protocol, so that the server is never what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys

TEXT = "The answer is 42. It follows directly from the premises stated above.\n\nGRADE: C"


def _reply(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


CHAT = _reply(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": TEXT, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 22, "total_tokens": 42},
    }
)
MESSAGES = _reply(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 22},
    }
)


class Protocol(asyncio.Protocol):
    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._seen = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while (end := self._seen.find(b"\r\n\r\n")) >= 0:
            head = self._seen[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._seen) < end + 4 + length:
                return
            self._seen = self._seen[end + 4 + length :]
            self._answer(MESSAGES if b"/messages" in head.split(b"\r\n", 1)[0] else CHAT)

    def _answer(self, reply: bytes) -> None:
        assert self._transport is not None
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._transport.write, reply)
        else:
            self._transport.write(reply)


async def serve(delay: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Protocol(delay), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)  # connections are still open, and nobody waits for them


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.05, help="seconds")
    parser.add_argument("--cpu", type=int, default=None)
    asked = parser.parse_args()
    if asked.cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {asked.cpu})
    asyncio.run(serve(asked.delay))


if __name__ == "__main__":
    main()
