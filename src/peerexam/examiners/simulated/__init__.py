"""Participants with a known ability, for tests and self-tests: `sim/NAME?ability=…`.

`spec` reads the line that describes one, `participants` take the roles.
"""
