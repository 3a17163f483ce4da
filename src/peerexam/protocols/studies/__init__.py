"""The experiments beside the exam, a folder (or module) each.

`base` opens, asks and writes for all of them, `plan` says what they will ask, `result` is what they
come to. A study has `protocol` (asking), `plan`, `measures` (records to numbers) and `study`
(settings to files). No study imports another.
"""
