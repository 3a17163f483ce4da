"""Are questions copied from text that models may have seen? `study` is the way in."""
