"""How agents meet: each protocol a plain async program over agents, which keeps no state.

Begin with `run/runner`: an exam from file to results. `config/` reads the file, `questions/`
makes the set, `exam/` takes a question through answers and judgements, `standings/` counts.
`dataset` makes questions alone; `studies/` are the other experiments.
"""
