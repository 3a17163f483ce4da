"""The examiner paper's tables: scores, depth, question profile, agreement on levels."""
