"""The ledger in one SQLite file: `ledger` is the way in, `store` writes, `claims` guards."""
