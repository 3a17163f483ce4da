"""Limits on what may be spent, in money, tokens, calls and time.

`meter` counts, `budgeted` and `time_budgeted` are the layers, `session_clock` says when to stop.
"""
