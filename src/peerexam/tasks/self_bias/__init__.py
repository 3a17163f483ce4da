"""Inputs of the self-bias study: a file of scores, and how diverse the sources are."""
