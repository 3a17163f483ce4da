"""The conformance kit: `kit` has every check of an agent, `hooks` what its author overrides."""
