"""Data for DG-Diff: worked examples, candidate answers, distractors."""
