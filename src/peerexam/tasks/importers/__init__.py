"""What other tools have recorded, as records of ours.

`importing` is the way in, `kinds` the list, `collecting` what every layout feeds; one module a
layout in `layouts/`.
"""
