"""Messages, counted as they are sent."""

from __future__ import annotations

from .base import Traffic


class Sent:
    """A running count."""

    def __init__(self) -> None:
        self.messages = self.bytes = self.rounds = 0

    def one(self, size: int) -> None:
        """A message of so many bytes, from one party to another."""
        self.messages += 1
        self.bytes += size

    @property
    def traffic(self) -> Traffic:
        """All of it."""
        return Traffic(self.messages, self.bytes, self.rounds)
