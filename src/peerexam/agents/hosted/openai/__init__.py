"""OpenAI's API, and every server that speaks it.

`provider` makes agents, `dialect` puts a request into what this server accepts, `reply` reads it.
"""
