"""Language models examine each other."""
