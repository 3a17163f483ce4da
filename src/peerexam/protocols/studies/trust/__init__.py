"""Are judges and metrics to be trusted, by what people say?

`study` is the way in, `columns` gathers, `measures` computes.
"""
