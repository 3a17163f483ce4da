"""Searching corpora for questions: `overlap_search` is the way in."""
