"""The commands of an exam, a module each.

`outcome` is what the commands that ask models end with, `folder` what those of a run begin with.
"""
