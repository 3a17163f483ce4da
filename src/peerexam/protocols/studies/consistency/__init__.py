"""Compositional and hypothetical consistency.

`sums` and `programs` ask for parts and wholes, `hypothetical` for predictions of one's own reply;
each has its measures beside it.
"""
