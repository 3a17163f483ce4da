"""Who speaks: a folder (or module) a provider, and what every provider is wrapped in.

Begin with `base` (what an agent is) and `registry` (from `provider/model` to its agent).
Providers: `hosted/`, `langchain/`, `hf/`, `llamacpp/`, `recorded` (answers from a file),
`function` (a Python function). `layers/` wraps each of them with ledger, retries, limits and
budgets.
"""
