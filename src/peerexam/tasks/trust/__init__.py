"""What people said of the same answers: labels and annotations, by source."""
