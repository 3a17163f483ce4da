"""Files and folders of the user's own questions.

Begin with `file`; `layouts` are what it may look like, `sealed` reads a sealed set.
"""
