"""Self-bias as test setter, judge and both: Eq. 1 over a run or tables.

`study` is the way in, `run_tables` reads a run, `as_json` writes.
"""
