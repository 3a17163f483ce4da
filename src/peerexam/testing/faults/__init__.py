"""A loopback server with faults: `server` is the way in, `kinds` lists the faults."""
