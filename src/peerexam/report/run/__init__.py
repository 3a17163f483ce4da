"""The report of a run: as a page (`html`), and as text (`text`).

Begin with `conclusion`: it says in sentences what follows. The others are a section each.
"""
