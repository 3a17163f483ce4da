"""The commands of the studies; `base` is what they share."""
