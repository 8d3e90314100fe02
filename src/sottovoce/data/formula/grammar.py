"""The grammar of formulas, by recursive descent (docs/reference/formula.md).

    formula      [[response ["," response]] "~"] sum
    sum          ["+" | "-"] product {("+" | "-") product}
    product      interaction {("*" | "/") interaction}
    interaction  power {":" power}
    power        single [("^" | "**") integer]
    single       "(" sum ")" | factor
    factor       name | "C(" name ")" | "I(" arithmetic ")" | function "(" arithmetic ")" | "bs(...)" | "ns(...)"

Outside of all brackets a product may be ``0``, ``1`` or ``offset(...)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .factors import Computed, Factor, Levels, Named, Spline
from .number_grammar import NumberGrammar
from .terms import INTERCEPT, Products, Term, Terms, TooMuch, added, removed, terms
from .tokens import shown

LARGEST_POWER = 20
FUNCTIONS = ("C", "I", "log", "log1p", "exp", "sqrt", "bs", "ns", "offset")
LEARNING = ("center", "scale", "standardize", "poly", "cr", "cs", "cc", "te", "hashed", "lag", "rank", "cut", "qcut")
PRODUCTS = ("*", "/", ":", "^", "**")


class Grammar(NumberGrammar):
    """A formula that is read: ``responses``, ``terms`` by degree, ``offsets``, and the ``factors`` by number."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.factors: list[Factor] = []
        self.offsets: list[Computed] = []
        self._numbers: dict[Factor, int] = {}
        self._products = Products()
        self.responses = self._responses()
        if self.ended:
            raise self.refused("there are no terms here. An intercept alone is written 1.")
        found = self._sum(outermost=True)
        if not self.ended:
            raise self.missing()
        self.terms: tuple[Term, ...] = tuple(sorted(found.values(), key=len))
        self._check_whole()

    def _responses(self) -> tuple[Factor, ...]:
        """One column or two, before ``~``; none where there is no ``~`` or nothing before it."""
        if not any(token.kind == "mark" and token.text == "~" for token in self.tokens) or self.accept("~"):
            return ()
        found: list[Factor] = []
        while not found or self.accept(","):
            place, factor = self.next.place, self._factor()
            if isinstance(factor, Levels | Spline):
                raise self.refused("a response is a column or arithmetic, one number a row.", place)
            if factor in found:
                raise self.refused(f"{shown(factor.text)} is a response twice.", place)
            found.append(factor)
        if len(found) > 2:
            raise self.refused("there are at most two responses, a time and an event.")
        self.take("~", "before ~ stands one column, or two with a comma between them")
        return tuple(found)

    def _sum(self, outermost: bool) -> Terms:
        """Outside of brackets a sum begins with the intercept."""
        found = terms([INTERCEPT] if outermost else [])
        sign = self.accept("+", "-")
        if sign and sign.text == "-" and not outermost:
            raise self.refused("a bracket does not begin with a minus: there is nothing to take it from.", sign.place)
        adds = not sign or sign.text == "+"
        while True:
            place = self.next.place
            if self.next.kind == "number":
                adds = adds == self._intercept(outermost)
                given = terms([INTERCEPT])
            elif outermost and self.next.text == "offset" and self.calls():
                given = self._offset(adds)
            else:
                given = self._product()
            found = self._bounded(place, added, found, given.values()) if adds else removed(found, given)
            if not (sign := self.accept("+", "-")):
                return found
            adds = sign.text == "+"

    def _intercept(self, outermost: bool) -> bool:
        """Take ``1`` or ``0``: whether there is an intercept."""
        number = self.advance()
        if number.text not in ("0", "1"):
            raise self.refused("numbers other than 0 and 1 stand inside of I(...): I(2 * x).", number.place)
        if not outermost:
            raise self.refused("0 and 1 are about the intercept, and stand outside of brackets.", number.place)
        if self.mark in PRODUCTS:
            raise self.refused("0 and 1 are about the intercept; a product with a number is written I(2 * x).")
        return number.text == "1"

    def _offset(self, adds: bool) -> Terms:
        """Take ``offset(...)``, which is no term."""
        place = self.next.place
        offset = Computed(self.argument("offset"))
        if not adds:
            raise self.refused("an offset is added: write + offset(-x).", place)
        if self.mark in PRODUCTS:
            raise self.refused("an offset is added to the others; it has no products.")
        if offset in self.offsets:
            raise self.refused("this offset is there twice.", place)
        self.offsets.append(offset)
        return {}

    def _product(self) -> Terms:
        found = self._interaction()
        while sign := self.accept("*", "/"):
            combined = self._products.crossing if sign.text == "*" else self._products.nesting
            found = self._bounded(sign.place, combined, found, self._interaction())
        return found

    def _interaction(self) -> Terms:
        found = self._power()
        while sign := self.accept(":"):
            found = self._bounded(sign.place, self._products.interaction, found, self._power())
        return found

    def _power(self) -> Terms:
        base = self._single()
        if not (sign := self.accept("^", "**")):
            return base
        exponent = self.integer(1, LARGEST_POWER, "a power of terms (one of numbers is I(x^2))")
        if len(base) == 1:
            raise self.refused("a term to a power is the term itself. The power of a number is I(x^2).", sign.place)
        if self.mark in ("^", "**"):
            raise self.refused("a power of a power has two meanings. Write one exponent.")
        return self._bounded(sign.place, self._products.power, base, exponent)

    def _single(self) -> Terms:
        if self.mark == "(":
            place = self.next.place
            with self.deeper():
                self.advance()
                found = self._sum(outermost=False)
                self.take(")", "this bracket is not closed, or a sign is missing")
            if not found:
                raise self.refused("nothing is left of what stands in this bracket.", place)
            return found
        factor = self._factor()
        number = self._numbers.setdefault(factor, len(self.factors))
        if number == len(self.factors):
            self.factors.append(factor)
        return terms([(number,)])

    def _factor(self) -> Factor:
        token = self.next
        if self.calls():
            return self._call()
        if token.kind in ("name", "quoted"):
            return Named(self.column())
        if token.kind == "number":
            raise self.refused("numbers stand inside of I(...), but for 0 and 1 without a product.")
        raise self.missing()

    def _call(self) -> Factor:
        name = self.next.text
        if name in LEARNING:
            raise self.refused(
                f"{name}() learns from the rows of each party, and would be another column at each. "
                "Give the numbers: I((x - 50) / 10), bs(x, knots=[...], range=[...])."
            )
        if name not in FUNCTIONS:
            raise self.refused(f"{shown(name)} is no function of a formula; there are {', '.join(FUNCTIONS)}.")
        if name == "offset":
            raise self.refused("an offset is added to the terms; it stands in no bracket, product or response.")
        if name in ("bs", "ns"):
            return self.spline()
        if name != "C":
            return Computed(self.argument(name))
        self.advance()
        self.advance()
        if self.next.kind not in ("name", "quoted") or self.calls():
            raise self.refused("C(...) takes the name of one column.")
        column = self.column()
        self.take(")", "C(...) takes the name of one column; its levels and its reference are in the schema")
        return Levels(column)

    def _check_whole(self) -> None:
        """What can only be said of all terms together."""
        used = {self.factors[number] for term in self.terms for number in term}
        if not self.terms:
            raise self.refused("there are no terms left, not even an intercept.")
        for factor in sorted(used, key=lambda factor: factor.text):
            place = self.places[factor.names[0]]
            if factor in self.responses:
                raise self.refused(f"{shown(factor.text)} is the response, and a term as well.", place)
            if isinstance(factor, Levels) and Named(factor.name) in used:
                sentence = (
                    f"{shown(factor.name)} and {shown(factor.text)} are the same columns twice. Write one of them."
                )
                raise self.refused(sentence, place)

    def _bounded(self, place: int, expand: Callable[..., Terms], *given: Any) -> Terms:
        try:
            return expand(*given)
        except TooMuch as much:
            raise self.refused(str(much), place) from None
