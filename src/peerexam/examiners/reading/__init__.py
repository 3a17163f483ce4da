"""Replies to values: what all readers share.

`parsing` reads JSON and lines, `own_words` leaves out what is quoted, `thinking` what was thought
aloud, `choices` reads one label of several, `remarks` what stands behind a choice. The readers of
one kind of reply stand with the role that asks for it.
"""
