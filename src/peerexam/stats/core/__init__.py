"""What every statistic rests on: tables, resampling, intervals, corrections.

Imports nothing else of `stats`.
"""
