"""Which step holds the first mistake (BIG-Bench Mistake, §3)?

`protocol` asks, `measures` computes; `data_statistics` and `annotator_agreement` are about the
data.
"""
