"""Reading the pieces of a formula one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import InvalidInput
from .tokens import Token, refusal, shown, tokens

DEEPEST = 50  # brackets in brackets


class Reader:
    """The pieces of a text, and how far it is read. ``places`` says where each column was named first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.places: dict[str, int] = {}
        self._at = self._depth = 0

    @property
    def next(self) -> Token:
        """What is read next."""
        return self.tokens[self._at]

    @property
    def mark(self) -> str:
        """The sign that is read next; nothing for a name or a number."""
        return self.next.text if self.next.kind == "mark" else ""

    @property
    def ended(self) -> bool:
        """Whether all is read."""
        return self.next.kind == "end"

    def refused(self, sentence: str, place: int | None = None) -> InvalidInput:
        """What is wrong here, or at a place before."""
        return refusal(self.text, self.next.place if place is None else place, sentence)

    def advance(self) -> Token:
        """Take what is next."""
        token = self.next
        self._at += token.kind != "end"
        return token

    def accept(self, *marks: str) -> Token | None:
        """Take a sign if it is next."""
        return self.advance() if self.mark in marks else None

    def take(self, mark: str, otherwise: str) -> None:
        """Take a sign, which must be next; ``otherwise`` says what is wrong."""
        if not self.accept(mark):
            raise self.refused(f"{otherwise}.")

    def calls(self) -> bool:
        """Whether a function is called next."""
        after = self.tokens[min(self._at + 1, len(self.tokens) - 1)]
        return self.next.kind == "name" and (after.kind, after.text) == ("mark", "(")

    def column(self) -> str:
        """Take the name of a column."""
        token = self.advance()
        self.places.setdefault(token.text, token.place)
        return token.text

    def integer(self, low: int, high: int, what: str) -> int:
        """Take an integer; one that may be negative also with a minus, and in brackets."""
        place = self.next.place
        bracket = low < 0 and self.accept("(")
        sign = -1 if low < 0 and self.accept("-") else 1
        token = self.advance()
        number = sign * int(token.text) if token.kind == "number" and token.text.isdigit() else None
        if number is None or not low <= number <= high or (bracket and not self.accept(")")):
            raise self.refused(f"{what} is an integer from {low} to {high}.", place)
        return number

    def missing(self) -> InvalidInput:
        """Where something should stand and another thing does."""
        if self.ended:
            return self.refused("something is missing at the end.")
        if self.mark == ")":
            return self.refused("something is missing before this bracket, or it was not opened.")
        return self.refused(f"{shown(self.next.text)} cannot stand here; is there one sign too few or too many?")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One bracket inside of others."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.refused(f"brackets are at most {DEEPEST} deep.")
        yield
        self._depth -= 1
