"""Do questions tell by whom they were set? Classifier, folds, dispersion."""
