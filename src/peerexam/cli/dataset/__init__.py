"""The commands that make and look at data sets."""
