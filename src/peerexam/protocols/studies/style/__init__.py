"""Whom judges prefer where only the style differs.

`protocol` asks, `study` writes files, `records` are the rows.
"""
