"""Groups of rows: counts, tests and descriptions."""
