"""Accuracy of mistake location, and the change of accuracy after backtracking."""
