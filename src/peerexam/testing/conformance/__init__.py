"""The conformance kit: `kit` runs every check on an agent, `hooks` is what its author tells."""
