"""The roles: set questions, answer, follow up, mark, compare; their prompts; reading replies.

Begin with `base` (the roles) and `asking` (a judge until its reply can be read). `questions/`,
`answering` and `judging/` are an exam's, `discrimination/`, `mistakes/` and `style` the
studies'; `prompting/` and `reading/` serve all, `simulated/` has roles without a model.
"""
