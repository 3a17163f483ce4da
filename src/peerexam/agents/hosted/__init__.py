"""Models behind a URL: what is sent, what comes back, and which error a refusal is.

Begin with `endpoint` (where and with which key) and `agent` (one call). `openai/` and `anthropic/`
are the two APIs, `transport/` carries the bytes. Arrows: openai, anthropic → agent → rejections →
transport.
"""
