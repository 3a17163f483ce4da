"""A run as files for others: our data set, and the layouts of other tools.

Begin with `dataset`.
"""
