"""Domains as a tree: `tree` reads and draws, `places` and `tables` are two file layouts."""
