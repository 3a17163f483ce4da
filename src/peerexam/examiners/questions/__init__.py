"""Setting questions: `writing` asks for them, `reading` takes them from the reply.

`drafts` and `duplicates` turn many replies into a set without repetitions; `references` and
`levels` add an answer and a cognitive level to each.
"""
