"""One module for each layout of another tool; none imports another."""
