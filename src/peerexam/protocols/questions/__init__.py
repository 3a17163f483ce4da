"""The question set of an exam: asked for, freed of duplicates, annotated, and sealed.

Begin with `sealing`; `exam_questions` gathers, `duplicate_filter` leaves out, `annotators` and
`repetitions` do what their names say.
"""
