"""Subspaces, exact moments and information: what the paper computes."""
