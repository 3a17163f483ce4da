"""Models run by llama.cpp in this process, and `peerexam serve`.

`provider` makes agents, `agent` loads weights once, `scheduling` and `slots` share them among
calls, `engine` is the binding.
"""
