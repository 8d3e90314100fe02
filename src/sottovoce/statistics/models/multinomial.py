"""Multinomial logistic regression: ``log(p_a / p_reference) = x'beta_a`` for every level ``a`` but the reference.

With ``eta_a = x'beta_a`` and ``p_a = exp(eta_a) / (1 + sum_b exp(eta_b))`` (Agresti, Categorical Data Analysis, 8.1):

    objective           sum_rows  log p_y
    score of beta_a     sum_rows  (1[y = a] - p_a) x
    information a, b    sum_rows  p_a (1[a = b] - p_b) x x'

The information does not depend on ``y``: observed and expected are one.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows, Terms
from ...errors import NotConverged
from ..agreements import Agreements
from ..likelihood.columns import Columns, agreed_columns
from ..likelihood.maximise import Sums, maximise, packed
from ..statistic import Statistic
from .level_model import LevelModel
from .multinomial_fit import MultinomialFit


@dataclass(frozen=True, eq=False, kw_only=True)
class Multinomial(LevelModel):
    """The multinomial logistic regression that a formula describes; its response is a category, and the level that the
    others are compared with is its reference in the schema."""

    type: ClassVar[str] = "multinomial"
    what: ClassVar[str] = "a multinomial model"
    gives: ClassVar[builtins.type[Statistic]] = MultinomialFit

    def __post_init__(self) -> None:
        _ = self.levels  # refused now, if it has none

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The reference first."""
        levels = self.in_order
        first = self.schema[self.response].reference or levels[0]
        return (first, *(level for level in levels if level != first))

    @property
    def _terms(self) -> tuple[str, ...]:
        return ("Intercept",) * self.selection.intercept + self.selection.slopes

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters, level by level."""
        return tuple(f"{level}: {term}" for level in self.levels[1:] for term in self._terms)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MultinomialFit:
        d, p, others = len(self.selection.slopes), len(self._terms), len(self.levels) - 1
        order = [self.in_order.index(level) for level in self.levels]
        try:
            counts = self.agreed_levels(agreements, rows)[order]
            N = int(counts.sum())
            columns, _ = agreed_columns(
                agreements, rows, N, self.mask, self.selection.slopes, self.unit[:d], intercept=self.selection.intercept
            )
            parts = [softmax_sums(part, own, self.place, order[1:]) for part, own in zip(rows, columns, strict=True)]
            start = np.zeros((len(rows), others, p))
            if self.selection.intercept:
                start[:, :, 0] = np.log(counts[1:] / counts[0])
            ended = maximise(
                agreements, parts, start.reshape(len(rows), -1), self.names, self.mask, N,
                infinite=f": it separates levels of {self.response!r}. Drop it, or merge levels.",
            )  # fmt: skip
        except NotConverged:
            return MultinomialFit(*agreements.made)
        back: Array = np.kron(np.eye(others), columns[0].back).astype(np.float64)
        return MultinomialFit(*agreements.made, variables=self._terms, **self.found(counts, ended, back))


def softmax_sums(rows: Rows, columns: Columns, place: int, order: Sequence[int], weigh: Terms | None = None) -> Sums:
    """Objective, score and information of one party's rows, in one pass. ``place``: where the level is in a row;
    ``order``: the places of the levels that are compared with the reference; ``weigh``: weights of some rows."""
    p, others, places = len(columns), len(order), np.array(order)
    pairs = list(combinations_with_replacement(range(others), 2))

    def sums(theta: Array) -> Array:
        beta = theta.reshape(others, p)

        def sides(block: Array) -> tuple[Array, Array]:
            x, y = columns.matrix(block), block[:, place] == places[:, None]
            eta = np.array([rows.linear(x, own) for own in beta])
            largest = eta.max(axis=0, initial=0.0)
            odds = np.exp(eta - largest)
            total = np.exp(-largest) + sum(odds)  # level by level, whatever rows are beside
            share = odds / total
            value = sum(own * at for own, at in zip(eta, y, strict=True)) - largest - np.log(total)
            weights = [share[a] * ((a == b) - share[b]) for a, b in pairs]
            left = np.column_stack([value, (y - share).T, *(weight[:, None] * x for weight in weights)])
            return left if weigh is None else left * weigh(block)[:, None], np.column_stack([np.ones(len(x)), x])

        found = rows.products(sides)
        information = np.empty((others, p, others, p))
        for (a, b), block in zip(pairs, found[1 + others :, 1:].reshape(-1, p, p), strict=True):
            information[a, :, b] = information[b, :, a] = (block + block.T) / 2
        k = others * p
        return packed(float(found[0, 0]), found[1 : 1 + others, 1:].reshape(k), information.reshape(k, k))

    return sums
