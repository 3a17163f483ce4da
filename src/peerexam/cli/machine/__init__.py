"""The commands about this machine: agents and their probes, weights, serve, selftest, salvage."""
