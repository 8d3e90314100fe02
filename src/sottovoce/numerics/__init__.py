"""What everything stands on: numbers on a grid, quantiles and random numbers that are the same on every machine."""
