"""``type = "linear"``: ordinary and weighted least squares of tables, exact, and errors that stay right where the
variance differs from row to row.

Robust covariances are ``A^-1 M A^-1`` with ``A = X'WX`` and ``M = sum f x x'``, ``f = (w e)^2 / (1 - h)^k`` for
residuals ``e`` and leverages ``h = w x'A^-1 x`` (HC0 to HC3: J. G. MacKinnon and H. White, "Some
heteroskedasticity-consistent covariance matrix estimators with improved finite sample properties", J. Econometrics 29
(1985), 305-325). ``A`` is exact, and so are the columns ``x``. Of a row only ``f`` is computed and rounded, so that
``M`` is positive semidefinite exactly, a variance that is 0 is 0, and no condition of the columns costs digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.formula import Formula
from ...data.rows import Int64, Rows, WholeColumns
from ...data.schema import Schema
from ...data.selection import INTERCEPT, ModelColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.double_double import WideColumns
from ...numerics.exact_algebra import NestedModels, inverse_of, nearest
from ...numerics.exact_sweeps import WORK, Rational, sweeps_of
from ...pdmm.modular_mask import Integers
from ...sums import Whole, on_grid, whole
from ..agreements import Agreements, Objected, unless_beyond
from ..analysis import Analysis
from ..fewer_digits import FULL, PART, Rounding, rounded
from ..new_rows import schema_text
from .gram import ROUNDING, Equation, Gram, agreed_gram, check_size, numbers_of_gram, symmetric
from .linear_fit import LinearFit

ROBUST = ("HC0", "HC1", "HC2", "HC3")
POWER = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}  # of 1/(1 - h)
ALONE = 2.0**-30  # a row that lacks no more than that to the leverage of 1 is fitted by itself

# Bits behind the point of ``f``, in units of its mean without leverages. 2^62 is left for all of it: rows 4 million
# times above the mean are beyond the first, and there are none among fewer rows with equal weights. Where there is
# one, it is what the sum is made of, and the second has 18 bits for the others.
GRIDS = (40, 18)

Term = tuple[str, ...]  # of a formula: its factors

# What is left of a column is rounding if it is no more than that of what was taken off it. Columns computed in float64
# leave some 1e-16, and those that are rounded to so many units one unit. Filip's powers, which are as nearly dependent
# as there are, leave 1e-9.
LEFT_BY_ROUNDING = 2.0**-ROUNDING
MANY_UNITS = 2.0**36


def model_columns(formula: str, schema: Schema, weights: str | None = None) -> ModelColumns:
    """What a linear model takes of a row, or a sentence."""
    design = Formula(formula).design(schema)
    if len(design.response) != 1:
        raise InvalidInput(
            f"formula must have one column before ~, which is to be explained; it has {len(design.response)}."
        )
    if weights is not None:
        if weights not in schema or schema[weights].type not in ("number", "integer"):
            raise InvalidInput(f"weights must be a column of numbers in the schema; got {weights!r}.")
        if weights in design.needs:
            raise InvalidInput(f"weights must be a column that the formula does not use; got {weights!r}.")
    check_size(len(design.columns))
    more = () if weights is None else (weights,)
    return ModelColumns(design, more, with_rests=not more)  # beside weights there is no room for longer numbers


def equation_of(selection: ModelColumns, analysis: Analysis, agreements: Agreements) -> Equation:
    """Where the columns are in its rows."""
    return Equation(
        names=(*selection.slopes, selection.design.response[0]),
        declared=analysis.units,
        offset=selection.offset,
        weight=selection.place(selection.more[0]) if selection.more else None,
        rests=selection.rests if agreements.ends is None else {},  # fewer digits have no use for more
        intercept=selection.intercept,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(Analysis):
    """``formula``; ``weights``, the name of a column; ``robust``, which covariance."""

    formula: str
    weights: str | None = None
    robust: str | None = None

    type: ClassVar[str] = "linear"
    gives = LinearFit

    def __post_init__(self) -> None:
        if self.robust is not None and self.robust not in ROBUST:
            raise InvalidInput(f"robust must be one of {', '.join(ROBUST)}, or left out; got {self.robust!r}.")
        _ = self.selection

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.formula, self.schema, self.weights)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> LinearFit:
        design, equation, robust = self.selection.design, equation_of(self.selection, self, agreements), self.robust
        term_of = dict(zip(design.columns, design.terms, strict=True))
        fit = ExactFit(agreed_gram(agreements, rows, equation), equation)
        if fit.gram.rounding is not None:
            about = float(fit.left_by([0]))
            fit.gram.rounding.check_left(float(fit.left_by(fit.kept)) / about if about > 0 else 0.0, equation.target)
        sandwich = None if robust is None else robust_covariance(agreements, rows, fit, robust)
        N, rank, constant = fit.gram.N, len(fit.kept), fit.spans_constant()
        solution = fit.models.fit(fit.kept)  # in units of the data, and of the weights
        inverse = solution.inverse / float(fit.gram.weight_unit)
        left, about_0, about_mean = (fit.left_by(columns) for columns in (fit.kept, [], [0]))
        ssr = float(left)
        tested, tested_df, sum_sq = fit.by_term([term_of[column] for column in equation.terms])
        terms, gram = fit.names(fit.kept), fit.cross_products()
        with np.errstate(divide="ignore"):
            llf = -N / 2 * (np.log(2 * np.pi * ssr / N) + 1) + fit.gram.log_weights / 2
        return LinearFit(
            *agreements.made,
            terms=terms,
            aliased=fit.names([k for k in fit.columns if k not in fit.kept]),
            all_terms=equation.terms,
            params=solution.coefficients,
            covariance=ssr / (N - rank) * inverse if sandwich is None else sandwich,
            nobs=N,
            response=equation.target,
            formula=self.formula,
            schema=schema_text(self.schema, design.needs),
            weights=self.weights,
            robust=robust,
            df_model=rank - constant,
            df_resid=N - rank,
            constant=constant,
            ssr=ssr,
            ess=float((about_mean if constant else about_0) - left),
            centered_tss=float(about_mean),
            uncentered_tss=float(about_0),
            llf=float(llf),
            condition_number=_condition_number(gram[:-1, :-1], inverse),
            vif=fit.inflation(solution.inverse),
            gram=gram,
            term_of=tuple(":".join(term_of[term]) or INTERCEPT for term in terms),
            tested=tested,
            tested_df=tested_df,
            sum_sq=sum_sq,
        )

    def check(self, rows: Rows, parties: int) -> None:
        if self.weights is not None:
            place = self.selection.place(self.weights)
            if rows.totals(lambda block: np.asarray(block[:, place : place + 1] <= 0, np.int64))[0] > 0:
                raise InvalidInput(
                    f"weights: column {self.weights!r} has values that are not positive. Leave out rows of weight 0."
                )

    @property
    def parameters(self) -> int:
        return len(self.selection.design.columns)

    @property
    def revealed(self) -> list[str]:
        names, by = ", ".join(self.selection.multiplied), f", weighted by {self.weights}," if self.weights else ""
        terms = ", ".join(self.selection.design.columns)
        robust = [f"squared residuals times products of {terms}, pair by pair"] if self.robust else []
        weights = [f"{self.weights} and its logarithm"] if self.weights else []
        return ["the number of rows", *weights, f"values{by} and products, pair by pair,{by} of {names}", *robust]

    @property
    def stages(self) -> int:
        return 1 if self.robust is None else 2

    @property
    def numbers(self) -> int:
        k, p = len(self.selection.slopes) + 1 + self.selection.design.has_offset, self.parameters
        meat = 0 if self.robust is None else p * (p + 1) // 2 + (POWER[self.robust] > 0)
        return numbers_of_gram(k, weighted=self.weights is not None) + meat

    counts = 0


def _condition_number(gram: Array, inverse: Array) -> float:
    """Of the columns as they are. The smallest eigenvalue of ``X'WX`` has no digits where columns are nearly dependent,
    the largest one of its inverse has all of them."""
    largest = [np.linalg.eigvalsh(matrix)[-1] for matrix in (gram, inverse)]
    return float(np.sqrt(largest[0]) * np.sqrt(largest[1]))


class ExactFit:
    """The fit of an equation to sums of products ``G`` of ``a = (1, x_1, .., y)``.

    ``kept``: places of the columns in the model, each of which does not depend on those before it, exactly or but for
    rounding; ``target``: that of ``y``.

    Raises
    ------
    Undetermined
        No column is left, or no row for the errors.
    """

    def __init__(self, gram: Gram, equation: Equation) -> None:
        self.gram, self.equation = gram, equation
        self.G = gram.whole
        self.target = len(self.G) - 1
        self.columns = tuple(range(0 if equation.intercept else 1, self.target))  # of the design
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
        errors = [max(LEFT_BY_ROUNDING * size, float(size >= MANY_UNITS)) for size in sizes]
        return bool(left <= max(abs(share) * error for share, error in zip(shares, errors, strict=True)))

    def names(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Names of columns of the design, by their places."""
        first = self.columns[0]
        return tuple(self.equation.terms[k - first] for k in columns)

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
            is_spanned = np.abs(shares) * [self._sizes[k] for k in kept] <= LEFT_BY_ROUNDING
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

    def by_term(self, term_of: Sequence[Term]) -> tuple[tuple[str, ...], Integers, Array]:
        """The terms of the formula but the intercept, and by term ``(terms, 3)`` degrees of freedom and sums of squares
        of type I, II and III: what the columns of a term take off what is left after those of the terms before it (R's
        ``anova``); beside all terms that do not contain it; and what those that stay take off beside all others that
        stay (``car::Anova(singular.ok = TRUE)``)."""
        of = dict(zip(self.columns, term_of, strict=True))
        terms = [term for term in dict.fromkeys(term_of) if term]
        df, squares = np.zeros((len(terms), 3), np.int64), np.zeros((len(terms), 3))
        before = [k for k in self.kept if not of[k]]
        for place, term in enumerate(terms):
            after = [*before, *(k for k in self.kept if of[k] == term)]
            besides = [k for k in self.distinct if not set(of[k]) >= set(term)]
            with_it = [k for k in self.distinct if k in besides or of[k] == term]
            others = [k for k in self.kept if of[k] != term]
            for typ, (without, model) in enumerate(((before, after), (besides, with_it), (others, list(self.kept)))):
                df[place, typ] = len(self.models.independent(model)) - len(self.models.independent(without))
                squares[place, typ] = float(self.left_by(without) - self.left_by(model))
            before = after
        return tuple(":".join(term) for term in terms), df, squares


def robust_covariance(agreements: Agreements, rows: Sequence[Rows], fit: ExactFit, robust: str) -> Array:
    """The robust covariance of the estimates, in the units of the data."""
    kept, units = list(fit.kept), np.array(fit.gram.units, object)
    ratio = units[fit.target] / units[kept]
    if fit.left_by(fit.kept) == 0:
        return np.zeros((len(kept), len(kept)))
    factors = Factors(fit, POWER[robust])
    meat, grid = _agreed_meat(agreements, rows, factors, robust)
    entries: list[Fraction] = factors.inverse.ravel().tolist()
    times = math.lcm(*(entry.denominator for entry in entries))
    bread = np.array([int(entry * times) for entry in entries], object).reshape(factors.inverse.shape)
    covariance = bread @ meat @ bread  # in whole numbers
    if fit.gram.rounding is not None and not all(variance > 0 for variance in np.diagonal(covariance)):
        raise Undetermined(f'robust: digits = "statistical" do not tell all {robust} errors. {FULL}')
    small = Fraction(fit.gram.N, fit.gram.N - len(kept)) if robust == "HC1" else Fraction(1)
    unit = Fraction(4) ** factors.half_exponent * grid * small / times**2
    return nearest(covariance * unit * np.outer(ratio, ratio))


class Factors:
    """Factors ``f`` of rows, in units of their mean, and what they are made from: the same at all parties."""

    def __init__(self, fit: ExactFit, power: int) -> None:
        G, kept = fit.G, list(fit.kept)
        self.fit, self.power, self.kept = fit, power, kept
        A = G[np.ix_(kept, kept)]
        self.inverse: Rational = inverse_of(A)
        above, *below = fit.gram.parts
        self.residual = [
            *(-(self.inverse @ G[kept, fit.target])),
            Fraction(above),
            *(Fraction(-part) for part in below),
        ]
        self.whitened = _whitening(A) if power else []
        N, left = fit.gram.N, fit.left_by(fit.kept) / fit.gram.weight_unit / fit.gram.units[fit.target] ** 2
        mean = Fraction(G[0, 0]) * left / N**2
        # The unit of ``f`` is 4 to this power, times units of the columns.
        self.half_exponent = (mean.numerator.bit_length() - mean.denominator.bit_length()) // 2

    def sides(self, block: Array, bits: int) -> tuple[WholeColumns, WholeColumns, Int64]:
        """Of some rows, columns twice and ``f``. Leverages have a column more, with 1 in rows that are fitted by
        themselves; all else of these is 0."""
        fit, gram = self.fit, self.fit.gram
        a = fit.equation.integers(block, gram.of_rows)
        a = a[:, [*self.kept, *range(fit.target, a.shape[1])]]
        place = fit.equation.weight
        w = np.ones(len(a), np.int64) if place is None else whole(block[:, place, None], [gram.weight_unit])[:, 0]
        wide, weight = WideColumns(a), w.astype(np.float64)
        f: Array = np.ldexp(wide.combined(self.residual) * weight, -self.half_exponent) ** 2
        left = np.ones(len(a))
        for coefficients, square in self.whitened:
            left -= weight * wide.combined(coefficients) ** 2 / square
        alone = left <= ALONE
        for _ in range(self.power):
            f /= np.where(alone, 1.0, left)
        factor, x = on_grid(np.where(alone, 0.0, f), bits), a[:, : len(self.kept)]
        if self.power:
            x = np.column_stack([alone.astype(np.int64), np.where(alone[:, None], 0, x)])
            factor = np.where(alone, 1, factor)
        return x, x, factor

    def rounded(self, meat: Whole, bits: int) -> Whole:
        """A party's products as it tells them: about the centres of columns, where there is an intercept."""
        rounding, places = self.fit.gram.rounding, [k - 1 for k in self.kept if k]
        if rounding is None:
            return meat
        mean = Fraction(2 << bits)  # of ``f``, which is between 1 and 4
        if self.kept[0] == 0:
            return rounding.gram(meat, places, times=mean)
        sizes = [rounding.size(place) for place in places]
        steps = [max(1, int(mean * a * b * math.isqrt(rounding.rows)) // PART) for a in sizes for b in sizes]
        return np.asarray(rounded(meat.ravel(), steps)).reshape(meat.shape)


def _whitening(A: Whole) -> list[tuple[list[Fraction], float]]:
    """By column how it is made orthogonal to those before it, and its square then: ``h`` is the sum over them."""
    sweeps = sweeps_of(A, WORK)
    found = []
    for k in range(len(A)):
        sweeps.move(range(k))
        coefficients = [-entry for entry in sweeps.values(range(k), [k])[:, 0].tolist()]
        found.append(([*coefficients, Fraction(1)], float(sweeps.values([k], [k])[0, 0])))
    return found


def _agreed_meat(agreements: Agreements, rows: Sequence[Rows], factors: Factors, robust: str) -> tuple[Whole, Fraction]:
    """``M`` in whole numbers, and their unit in those of ``factors``."""
    finer, coarser = GRIDS
    with suppress(Objected):
        return _meat(agreements, rows, factors, robust, finer), Fraction(1, 1 << finer)
    return _meat(agreements, rows, factors, robust, coarser), Fraction(1, 1 << coarser)


def _meat(agreements: Agreements, rows: Sequence[Rows], factors: Factors, robust: str, bits: int) -> Whole:
    p, first = len(factors.kept), int(factors.power > 0)
    upper = np.triu_indices(p)

    def own(part: Rows) -> Whole:
        gram = part.grams(lambda block: factors.sides(block, bits))
        return np.concatenate([gram[:first, 0], factors.rounded(gram[first:, first:], bits)[upper]])

    alone = "rows that a term fits alone, and " if first else ""
    total = agreements.sum(
        [unless_beyond(own, part) for part in rows],
        of=f"{alone}squared residuals times products of columns, pair by pair",
        counts=first,
        size=first + len(upper[0]),
    )
    if first and total[0]:
        raise Undetermined(
            f"robust: {robust} divides by what a row leaves of its leverage, and there is a row that a term fits alone "
            '(leverage 1), such as the only one at a level. Leave that term out, or use "HC1".'
        )
    return symmetric(total[first:], p)
