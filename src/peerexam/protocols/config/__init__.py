"""The exam file: its models, and every check that needs no model call.

Begin with `models` (what may be written) and `loading` (from a file to a config). `checks` are the
rules between fields, `messages` puts a fault into a line.
"""
