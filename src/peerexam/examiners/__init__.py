"""The roles: set questions, follow up, answer, mark, compare; their words; reading replies."""
