"""Multinomial logistic regression: ``log(p_a / p_reference) = x'beta_a`` for every level ``a`` but the reference.

With ``eta_a = x'beta_a`` and ``p_a = exp(eta_a) / (1 + sum_b exp(eta_b))`` (Agresti, Categorical Data Analysis, 8.1):

    objective           sum_rows  w log p_y
    score of beta_a     sum_rows  w (1[y = a] - p_a) x
    information a, b    sum_rows  w p_a (1[a = b] - p_b) x x'

The information does not depend on ``y``: observed and expected are one. Factors of these products are rounded to a
public grid, and what is summed are whole numbers.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput
from ...numerics.exact_algebra import nearest
from ...numerics.fixed_order import product, quadratic
from ...sums import Whole, on_grid, whole
from ..agreements import Agreements, unless_beyond
from ..fewer_digits import PART, ClimbDigits, Index, agreed_rounding, climb_digits, rounded
from ..likelihood.columns import Columns, half, square
from ..likelihood.fixed_point import values
from ..likelihood.maximise import Sums, maximise
from ..new_rows import design_rows
from ..statistic import Statistic, Value
from .levels import LevelFit, LevelModel, entropy, factor_bits


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(LevelFit):
    """What ``Study.multinomial`` returns, besides those of ``LevelFit``: ``log(p_level / p_reference) = x'beta_level``.
    Terms are called ``"level: term"``.

    Attributes
    ----------
    levels : tuple of str
        Of the response, the reference first; ``counts`` are in this order.
    variables : tuple of str
        Names of the columns of the design, the same for every level.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "diet": {"type": "category", "levels": ["a", "b", "c"]}}
    >>> rng = np.random.default_rng(1)
    >>> tables = [{"age": rng.uniform(20, 90, n), "diet": rng.choice(["a", "b", "c"], n)} for n in (40, 25, 60)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).multinomial("diet ~ age")
    >>> fit.terms
    ('b: Intercept', 'b: age', 'c: Intercept', 'c: age')
    >>> fit.coefficients.shape, round(float(fit.predict({"age": [50.0]}).sum()), 6)
    ((2, 2), 1.0)
    """

    variables: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Multinomial logistic regression"
    ratio: ClassVar[str | None] = "relative risk ratio"

    @property
    def coefficients(self) -> Array:
        """``params`` as a table with a column for every level but the reference, ``(variables, levels - 1)``."""
        return self.params.reshape(len(self.levels) - 1, len(self.variables)).T

    def predict(self, table: Any) -> Array:
        """The probability of every level in new rows, ``(rows, levels)``, in the order of ``levels``: of a table with
        the columns that the formula reads, in any form that a party's table may have."""
        X, _ = design_rows(self.formula, self.schema, self.variables, table)
        eta = np.column_stack([np.zeros(len(X)), X @ self.coefficients])
        odds = np.exp(eta - eta.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _head(self) -> list[tuple[str, str]]:
        response, *others = super()._head()
        return [response, ("Reference level", self.levels[0]), *others]


@dataclass(frozen=True, eq=False, kw_only=True)
class Multinomial(LevelModel):
    """The multinomial logistic regression that a formula describes; see ``Study.multinomial``."""

    weights: str | None = None
    ridge: float = 0.0

    type: ClassVar[str] = "multinomial"
    what: ClassVar[str] = "a multinomial model"
    gives: ClassVar[builtins.type[Statistic]] = MultinomialFit

    def __post_init__(self) -> None:
        _ = self.levels  # refused now, if it has none
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise InvalidInput(f"ridge must be a number >= 0; got {self.ridge!r}.")

    @cached_property
    def selection(self) -> ModelColumns:
        columns = super().selection
        if self.weights is None:
            return columns
        if self.weights not in self.schema or self.schema[self.weights].type not in ("number", "integer"):
            raise InvalidInput(f"weights must be a column of numbers in the schema; got {self.weights!r}.")
        return replace(columns, more=(self.weights,))

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The reference first."""
        levels = self.in_order
        first = self.schema[self.response].reference or levels[0]
        return (first, *(level for level in levels if level != first))

    def terms_of(self, columns: Columns) -> tuple[str, ...]:
        return tuple(f"{level}: {term}" for level in self.levels[1:] for term in columns.terms)

    @property
    def _weight_place(self) -> int | None:
        return None if self.weights is None else self.selection.place(self.weights)

    def check(self, rows: Rows, parties: int) -> None:
        place = self._weight_place
        if place is not None and rows.totals(lambda block: (block[:, [place]] <= 0).astype(np.int64))[0]:
            raise InvalidInput(
                f"weights: column {self.weights!r} has values that are not positive. Leave out rows of weight 0."
            )

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MultinomialFit:
        order = [self.in_order.index(level) for level in self.levels]
        totals, columns = self.first_totals(agreements, rows, alias=not self.ridge)
        counts = totals[order]
        place = self._weight_place
        shares = counts.astype(np.float64) if place is None else self._weighted(agreements, rows, order, place)
        weight = 2.0 ** round(math.log2(float(shares.sum()) / int(counts.sum())))
        softmax = Softmax(columns, self.place, tuple(order[1:]), int(counts.sum()), place, weight)
        others, p = len(order) - 1, len(columns)
        start = np.zeros((others, p))
        if self.selection.intercept:
            start[:, 0] = np.log(shares[1:] / shares[0])
        Q = self._penalty(columns)

        def penalised(total: Whole, theta: Array) -> tuple[float, Array, Array]:
            """A penalty is public, and everybody adds it to the totals."""
            f, g, H = softmax.read(total, theta)
            return f - float(quadratic(Q, theta)) / 2, g - product(Q, theta), H + Q

        named: Array = np.kron(np.eye(others), columns.unmixed.T).astype(np.float64)
        ended = maximise(
            agreements, [softmax.sums(part) for part in rows], start.ravel(), self.terms_of(columns),
            penalised, size=len(softmax.indices), digits=softmax.digits(agreements, shares), named=named,
            infinite=f": columns separate levels of {self.response!r}. Drop one, merge some, or take a ridge penalty.",
        )  # fmt: skip
        back: Array = np.kron(np.eye(others), columns.back).astype(np.float64)
        found = self.fields_of(counts, ended, columns, back)
        found["llf"] = softmax.read(ended.total, ended.theta)[0]
        if self.ridge:
            found["covariance"] = np.full((others * p,) * 2, np.nan)
        if self.weights is not None:
            found["llnull"] = entropy(shares)
        return MultinomialFit(*agreements.made, variables=columns.terms, **found)

    def _weighted(self, agreements: Agreements, rows: Sequence[Rows], order: Sequence[int], weights: int) -> Array:
        """Sums of weights at each level."""
        place, levels, units = self.place, np.array(order), agreements.units(rows, self.units)
        unit = units[weights]

        def terms(block: Array) -> Int64:
            return np.asarray((block[:, [place]] == levels) * whole(block[:, [weights]], [unit]))

        own = [unless_beyond(part.totals, terms) for part in rows]
        if (rounding := agreed_rounding(agreements, rows, [weights], units)) is not None:
            step = max(1, int(rounding.size(weights)) * math.isqrt(rounding.rows) // PART)
            own = [rounded(part, [step] * len(order)) for part in own]
        return nearest(agreements.sum(own, of="weights at each level", size=len(order)) * unit)

    def _penalty(self, columns: Columns) -> Array:
        """``Q`` of which ``theta' Q theta / 2`` is the penalty: slopes less their mean over all levels, the reference
        with slopes 0 among them, have the least squares of all that give the same probabilities."""
        slopes = np.append(np.zeros(int(columns.intercept)), self.ridge / columns.deviation**2)
        others = len(self.levels) - 1
        return np.asarray(np.kron(np.eye(others) - 1 / len(self.levels), np.diag(slopes)), dtype=np.float64)

    @property
    def stages(self) -> int:
        return super().stages + (self.weights is not None)

    @property
    def numbers(self) -> int:
        return super().numbers + len(self.in_order) * (self.weights is not None)


@dataclass(frozen=True)
class Softmax:
    """The likelihood of the rows. ``place``: where the level is in a row; ``order``: the places of the levels that are
    compared with the reference; ``rows``: of all parties; ``weights``: where a row's weight is, and ``weight``, a power
    of two about their mean."""

    columns: Columns
    place: int
    order: tuple[int, ...]
    rows: int
    weights: int | None
    weight: float

    @property
    def bits(self) -> tuple[int, int]:
        """The grids of both factors. Weights may be far from their mean."""
        finest = factor_bits(self.rows)
        return finest - 6 * (self.weights is not None), finest

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Blocks of the information."""
        return list(combinations_with_replacement(range(len(self.order)), 2))

    @property
    def indices(self) -> list[Index]:
        """Of which parameters each sum is: see ``climb_steps``."""
        p = len(self.columns)
        found: list[Index] = [(), *((i,) for i in range(len(self.order) * p))]
        for a, b in self.pairs:
            found += [(a * p + i, b * p + j) for i, j in combinations_with_replacement(range(p), 2)]
        return found

    def digits(self, agreements: Agreements, shares: Array) -> ClimbDigits | None:
        """How finely they are told, by the (weighted) rows at each level."""
        bits = sum(self.bits) - round(math.log2(self.weight))
        of = [bits + (len(index) == 2) for index in self.indices]
        first = np.repeat(shares[1:] * (1 - shares[1:] / shares.sum()), len(self.columns))
        return climb_digits(agreements, self.indices, of, self.rows, first)

    def sums(self, rows: Rows) -> Sums:
        """The sums of one party's rows, in one pass."""
        p, places = len(self.columns), np.array(self.order)

        def of_theta(theta: Array) -> Whole:
            beta = theta.reshape(len(places), p)

            def sides(block: Array) -> tuple[Int64, Int64]:
                x, y = self.columns.matrix(block), block[:, self.place] == places[:, None]
                eta = np.array([rows.linear(x, own) for own in beta])
                largest = eta.max(axis=0, initial=0.0)
                odds = np.exp(eta - largest)
                total = np.exp(-largest) + sum(odds)  # level by level, whatever rows are beside
                share = odds / total
                value = sum(own * at for own, at in zip(eta, y, strict=True)) - largest - np.log(total)
                factors = [share[a] * ((a == b) - share[b]) for a, b in self.pairs]
                left = np.column_stack([value, (y - share).T, *(factor[:, None] * x for factor in factors)])
                if self.weights is not None:
                    left *= block[:, [self.weights]] / self.weight
                bits = self.bits
                return on_grid(left, bits[0]), on_grid(np.column_stack([np.ones(len(x)), x]), bits[1])

            grams = rows.grams(sides)
            blocks = grams[1 + len(places) :, 1:].reshape(-1, p, p)
            halves = [half(block + block.T) for block in blocks]
            return np.concatenate([grams[0, :1], grams[1 : 1 + len(places), 1:].ravel(), *halves])

        return of_theta

    def read(self, total: Whole, theta: Array) -> tuple[float, Array, Array]:
        """Objective, score and information."""
        p, others, bits = len(self.columns), len(self.order), sum(self.bits)
        first = self.weight * values(total[: 1 + others * p], bits)
        information = np.empty((others, p, others, p))
        for (a, b), part in zip(self.pairs, np.split(total[1 + others * p :], len(self.pairs)), strict=True):
            information[a, :, b] = information[b, :, a] = self.weight * values(square(part, p), bits + 1)
        return float(first[0]), first[1:], information.reshape(others * p, others * p)
