"""Numbers to pictures and files: the HTML report, leaderboards, the exported data set."""
