"""LangChain in both directions: its models as agents, our agents as its chat models.

`agent` calls a model of LangChain, `building` makes one from a class's name, `chat_model` is the
way back.
"""
