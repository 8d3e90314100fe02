"""Parties that run, watched from outside: what they say, what has become of them, what they found, how to draw it."""
