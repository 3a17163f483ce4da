"""The commands round an exam.

`planning` has init, validate and plan; `running` run, rejudge and add; `results` report, import
and export (`exporting` writes other tools' layouts).
"""
