"""The ledger in PostgreSQL, shared by several machines: `ledger` is the way in.

`claim_queue` looks calls up and claims them in batches, `store` writes, `server` connects.
"""
