"""Which levels of a category each term takes, so that no column of the design follows from the others.

A category of ``L`` levels spans the intercept and, without the reference, ``L - 1`` columns ``a-``; a term of several
spans the product ``(1 + a-)(1 + b-)...``. What terms before it have spanned is left out, and what is left is put
together again by ``x + x:a- = x:a``, with all levels of ``a`` (Wilkinson and Rogers 1973; formulaic's order).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from .factors import Coded
from .terms import Term, TooMuch

MOST_COLUMNS = 5_000

Part = tuple[tuple[int, bool], ...]  # a product of factors; True: without the reference
Key = frozenset[tuple[int, bool]]


def parts(terms: Sequence[Term], factors: Sequence[Coded]) -> Iterator[list[Part]]:
    """For each term the products of which its columns are made, in order."""
    spanned: set[Key] = set()
    columns = 0
    for term in terms:
        choices = [((k, True), None) if factors[k].is_category else ((k, False),) for k in term]
        fresh: list[Part] = []
        for chosen in product(*choices):
            part = tuple(choice for choice in chosen if choice is not None)
            if (key := frozenset(part)) not in spanned:
                spanned.add(key)
                fresh.append(part)
                columns += prod(factors[k].width(reduced) for k, reduced in part)
        if columns > MOST_COLUMNS:  # putting parts together does not change how many there are
            raise TooMuch(f"the design of this formula has more than {MOST_COLUMNS:,} columns.")
        yield _together(sorted(fresh, key=len))


def _together(fresh: Sequence[Part]) -> list[Part]:
    """Parts by length, put together where one is another times a factor without its reference."""
    kept: dict[Key, Part] = {}
    for part in fresh:
        while shorter := _shorter(part, kept):
            key, freed = shorter
            del kept[key]
            part = tuple((k, reduced and k != freed) for k, reduced in part)
        kept[frozenset(part)] = part
    return list(kept.values())


def _shorter(part: Part, kept: dict[Key, Part]) -> tuple[Key, int] | None:
    """The first that is kept of which this part is the product with a factor without its reference; and the factor."""
    whole = frozenset(part)
    found = {whole - {(k, True)}: k for k, reduced in part if reduced}
    return next(((key, found[key]) for key in kept if key in found), None)
