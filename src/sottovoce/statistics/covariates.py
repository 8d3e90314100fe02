"""What the terms of a model are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..data.formula import Formula
from ..errors import InvalidInput

SPLINE = re.compile(r"^((?:bs|ns)\(.*\))\[\d+\]$")


def is_intercept(term: str) -> bool:
    """By whichever of its names: that of a formula, or that of arrays, of one level of the response or of all."""
    return _of_levels(term).lower() == "intercept"


def _of_levels(term: str) -> str:
    """``"level: term"`` is a term for one level of the response; products have no space."""
    return term.rpartition(": ")[2]


def covariates(terms: Sequence[str]) -> int:
    """How many columns of numbers the terms are made of: one for powers, splines and products of the same, and none for
    levels, of which a row has one of few.

    >>> covariates(["Intercept", "age", "I(age^2)", "sex[T.m]", "age:sex[T.m]", "log(crp)"])
    2
    """
    found: set[str] = set()
    for term in terms:
        for factor in [] if is_intercept(term) else _factors(_of_levels(term)):
            spline = SPLINE.match(factor)
            if spline is None and factor.endswith("]"):
                continue  # a level
            found |= _columns(spline[1] if spline else factor)
    return len(found)


def _columns(factor: str) -> set[str]:
    try:
        return set(Formula(f"~ {factor}").variables)
    except InvalidInput:  # a name that a formula would put in back-quotes, or the column of an array
        return {factor}


def _factors(term: str) -> list[str]:
    """What a term is a product of: parted by ``:``, but for those inside of brackets."""
    parts, depth = [""], 0
    for letter in term:
        depth += (letter in "([") - (letter in ")]")
        if letter == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
