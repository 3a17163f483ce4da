"""DG-Diff: does a model choose among its answers better than it answers?

`protocol` asks, `measures` computes, `study` writes files, `variations` are the paper's ablations.
"""
