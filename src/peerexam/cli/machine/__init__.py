"""The commands about this machine: agents, weights, serve, selftest, schema."""
