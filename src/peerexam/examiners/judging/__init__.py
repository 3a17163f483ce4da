"""Marks and comparisons: `by_prompt` asks in words, `by_likelihood` reads probabilities.

`marks` and `verdicts` read the replies.
"""
