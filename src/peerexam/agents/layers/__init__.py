"""What wraps every agent: ledger, retries, limits, budgets, one module a layer.

Begin with `stack`: it says in which order the layers lie. No layer imports another but for the
state that they share.
"""
