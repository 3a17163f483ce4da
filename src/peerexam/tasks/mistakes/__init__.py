"""Traces with annotated mistakes, and classifiers of steps.

`traces` reads BIG-Bench Mistake's files, `dyck` checks its steps by rule; `step_…` train and use a
classifier.
"""
