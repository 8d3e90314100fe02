"""Errors of estimates that stay right where the variance differs from row to row.

The covariance is ``A^-1 M A^-1`` with ``A = X'WX`` and ``M = sum f x x'``, ``f = (w e)^2 / (1 - h)^k`` for residuals
``e`` and leverages ``h = w x'A^-1 x`` (HC0 to HC3: J. G. MacKinnon and H. White, "Some heteroskedasticity-consistent
covariance matrix estimators with improved finite sample properties", J. Econometrics 29 (1985), 305-325).

``A`` is exact, and so are the columns ``x``. Of a row only ``f`` is computed and rounded, so that ``M`` is positive
semidefinite exactly, a variance that is 0 is 0, and no condition of the columns costs digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Int64, Rows, WholeColumns
from ...errors import Undetermined
from ...numerics.double_double import WideColumns
from ...numerics.exact_algebra import inverse_of, nearest
from ...numerics.exact_sweeps import WORK, Rational, sweeps_of
from ...sums import Whole, on_grid, whole
from ..agreements import Agreements, Objected, unless_beyond
from ..fewer_digits import FULL, PART, rounded
from .exact_fit import ExactFit

ROBUST = ("HC0", "HC1", "HC2", "HC3")
POWER = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}  # of 1/(1 - h)
ALONE = 2.0**-30  # a row that lacks no more than that to the leverage of 1 is fitted by itself

# Bits behind the point of ``f``, in units of its mean without leverages. 2^62 is left for all of it: rows 4 million
# times above the mean are beyond the first, and there are none among fewer rows with equal weights. Where there is
# one, it is what the sum is made of, and the second has 18 bits for the others.
GRIDS = (40, 18)


def numbers_of_robust(k: int, robust: str | None) -> int:
    """How many numbers of a party travel for ``k`` columns of the design, at most."""
    return 0 if robust is None else k * (k + 1) // 2 + (POWER[robust] > 0)


def robust_covariance(agreements: Agreements, rows: Sequence[Rows], fit: ExactFit, robust: str) -> Array:
    """Of the estimates, in the units of the data."""
    kept, units = list(fit.kept), np.array(fit.gram.units, object)
    ratio = units[fit.target] / units[kept]
    if fit.left_by(fit.kept) == 0:
        return np.zeros((len(kept), len(kept)))
    factors = Factors(fit, POWER[robust])
    meat, grid = _agreed_meat(agreements, rows, factors, robust)
    covariance, times = _sandwich(factors.inverse, meat)
    if fit.gram.rounding is not None and not all(variance > 0 for variance in np.diagonal(covariance)):
        raise Undetermined(f'robust: digits = "statistical" do not tell all {robust} errors. {FULL}')
    small = Fraction(fit.gram.N, fit.gram.N - len(kept)) if robust == "HC1" else Fraction(1)
    return nearest(covariance * (factors.unit * grid * small / times**2) * np.outer(ratio, ratio))


def _sandwich(inverse: Rational, meat: Whole) -> tuple[Whole, int]:
    """``A^-1 M A^-1`` in whole numbers, and the square root of what it is multiplied by."""
    entries: list[Fraction] = inverse.ravel().tolist()
    times = math.lcm(*(entry.denominator for entry in entries))
    bread = np.array([int(entry * times) for entry in entries], object).reshape(inverse.shape)
    return bread @ meat @ bread, times


class Factors:
    """``f`` of rows, in units of its mean, and what it is made from: the same at all parties."""

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
        self.half_exponent = (mean.numerator.bit_length() - mean.denominator.bit_length()) // 2

    @property
    def unit(self) -> Fraction:
        """Of ``f``, times units of the columns."""
        return Fraction(4) ** self.half_exponent

    def sides(self, block: Array, bits: int) -> tuple[WholeColumns, WholeColumns, Int64]:
        """Of some rows, columns twice and ``f``. Leverages have a column more, with 1 in rows that are fitted by
        themselves; all else of these is 0."""
        fit, gram = self.fit, self.fit.gram
        a = fit.equation.integers(block, gram.of_rows)
        a = a[:, [*self.kept, *range(fit.target, a.shape[1])]]
        place = fit.equation.weight
        w = np.ones(len(a), np.int64) if place is None else whole(block[:, place, None], [gram.weight_unit])[:, 0]
        f, alone = self._of_rows(WideColumns(a), w.astype(np.float64))
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

    def _of_rows(self, wide: WideColumns, w: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        f: Array = np.ldexp(wide.combined(self.residual) * w, -self.half_exponent) ** 2
        left = np.ones(len(w))
        for coefficients, square in self.whitened:
            left -= w * wide.combined(coefficients) ** 2 / square
        alone = left <= ALONE
        for _ in range(self.power):
            f /= np.where(alone, 1.0, left)
        return f, alone


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
        [unless_beyond(lambda part=part: own(part)) for part in rows],  # type: ignore[misc]
        of=f"{alone}squared residuals times products of columns, pair by pair",
        counts=first,
        size=first + len(upper[0]),
    )
    if first and total[0]:
        raise Undetermined(
            f"robust: {robust} divides by what a row leaves of its leverage, and there is a row that a term fits alone "
            '(leverage 1), such as the only one at a level. Leave that term out, or use "HC1".'
        )
    meat = np.empty((p, p), object)
    meat[upper] = total[first:]
    meat.T[upper] = total[first:]
    return meat
