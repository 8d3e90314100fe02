"""Attacks on what has no certificate, and what listeners keep."""
