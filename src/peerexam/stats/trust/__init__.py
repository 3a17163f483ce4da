"""Agreement of judges and metrics with people, and of people with one another."""
