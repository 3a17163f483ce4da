"""Pure functions from tables to numbers: votes, ratings, intervals, agreement, bias."""
