"""The durable record of calls.

Begin with `base` (what a ledger promises) and `opening` (a ledger by its path or URL).
`sqlite/` and `postgres/` are the two kinds, `database` and `writer` what they share; `reading`
and `audit` look calls up.
"""
