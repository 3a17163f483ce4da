"""Regenerating from the mistake (BIG-Bench Mistake, §4).

`protocol` asks, `locators` say where the mistake is, `measures` computes, `study` writes files,
`classifier_training` makes a locator.
"""
