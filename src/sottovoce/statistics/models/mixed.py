"""A linear model in which parties differ: ``y = x'beta + u_party + e`` (Laird and Ware 1982), by maximum likelihood or
restricted maximum likelihood (REML).

Of its rows a party needs their number, sums and products, for every ratio ``tau^2 / sigma^2`` of the variances of ``u``
and ``e``: one pass. What the parties agree on at one ratio is in ``ratio_point``, and how they find the best in
``variance_ratio``. Everything is exact from the totals on, and rounded to float64 once, at the end.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.exact_algebra import nearest
from ...numerics.logarithm import logarithm
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..likelihood.columns import columns_of, own_products, products_of, square
from ..new_rows import schema_text
from ..statistic import Statistic
from .level_model import check_enough, model_columns
from .mixed_fit import MixedFit
from .ratio_point import GRID, Party, Point, Task
from .variance_ratio import STAGES, best_ratio, numbers

METHODS = ("reml", "ml")


@dataclass(frozen=True, eq=False, kw_only=True)
class Mixed(Analysis):
    """The linear model with a random intercept by party that a formula describes, by ``method``."""

    formula: str
    method: str = "reml"

    type: ClassVar[str] = "mixed"
    gives: ClassVar[builtins.type[Statistic]] = MixedFit

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {self.method!r}.")
        column = self.schema.get(self._response)
        if column is not None and column.type == "category":
            raise InvalidInput(f"formula: a mixed model explains a number; {self._response!r} is a category.")

    @property
    def takes_fewer_digits(self) -> bool:
        return False

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.schema, self.formula, "a mixed model")

    @property
    def _response(self) -> str:
        return self.selection.design.response[0]

    @property
    def _terms(self) -> tuple[str, ...]:
        return ("Intercept",) * self.selection.intercept + self.selection.slopes

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MixedFit:
        units, d = agreements.units(rows, self.units), len(self.selection.slopes)
        own = [unless_beyond(lambda part=part: own_products(part, range(d + 1), units)) for part in rows]  # type: ignore[misc]
        sent = [None if part is None else np.concatenate([[part[0], int(part[0] > 0)], part[1:]]) for part in own]
        of = "rows, parties that have any, and products of columns"
        total = agreements.sum(sent, of=of, counts=1, size=1 + products_of(d + 1))
        N, holders = int(total[0]), int(total[1])
        self._refuse_sizes(N, holders)
        gram = square(np.concatenate([total[:1], total[2:]]), d + 2)
        columns = columns_of(gram[: d + 1, : d + 1], self.selection.slopes, units, intercept=self.selection.intercept)
        check_enough(N, len(columns) + 1)
        taken = [*([0] if columns.intercept else []), *(place + 1 for place in columns.places), d + 1]
        powers = tuple((int(gram[k, k]) // N).bit_length() // 2 if k else 0 for k in taken)
        parties = [_party(square(part, d + 2), taken) for part in own if part is not None]
        task = Task(agreements, parties, powers, N, columns.terms, self._response, self.method == "reml")
        pooled = self._pooled(task, gram[np.ix_(taken, taken)])
        best = best_ratio(task, pooled)
        sizes = [Fraction(2) ** power * (units[k - 1] if k else 1) for k, power in zip(taken, powers, strict=True)]
        return MixedFit(
            *agreements.made,
            terms=columns.terms,
            nobs=N,
            aliased=columns.aliased,
            response=self._response,
            formula=self.formula,
            schema=schema_text(self.schema, self.selection.needs),
            method=self.method,
            groups=holders,
            llf_pooled=_likelihood(pooled, task, sizes),
            **_estimates(best, task, sizes),
        )

    def _pooled(self, task: Task, products: Whole) -> Point:
        """The point without variance between parties, of exact products."""
        powers = np.array(task.powers, object)
        whole = products * (1 << GRID - np.add.outer(powers, powers))
        point = task.point(0.0, whole, 0, Fraction(task.observations), Fraction(0))
        if point is None:
            raise Undetermined(
                f"nothing is left of {self._response!r} beside the columns: it is constant, or made of them. There are "
                "no variances to tell apart."
            )
        return point

    def _refuse_sizes(self, N: int, holders: int) -> None:
        """Rows that cannot tell variances."""
        if holders < 2:
            raise Undetermined(
                f"{holders} of the parties have rows: a variance between parties needs two or more. Ask for a linear "
                "model instead."
            )
        if holders == N:
            raise Undetermined(
                "no party has two rows: the variance between parties cannot be told from that within them. Ask for a "
                "linear model instead."
            )

    @property
    def revealed(self) -> list[str]:
        columns = ", ".join((*self.selection.slopes, self._response))
        return [
            "the number of rows, and the parties that have any",
            f"values and products, pair by pair, of {columns}",
            f"X'V^-1X, X'V^-1y, y'V^-1y and log det V of {len(self._terms)} terms, at every ratio of the variances "
            "between and within parties that is tried: together they may tell the number of rows and the means of each "
            "party, though not whose they are",
            "what the residuals say of that ratio, there and on a public grid",
        ]

    @property
    def stages(self) -> int:
        return 1 + STAGES

    @property
    def numbers(self) -> int:
        return 1 + products_of(len(self.selection.slopes) + 1) + numbers(len(self._terms))

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return len(self._terms) + 2


def _party(gram: Whole, taken: list[int]) -> Party:
    """Of products of ``(1, x, y)`` those of the columns that are taken."""
    return Party(int(gram[0, 0]), gram[0, taken], gram[np.ix_(taken, taken)])


def _estimates(best: Point, task: Task, sizes: Sequence[Fraction]) -> dict[str, Any]:
    """In the units of the data; ``sizes``: what columns and response were counted in."""
    x, y = np.array(sizes[:-1], object), sizes[-1]
    scale = best.rss * y**2 / task.df
    return {
        "params": nearest(best.beta * y / x),
        "covariance": nearest(best.inverse * scale / np.multiply.outer(x, x)),
        "tau2": float(Fraction(best.theta) * scale),
        "scale": float(scale),
        "llf": _likelihood(best, task, sizes),
    }


def _likelihood(point: Point, task: Task, sizes: Sequence[Fraction]) -> float:
    """The log-likelihood with its constants, of the profile ``-(df log(rss) + log det V [+ log det A]) / 2``."""
    *x, y = (logarithm(size, GRID) for size in sizes)
    height = point.height - 2 * task.df * y - 2 * task.reml * sum(x)
    return float(Fraction(height, 2 << GRID)) - task.df / 2 * (math.log(2 * math.pi / task.df) + 1)
