"""A linear model in which parties differ: ``y = x'beta + u_party + e`` (Laird and Ware 1982), by maximum likelihood or
restricted maximum likelihood (REML).

Of its rows a party needs their number, means and products about the means, for every ratio ``tau^2 / sigma^2`` of the
variances of ``u`` and ``e``: two passes. What the parties agree on at one ratio is in ``ratio_point``, and how they
find the best in ``variance_ratio``.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, NotConverged, Undetermined
from ...pdmm.modular_mask import check_size
from ..agreements import Agreements
from ..analysis import Analysis
from ..likelihood.columns import AGREEMENTS, Columns, agreed_columns
from ..likelihood.columns import counts as counts_of_columns
from ..likelihood.maximise import of_objective
from ..linear.new_rows import schema_text
from ..statistic import Statistic
from .level_model import check_enough, model_columns
from .mixed_fit import MixedFit
from .ratio_point import Party, Point, Task
from .variance_ratio import STAGES, VOTES, best_ratio, numbers

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
        d, intercept = len(self.selection.slopes), self.selection.intercept
        try:
            N, parties = self._agreed_sizes(agreements, rows)
            names = (*self.selection.slopes, self._response)
            columns, _ = agreed_columns(agreements, rows, N, self.mask, names, self.unit[: d + 1], intercept=intercept)
            own = [_summed_up(part, standard) for part, standard in zip(rows, columns, strict=True)]
            task = Task(agreements, self.mask, own, N, parties, self._terms, self._response, self.method == "reml")
            found, pooled = best_ratio(task)
        except NotConverged:
            return MixedFit(*agreements.made)
        unit = columns[0].deviation[d]  # of the response
        slopes = replace(columns[0], names=names[:d], centre=columns[0].centre[:d], deviation=columns[0].deviation[:d])
        params = unit * (slopes.back @ found.beta)
        params[:1] += columns[0].centre[d] * intercept
        scale = float(found.rss / task.df * unit**2)
        # What log-likelihoods in units of deviations lack: |dy|^df, and of REML the determinant of the units of x.
        lacks = float(task.df * np.log(unit) + (np.log(slopes.deviation).sum() if task.reml else 0.0))
        return MixedFit(
            *agreements.made,
            terms=self._terms,
            params=params,
            covariance=scale * slopes.back @ found.inverse @ slopes.back.T,
            nobs=N,
            response=self._response,
            formula=self.formula,
            schema=schema_text(self.schema, self.selection.needs),
            method=self.method,
            groups=parties,
            tau2=found.theta * scale,
            scale=scale,
            llf=_constants(found, task.df) - lacks,
            llf_pooled=_constants(pooled, task.df) - lacks,
        )

    def _agreed_sizes(self, agreements: Agreements, rows: Sequence[Rows]) -> tuple[int, int]:
        """How many rows there are, and how many parties that have any; refused where they cannot tell variances."""
        own = np.array([[len(part), len(part) > 0] for part in rows], dtype=np.int64)
        N, parties = agreements.total(
            own, self.counting, of="the number of rows, and of parties that have any", votes=1
        ).tolist()
        if parties < 2:
            raise Undetermined(
                f"{parties} of the parties have rows: a variance between parties needs two or more. Ask for a linear "
                "model instead."
            )
        if parties == N:
            raise Undetermined(
                "no party has two rows: the variance between parties cannot be told from that within them. Ask for a "
                "linear model instead."
            )
        check_enough(N, len(self._terms) + 1)
        return N, parties

    @property
    def revealed(self) -> list[str]:
        columns = ", ".join((*self.selection.slopes, self._response))
        return [
            "the number of rows, and the parties that have any",
            f"values of {columns}, and their squares about the mean",
            f"X'V^-1X, X'V^-1y, y'V^-1y and log det V of {len(self._terms)} terms, at every ratio of the variances "
            "between and within parties that is tried: together they may tell the number of rows and the means of each "
            "party, though not whose they are",
            "what the residuals say of that ratio, there and on a public grid",
        ]

    @property
    def stages(self) -> int:
        return 1 + AGREEMENTS + STAGES

    @property
    def numbers(self) -> int:
        return 2 * (len(self.selection.slopes) + 1) + numbers(len(self._terms))

    @property
    def counts(self) -> int:
        return 2 + VOTES + counts_of_columns(len(self.selection.slopes) + 1)

    def spread(self, prior: float) -> float:
        return super().spread(prior) + of_objective(self.parameters)

    @property
    def parameters(self) -> int:
        return len(self._terms) + 2

    def check(self, rows: Rows, parties: int) -> None:
        check_size(np.array([len(rows)]), self.counting, parties)


def _summed_up(rows: Rows, columns: Columns) -> Party:
    """Means and products about them of ``(1, x, y)`` in units of deviations."""
    n, k = len(rows), len(columns)
    if not n:
        return Party(0, np.zeros(k), np.zeros((k, k)))
    mean = rows.sums(columns.matrix) / n

    def sides(block: Array) -> tuple[Array, Array]:
        t = columns.matrix(block) - mean
        return t, t

    return Party(n, mean, rows.products(sides))


def _constants(point: Point, df: int) -> float:
    """The log-likelihood with its constants, of the profile ``-(df log(rss) + log det V [+ log det X'V^-1X]) / 2``."""
    return float(point.profile - df / 2 * (np.log(2 * np.pi / df) + 1))
