"""Encrypted channels: what a coalition sees on its own edges."""
