"""Numbers to pictures and files: the HTML report, leaderboards, the exported data set.

Begin with `run/` for a run's report and `export/` for its data; a study's page has the study's
name. `page/` frames every page, `grid` and `numbers` write tables.
"""
