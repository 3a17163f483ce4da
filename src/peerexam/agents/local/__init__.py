"""Weights on this machine: where they lie, how they are fetched, and their prompt formats.

`weights` are those that packages ship, `gguf` reads a file's metadata. Nothing here runs a model:
`llamacpp/` does.
"""
