"""Records to standings: votes counted, judges weighed, `standings.json` written.

Begin with `voting`; `columns` gathers the records, `judges` says how far each is to be trusted,
`as_json` writes.
"""
