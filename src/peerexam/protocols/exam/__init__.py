"""One question through answers, marks and comparisons.

Begin with `examination`; `ranking` sorts by merge sort, `comparing` asks both orders, `archive`
holds what is known, `late_agents` adds an agent afterwards, `injection_probe` tests the judges.
"""
