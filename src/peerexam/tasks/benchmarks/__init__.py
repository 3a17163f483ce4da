"""Published benchmarks, one module each; `registry` knows them by name."""
