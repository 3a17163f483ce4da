"""What any asking command needs round it: progress, watchdog, concurrency, outcome.

Nothing here knows what is asked; everything above may use it.
"""
