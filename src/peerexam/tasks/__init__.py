"""What is asked: question sets and importers of other tools' data."""
