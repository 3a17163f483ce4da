"""The folder of a run: who may write it, on what its results rest, what has changed since.

Begin with `lock`.
"""
