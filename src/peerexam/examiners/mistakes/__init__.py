"""Finding the first mistake of a trace and going on from there (BIG-Bench Mistake).

`finding` asks where it is, `step_writing` writes the steps, `reading_locations` reads the place.
"""
