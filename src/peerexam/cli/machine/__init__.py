"""The commands about this machine, a module each; `probe` is an action of `agents`."""
