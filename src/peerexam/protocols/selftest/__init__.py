"""`peerexam selftest`: known abilities and biases are planted and must be found.

`proof` is the way in, `exam` holds the simulated exam, `tables` the simulated records.
"""
