"""Who speaks: one module a provider, and agents that wrap agents."""
