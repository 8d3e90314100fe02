"""What a party lets be computed of its rows, and a ledger of what was."""

from .policy import Policy

__all__ = ["Policy"]
