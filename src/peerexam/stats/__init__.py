"""Pure functions from tables to numbers: votes, ratings, intervals, agreement, bias.

`core/` is what all rest on, `pairs/` and `ranking/` lead from comparisons to standings,
`judges/` says what a judge favours, `benchmarks/` are the examiner paper's tables; the others
are a study each.
"""
