"""The grammar of numbers, inside of ``I(...)``, of functions and of splines.

arithmetic  product {("+" | "-") product}
product     signed {("*" | "/") signed}
signed      ["-"] power
power       single [("^" | "**") integer]
single      number | name | function "(" arithmetic ")" | "(" arithmetic ")"
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import InvalidInput
from .arithmetic import FUNCTIONS, Expression
from .factors import Spline, spelled
from .reader import Reader
from .tokens import shown

LONGEST_EXPRESSION = 500  # characters: it is the name of a column
LARGEST_POWER = 20
MOST_KNOTS = 50
CLOSEST, WIDEST = 1e-9, 1e100  # knots, as a part of the range, and ranges: second derivatives stay finite
LARGEST_DEGREE = 5

SUM, PRODUCT, SIGNED, POWER, SINGLE = range(5)  # how tightly a piece holds together, for its brackets


@dataclass
class _Piece:
    text: str
    tightness: int
    steps: list[tuple[str, Any]]

    def within(self, tightness: int) -> str:
        return self.text if self.tightness >= tightness else f"({self.text})"


class NumberGrammar(Reader):
    """Reads arithmetic and splines."""

    def argument(self, function: str) -> Expression:
        """Take a function or ``I`` and what it is of; the expression is called by both, but for an offset."""
        place = self.advance().place
        piece = self._in_brackets()
        steps = [*piece.steps, (function, None)] if function in FUNCTIONS else piece.steps
        return self._expression(piece.text if function == "offset" else f"{function}({piece.text})", steps, place)

    def _expression(self, text: str, steps: list[tuple[str, Any]], place: int) -> Expression:
        expression = Expression(text, tuple(steps))
        if len(text) > LONGEST_EXPRESSION:
            raise self.refused(f"an expression has at most {LONGEST_EXPRESSION} characters.", place)
        if not expression.names:
            raise self.refused("there is no column in this expression: it is one number for all.", place)
        try:  # numbers alone can be wrong as well, and must be so at a party without rows too
            expression.evaluate({name: np.empty(0) for name in expression.names})
        except InvalidInput:
            raise self.refused("the numbers in this expression have no finite result.", place) from None
        return expression

    def _in_brackets(self) -> _Piece:
        with self.deeper():
            self.take("(", "a bracket must open here")
            piece = self._numeric_sum()
            self.take(")", "this bracket is not closed, or a sign is missing; functions take one argument")
        return piece

    def _numeric_sum(self) -> _Piece:
        found = self._numeric_product()
        while sign := self.accept("+", "-"):
            found = _joined(found, sign.text, self._numeric_product(), SUM)
        return found

    def _numeric_product(self) -> _Piece:
        found = self._numeric_signed()
        while sign := self.accept("*", "/"):
            found = _joined(found, sign.text, self._numeric_signed(), PRODUCT)
        return found

    def _numeric_signed(self) -> _Piece:
        if not self.accept("-"):
            return self._numeric_power()
        piece = self._numeric_power()
        return _Piece(f"-{piece.within(SIGNED)}", SIGNED, [*piece.steps, ("negative", None)])

    def _numeric_power(self) -> _Piece:
        piece = self._numeric_single()
        if not self.accept("^", "**"):
            return piece
        exponent = self.integer(-LARGEST_POWER, LARGEST_POWER, "a power of numbers (sqrt(x) is the root)")
        if self.mark in ("^", "**"):
            raise self.refused("a power of a power has two meanings. Write one exponent, or brackets.")
        shown_exponent = str(exponent) if exponent >= 0 else f"({exponent})"
        return _Piece(f"{piece.within(SINGLE)} ** {shown_exponent}", POWER, [*piece.steps, ("power", exponent)])

    def _numeric_single(self) -> _Piece:
        token = self.next
        if token.kind == "number":
            self.advance()
            number = int(token.text) if token.text.isdigit() else float(token.text)
            return _Piece(repr(number), SINGLE, [("number", float(number))])
        if self.mark == "(":
            return self._in_brackets()
        if self.calls():
            if token.text not in FUNCTIONS:
                raise self.refused(f"{shown(token.text)} is no function of numbers; there are {', '.join(FUNCTIONS)}.")
            self.advance()
            piece = self._in_brackets()
            return _Piece(f"{token.text}({piece.text})", SINGLE, [*piece.steps, (token.text, None)])
        if token.kind in ("name", "quoted"):
            name = self.column()
            return _Piece(spelled(name), SINGLE, [("column", name)])
        raise self.missing()

    def spline(self) -> Spline:
        """Take ``bs(x, knots=[...], range=[...], degree=3)`` or ``ns(x, knots=[...], range=[...])``."""
        function = self.advance()
        place = function.place
        with self.deeper():
            self.take("(", "a bracket must open here")
            piece = self._numeric_sum()
            given = self._keywords(function.text)
            self.take(")", "this bracket is not closed, or a comma is missing")
        for key in ("knots", "range"):
            if key not in given:
                raise self.refused(
                    f"{function.text}() needs {key}=[...] in numbers: quantiles of a party's rows would be another "
                    "basis at each party.",
                    place,
                )
        ends, knots = given["range"], given["knots"]
        self._check_knots(ends, knots, place)
        of = self._expression(piece.text, piece.steps, place)
        degree = None if function.text == "ns" else given.get("degree", 3)
        spline = Spline(of, tuple(knots), (ends[0], ends[1]), degree)
        if len(spline.text) > LONGEST_EXPRESSION:
            raise self.refused(f"an expression has at most {LONGEST_EXPRESSION} characters.", place)
        return spline

    def _check_knots(self, ends: list[float], knots: list[float], place: int) -> None:
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise self.refused("range must be two numbers in order, such as range=[0, 120].", place)
        gaps = [after - before for before, after in pairwise([ends[0], *knots, ends[1]])]
        if len(knots) > MOST_KNOTS or not all(gap > 0 for gap in gaps):
            raise self.refused(f"knots must be at most {MOST_KNOTS} numbers in order, inside of the range.", place)
        if min(gaps) < CLOSEST * (ends[1] - ends[0]) or not 1 / WIDEST < ends[1] - ends[0] < WIDEST:
            raise self.refused("knots are too close to each other, or too far apart.", place)

    def _keywords(self, function: str) -> dict[str, Any]:
        given: dict[str, Any] = {}
        while self.accept(","):
            token = self.advance()
            key = token.text if token.kind == "name" else ""
            if key == "df":
                raise self.refused("df takes the knots from the rows of each party: give knots=[...].", token.place)
            allowed = ("knots", "range") if function == "ns" else ("knots", "range", "degree")
            if key not in allowed or key in given:
                listed = ", ".join(f"{name}=" for name in allowed)
                raise self.refused(f"here stands one of {listed}, each once.", token.place)
            self.take("=", f"write {key}=")
            given[key] = self.integer(1, LARGEST_DEGREE, "degree") if key == "degree" else self._list()
        return given

    def _list(self) -> list[float]:
        self.take("[", "a list of numbers stands here, such as [40, 60]")
        numbers: list[float] = []
        while self.mark != "]":
            if numbers:
                self.take(",", "a comma or ] is missing")
            sign = -1.0 if self.accept("-") else 1.0
            if self.next.kind != "number":
                raise self.refused("a list has numbers only.")
            numbers.append(sign * float(self.advance().text))
        self.advance()
        return numbers


def _joined(left: _Piece, sign: str, right: _Piece, tightness: int) -> _Piece:
    text = f"{left.within(tightness)} {sign} {right.within(tightness + 1)}"
    left.steps.extend(right.steps)
    left.steps.append((sign, None))
    return _Piece(text, tightness, left.steps)
