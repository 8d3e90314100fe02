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
from typing import ClassVar

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
from ..likelihood.columns import Columns, half
from ..likelihood.columns import square as square_of
from ..likelihood.maximise import Read, Sums, maximise
from ..statistic import Statistic
from .level_model import LevelModel, as_floats, check_weights, entropy, factor_bits
from .multinomial_fit import MultinomialFit


@dataclass(frozen=True, eq=False, kw_only=True)
class Multinomial(LevelModel):
    """The multinomial logistic regression that a formula describes; its response is a category, and the level that the
    others are compared with is its reference in the schema. ``weights``: the name of a column; ``ridge``: half of it
    times the squares of the slopes is subtracted from the log-likelihood, in units of the data."""

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

    def check(self, rows: Rows, parties: int) -> None:
        if self.weights is not None:
            check_weights(rows, self.selection.place(self.weights), self.weights)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MultinomialFit:
        order = [self.in_order.index(level) for level in self.levels]
        totals, columns = self.first_totals(agreements, rows, alias=not self.ridge)
        counts = totals[order].astype(np.int64)
        shares = counts.astype(np.float64) if self.weights is None else self._weighted(agreements, rows, order)
        weight = 2.0 ** round(math.log2(float(shares.sum()) / int(counts.sum())))
        softmax = Softmax(columns, self.place, tuple(order[1:]), int(counts.sum()), self._weight_place, weight)
        others, p = len(order) - 1, len(columns)
        start = np.zeros((others, p))
        if self.selection.intercept:
            start[:, 0] = np.log(shares[1:] / shares[0])
        penalty = self._penalty(columns)
        named: Array = np.kron(np.eye(others), columns.unmixed.T).astype(np.float64)
        ended = maximise(
            agreements, [softmax.sums(part) for part in rows], start.ravel(), self.terms_of(columns),
            softmax.read if penalty is None else penalised(softmax.read, penalty), size=softmax.size,
            digits=softmax.digits(agreements, shares), named=named,
            infinite=f": columns separate levels of {self.response!r}. Drop one, merge some, or take a ridge penalty.",
        )  # fmt: skip
        back: Array = np.kron(np.eye(others), columns.back).astype(np.float64)
        values = self.fields_of(counts, ended, columns, back)
        if penalty is not None:
            values |= {
                "llf": softmax.read(ended.total, ended.theta)[0],
                "covariance": np.full((others * p,) * 2, np.nan),
            }
        if self.weights is not None:
            values |= {"llnull": entropy(shares)}
        return MultinomialFit(*agreements.made, variables=columns.terms, **values)

    @property
    def _weight_place(self) -> int | None:
        return None if self.weights is None else self.selection.place(self.weights)

    def _weighted(self, agreements: Agreements, rows: Sequence[Rows], order: Sequence[int]) -> Array:
        """Sums of weights at each level."""
        assert self.weights is not None
        place, weights, levels = self.place, self.selection.place(self.weights), np.array(order)
        unit = agreements.units(rows, self.units)[weights]

        def terms(block: Array) -> Int64:
            return np.asarray((block[:, [place]] == levels) * whole(block[:, [weights]], [unit]))

        own = [unless_beyond(lambda part=part: part.totals(terms)) for part in rows]  # type: ignore[misc]
        if (rounding := agreed_rounding(agreements, rows, [weights], agreements.units(rows, self.units))) is not None:
            step = max(1, int(rounding.size(weights)) * math.isqrt(rounding.rows) // PART)
            own = [rounded(part, [step] * len(order)) for part in own]
        return nearest(agreements.sum(own, of="weights at each level", size=len(order)) * unit)

    def _penalty(self, columns: Columns) -> Array | None:
        """``Q`` of which ``theta' Q theta / 2`` is the penalty: slopes less their mean over all levels, the reference
        with slopes 0 among them, have the least squares of all that give the same probabilities."""
        if not self.ridge:
            return None
        slopes = np.append(np.zeros(int(columns.intercept)), self.ridge / columns.deviation**2)
        others = len(self.levels) - 1
        return np.asarray(np.kron(np.eye(others) - 1 / len(self.levels), np.diag(slopes)), dtype=np.float64)

    @property
    def stages(self) -> int:
        return super().stages + (self.weights is not None)

    @property
    def numbers(self) -> int:
        return super().numbers + len(self.in_order) * (self.weights is not None)


def penalised(read: Read, penalty: Array) -> Read:
    """Objective, score and information with a public penalty, which everybody adds to the totals."""

    def read_penalised(total: Whole, theta: Array) -> tuple[float, Array, Array]:
        f, g, H = read(total, theta)
        return f - float(quadratic(penalty, theta)) / 2, g - product(penalty, theta), H + penalty

    return read_penalised


@dataclass(frozen=True)
class Softmax:
    """The likelihood of the rows. ``place``: where the level is in a row; ``order``: the places of the levels that are
    compared with the reference; ``rows``: of all parties; ``weights``: where a row's weight is, and ``weight``, a power
    of two about their mean."""

    columns: Columns
    place: int
    order: tuple[int, ...]
    rows: int
    weights: int | None = None
    weight: float = 1.0

    @property
    def bits(self) -> tuple[int, int]:
        """Of the grids of both factors. Weights may be far from their mean."""
        finest = factor_bits(self.rows)
        return finest - 6 * (self.weights is not None), finest

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Blocks of the information."""
        return list(combinations_with_replacement(range(len(self.order)), 2))

    @property
    def size(self) -> int:
        """How many integers are summed."""
        p = len(self.columns)
        return 1 + len(self.order) * p + len(self.pairs) * p * (p + 1) // 2

    def digits(self, agreements: Agreements, shares: Array) -> ClimbDigits | None:
        """How finely they are told, by the (weighted) rows at each level."""
        p, others = len(self.columns), len(self.order)
        indices: list[Index] = [(), *((i,) for i in range(others * p))]
        for a, b in self.pairs:
            indices += [(a * p + i, b * p + j) for i, j in combinations_with_replacement(range(p), 2)]
        bits = sum(self.bits) - round(math.log2(self.weight))
        of = [bits] * (1 + others * p) + [bits + 1] * (len(indices) - 1 - others * p)
        first = np.repeat(shares[1:] * (1 - shares[1:] / shares.sum()), p)
        return climb_digits(agreements, indices, of, self.rows, first)

    def sums(self, rows: Rows) -> Sums:
        """Of one party's rows, in one pass."""
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
        values = self.weight * as_floats(total[: 1 + others * p], bits)
        information = np.empty((others, p, others, p))
        for (a, b), part in zip(self.pairs, np.split(total[1 + others * p :], len(self.pairs)), strict=True):
            information[a, :, b] = information[b, :, a] = self.weight * as_floats(square_of(part, p), bits + 1)
        return float(values[0]), values[1:], information.reshape(others * p, others * p)
