"""Wins to a ranking with its uncertainty.

Begin with `vote_count`; `ratings` fits Bradley–Terry, `ranks` and `pair_tests` say which agents
differ.
"""
