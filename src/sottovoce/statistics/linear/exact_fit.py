"""A linear model of exact sums: which columns stay, and what some of them leave of the target, as fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics.exact_algebra import LeastSquares, NestedModels, nearest
from ...numerics.exact_sweeps import WORK, sweeps_of
from ...pdmm.modular_mask import Integers
from ..fewer_digits import Rounding
from .equation import Equation
from .gram import ROUNDING, Gram

Term = tuple[str, ...]  # its factors
TermOf = Sequence[Term]  # by column of the design, of which term of the formula it is
Of = Mapping[int, Term]  # by place

# What is left of a column is rounding if it is no more than that of what was taken off it. Columns computed in float64
# leave some 1e-16, and those that are rounded to so many units one unit. Filip's powers, which are as nearly dependent
# as there are, leave 1e-9.
PART = 2.0**-ROUNDING
MANY_UNITS = 2.0**36


class ExactFit:
    """The fit of an equation.

    Attributes
    ----------
    kept : tuple of int
        Columns of ``a = (1, x_1, .., y)`` in the model: each that does not depend on those before it, exactly or but
        for rounding.
    target : int
        The place of ``y``.

    Raises
    ------
    Undetermined
        No column is left, or no row for the errors.
    """

    def __init__(self, gram: Gram, equation: Equation) -> None:
        self.gram, self.equation = gram, equation
        self.G = gram.whole
        self.target = len(self.G) - 1
        self.models = NestedModels(self.G, self.target, gram.units)
        self._sweeps = sweeps_of(self.G, WORK)
        self._sizes = [math.sqrt(int(square) / int(self.G[0, 0])) for square in np.diagonal(self.G)]
        self.distinct = self._without_rounded() if gram.rounding is None else self._told_apart(gram.rounding)
        self.kept = self.models.independent(self.distinct)
        if not self.kept:
            raise Undetermined(f"{', '.join(map(repr, equation.terms))}: 0 in all rows of all parties.")
        if (rank := len(self.kept)) >= gram.N:
            raise Undetermined(
                f"the parties have {gram.N} rows in all, which determine {rank} terms of {len(equation.terms)} and "
                "leave nothing for their errors. Leave terms out."
            )

    def _told_apart(self, rounding: Rounding) -> tuple[int, ...]:
        """Columns that fewer digits tell apart; of those that are counts, those that others do not determine."""
        places, explained = range(self.target - 1), self.G[: self.target, : self.target]
        of = {"intercept": self.equation.intercept, "weighted": self.equation.weight is not None}
        return (
            *self.columns[: self.equation.intercept],
            *rounding.distinct(explained, places, self.equation.slopes, **of),
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """Of the design, those that depend on others among them."""
        return tuple(range(0 if self.equation.intercept else 1, self.target))

    def _without_rounded(self) -> tuple[int, ...]:
        """Columns that do not depend on those before them but for rounding; some may do so exactly."""
        distinct: list[int] = []
        before: list[int] = []
        for k in self.columns:
            self._sweeps.move(before)
            if not self._left_of(k):
                distinct.append(k)
            elif not self._is_rounding(k, before):
                distinct.append(k)
                before.append(k)
        return tuple(distinct)

    def _left_of(self, k: int) -> Fraction:
        """``sum w r^2`` of what the columns that are swept leave of another, in its units."""
        left: Fraction = self._sweeps.values([k], [k])[0, 0]
        return left

    def _is_rounding(self, k: int, before: Sequence[int]) -> bool:
        """Whether what those that are swept leave of a column may be due to rounding."""
        left = math.sqrt(float(self._left_of(k)) / int(self.G[0, 0]))
        shares = [1.0, *nearest(self._sweeps.values(before, [k])[:, 0])]
        sizes = [self._sizes[j] for j in (k, *before)]
        errors = [max(PART * size, float(size >= MANY_UNITS)) for size in sizes]
        return bool(left <= max(abs(share) * error for share, error in zip(shares, errors, strict=True)))

    def names(self, columns: Sequence[int]) -> tuple[str, ...]:
        """What they are called."""
        first = self.columns[0]
        return tuple(self.equation.terms[k - first] for k in columns)

    @property
    def aliased(self) -> tuple[str, ...]:
        """Columns of the design that depend on those before them."""
        return self.names([k for k in self.columns if k not in self.kept])

    def solution(self) -> LeastSquares:
        """Estimates, in the units of the data, and in those of the weights."""
        return self.models.fit(self.kept)

    def left_by(self, columns: Sequence[int]) -> Fraction:
        """``sum w e^2`` of the model of these columns."""
        return self.models.residual_squares(columns) * self.gram.weight_unit

    def spans_constant(self) -> bool:
        """Whether some combination of the columns is 1 in all rows, exactly or but for rounding."""
        if self.equation.intercept:
            return True
        rounding = self.gram.rounding
        spanning = [k for k in self.kept if rounding is None or k - 1 in rounding.counted]  # counts are not rounded
        self._sweeps.move(spanning)
        return not self._left_of(0) or (rounding is None and self._is_rounding(0, self.kept))

    def cross_products(self) -> Array:
        """``sum w a a'`` of the columns that stay and of the target, in the units of the data."""
        at = [*self.kept, self.target]
        units = np.array(self.gram.units, object)[at]
        return nearest(self.G[np.ix_(at, at)] * np.outer(units, units) * self.gram.weight_unit)

    def inflation(self, inverse: Array) -> Array:
        """By column what its variance would be without the others, in the denominator of what it is: its squares, about
        the mean where the others span the constant, times the diagonal of ``(X'WX)^-1``. NaN for the intercept."""
        G, kept, units = self.G, list(self.kept), self.gram.units
        if self.equation.intercept:
            is_spanned = np.ones(len(kept), bool)
        elif self.spans_constant():  # in one way only: others span it where it has none of the column itself
            shares = nearest(self._sweeps.values(kept, [0])[:, 0])
            is_spanned = np.abs(shares) * [self._sizes[k] for k in kept] <= PART
        else:
            is_spanned = np.zeros(len(kept), bool)
        squares = [
            (G[k, k] - Fraction(G[0, k] ** 2, G[0, 0]) * int(spanned)) * units[k] ** 2
            for k, spanned in zip(kept, is_spanned, strict=True)
        ]
        vif = nearest(np.array(squares, object)) * np.diag(inverse)
        if self.equation.intercept:
            vif[0] = np.nan
        return vif

    def by_term(self, term_of: TermOf) -> tuple[tuple[str, ...], Integers, Array]:
        """The terms of the formula but the intercept, and by term ``(terms, 3)`` degrees of freedom and sums of squares
        of type I, II and III: what the columns of a term take off what is left after those of the terms before it (R's
        ``anova``); beside all terms that do not contain it; and what those that stay take off beside all others that
        stay (``car::Anova(singular.ok = TRUE)``)."""
        of = dict(zip(self.columns, term_of, strict=True))
        terms = [term for term in dict.fromkeys(term_of) if term]
        df, squares = np.zeros((len(terms), 3), np.int64), np.zeros((len(terms), 3))
        for typ, models in enumerate((self._one_by_one, self._beside_uncontained, self._beside_others)):
            for place, (without, model) in enumerate(models(of, terms)):
                df[place, typ] = len(self.models.independent(model)) - len(self.models.independent(without))
                squares[place, typ] = float(self.left_by(without) - self.left_by(model))
        return tuple(":".join(term) for term in terms), df, squares

    def _one_by_one(self, of: Of, terms: Sequence[Term]) -> Iterator[tuple[list[int], list[int]]]:
        before = [k for k in self.kept if not of[k]]
        for term in terms:
            model = [*before, *(k for k in self.kept if of[k] == term)]
            yield before, model
            before = model

    def _beside_uncontained(self, of: Of, terms: Sequence[Term]) -> Iterator[tuple[list[int], list[int]]]:
        for term in terms:
            besides = [k for k in self.distinct if not set(of[k]) >= set(term)]
            yield besides, [k for k in self.distinct if k in besides or of[k] == term]

    def _beside_others(self, of: Of, terms: Sequence[Term]) -> Iterator[tuple[list[int], list[int]]]:
        for term in terms:
            yield [k for k in self.kept if of[k] != term], list(self.kept)
