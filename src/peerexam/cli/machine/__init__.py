"""The commands about this machine: agents (`probe` its probes), weights, serve, selftest, salvage."""
