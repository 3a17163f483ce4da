"""Choosing one's own best answer (Self-[In]Correct): `choosing` and `answer_judges` ask.

`reading_labels` reads which candidate was chosen.
"""
