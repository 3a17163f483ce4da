"""The durable record of calls."""
