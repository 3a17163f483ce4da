"""The frame of every HTML page: one file, with no script but its own."""
