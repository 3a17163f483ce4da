"""What an exam will ask and cost, before it does: counts, estimate ranges, advice.

Begin with `plan`.
"""
