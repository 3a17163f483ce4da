"""Prompts: templates, delimiters round untrusted text, rubrics and reply forms.

Begin with `library`: it fills the templates of `examiners/templates`.
"""
