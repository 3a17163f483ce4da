"""Scores of a text against a reference or another text, without a judge."""
