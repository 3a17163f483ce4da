"""Data from files: question sets, benchmarks, and the records of other tools.

`questions/` are the user's own, `importers/` other tools' files (`rows` reads them),
`taxonomy/` the domains, `metrics/` scores of a text without a judge; the others are the data of
a study each.
"""
