"""Survival on a public grid of times, from counts alone."""
