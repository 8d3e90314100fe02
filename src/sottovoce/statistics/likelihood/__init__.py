"""Likelihoods that are sums over rows, maximised by agreements on score and information."""
