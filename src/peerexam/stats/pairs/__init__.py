"""Comparisons of two answers in both orders, to wins."""
