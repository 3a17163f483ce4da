"""Anthropic's messages API.

`provider` makes agents, `dialect` puts a request into the API's form, `reply` reads it.
"""
