"""Data for the consistency studies: arithmetic, GeoQuery and its programs, prompt files."""
