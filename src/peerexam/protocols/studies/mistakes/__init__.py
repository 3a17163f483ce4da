"""BIG-Bench Mistake: `finding` the first mistake, `backtracking` from it."""
