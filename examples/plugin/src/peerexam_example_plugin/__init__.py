"""Markov chains as agents of peerexam: an example of a plug-in."""
