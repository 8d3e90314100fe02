"""The algebra of formulas: sets of terms in order, a term being a set of factors in order.

Everything is counted before it is multiplied out, as ``(a + b + c + ...)^9`` would have no end. A factor is its number
in the list of all, so that a term is cheap to compare.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST_TERMS = 2_000
MOST_PAIRS = 50_000  # of terms that are multiplied in one formula
LONGEST_TERM = 8  # factors

Term = tuple[int, ...]  # each factor once; the empty one is the intercept
Terms = dict[frozenset[int], Term]  # by their factors, as a:b is b:a; of two that are the same the first stays
INTERCEPT: Term = ()


class TooMuch(Exception):
    """A sentence about what would be too large."""


def terms(given: Iterable[Term]) -> Terms:
    """A set of them."""
    found: Terms = {}
    return added(found, given)


def added(left: Terms, right: Iterable[Term]) -> Terms:
    """``left + right``, in ``left``."""
    for term in right:
        left.setdefault(frozenset(term), term)
    if len(left) > MOST_TERMS:
        raise TooMuch(f"this has more than {MOST_TERMS:,} terms when it is multiplied out.")
    return left


def removed(left: Terms, right: Terms) -> Terms:
    """``left - right``, in ``left``; a term that is not there is none to remove."""
    for factors in right:
        left.pop(factors, None)
    return left


class Products:
    """Products of sets of terms, which one formula has a limited number of."""

    def __init__(self) -> None:
        self._pairs = 0

    def interaction(self, left: Terms, right: Terms) -> Terms:
        """``left:right``: each of the one with each of the other."""
        self._pairs += len(left) * len(right)
        if self._pairs > MOST_PAIRS:
            raise TooMuch(f"this formula multiplies more than {MOST_PAIRS:,} pairs of terms.")
        found: Terms = {}
        for one in left.values():
            added(found, (_product(one, other) for other in right.values()))
        return found

    def crossing(self, left: Terms, right: Terms) -> Terms:
        """``left*right``: both, and their interaction."""
        return added(terms([*left.values(), *right.values()]), self.interaction(left, right).values())

    def nesting(self, left: Terms, right: Terms) -> Terms:
        """``left/right``: the left, and the product of all of it with each on the right."""
        whole = INTERCEPT
        for term in left.values():
            whole = _product(whole, term)
        return added(terms(left.values()), self.interaction(terms([whole]), right).values())

    def power(self, base: Terms, exponent: int) -> Terms:
        """``base^exponent``: all interactions of so many of them."""
        found = base
        for _ in range(exponent - 1):
            before, found = found, self.interaction(found, base)
            if list(found.values()) == list(before.values()):  # and so it stays
                break
        return found


def _product(left: Term, right: Term) -> Term:
    factors = tuple(dict.fromkeys((*left, *right)))
    if len(factors) > LONGEST_TERM:
        raise TooMuch(f"an interaction has at most {LONGEST_TERM} factors; this would have more.")
    return factors
