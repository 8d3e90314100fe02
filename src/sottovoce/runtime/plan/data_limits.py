"""How large a party's own numbers may be: what the plan publishes, and why no lie of the others makes them larger.

The audit counts on values of variance ``prior`` in units of ``scale``. The plan publishes a ``size``, so many standard
deviations, and the ``least_rows`` that every party has. Of a statistic party ``i`` of ``n``, with ``n_i`` of all ``N``
rows, contributes

    (n/N) sum t,        (n/N) sum (t - m)(t - m)',        (n/N) sum (y - x'beta)^2.

``N``, ``m`` and ``beta`` are agreed on, so that somebody who lies can move them: with ``N = 1`` everybody would say
sums of all rows behind pads that were meant for a mean. Therefore

* before it calls anybody, a party checks its own data: at least ``least_rows`` rows, and in every column a root mean
  square, over its rows, of at most ``size``;
* ``N`` must be at least its own rows and ``least_rows`` of each of the others;
* what was agreed on must be what such data give: ``|m| <= size``, and ``|S| <= size^2`` for second moments.

Then ``n_i/N <= 1``, and by Cauchy and Schwarz

    |(n/N) sum t| <= n size,        |(n/N) sum (t - m)(t - m)'| <= n (size + |m|)^2 <= n (2 size)^2.

Residuals need one more: the best fit leaves no more squares, over all rows, than the target has about its mean, and
that is no more than ``N size^2``. So no honest ``beta`` leaves this party alone more, and a party that finds
``n (2 size)^2`` exceeded says nothing of it. None of these refusals happens while all are honest, whatever the data
are. One that does happen tells a liar that this party's rows, or residuals, are beyond what the lie left room for.

Agreed numbers are known to about ``3 tol`` of the largest contribution: ``room`` is left for that. Under noise a party
holds its data and contributions against these limits before it adds its own; an agreed mean has room for the largest
that there is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...costs import Averaging, Cost
from ...costs.base import Array
from ...errors import BadlyHidden, InvalidInput
from ...files.toml_table import Table
from ...pdmm.hiding import size_of
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import Integers
from ...statistics.agreements import carried
from ...statistics.at_one_party import LARGEST
from ..protocol.agreement import Contradiction

ROUNDING = 1e-9
HALF = 0.5  # of a vote


@dataclass(frozen=True)
class Limits:
    """All of it public: ``size`` in units of ``scale``."""

    n: int
    size: float
    least_rows: int = 1
    tol: float = 0.0

    # Before the network. Nothing of the data is quoted.

    def check_mask(self, mask: GaussianMask) -> None:
        """A plan that is weak is not written unless somebody insists; the parties should know."""
        if mask.sigma < self.size:
            warnings.warn(
                f"the data are hidden badly in this run: the mask's sigma = {mask.sigma:.3g} is smaller than values "
                f"may be, size = {self.size:g}. Ask for a plan with a larger mask.",
                BadlyHidden,
                stacklevel=2,
            )

    def check_count(self, rows: int) -> None:
        if rows < self.least_rows:
            raise InvalidInput(
                f"there are fewer rows than each party must have in this run, least_rows = {self.least_rows:,}. Find "
                "more, or agree on a new run with another [audit] least_rows in its plan."
            )

    def check_rows(self, rows: Array, columns: tuple[str, ...]) -> None:
        """In units of ``scale``."""
        with np.errstate(over="ignore"):
            self.check_mean_squares(np.square(rows / self.size).mean(axis=0), columns)

    def check_mean_squares(self, squares: Array, columns: tuple[str, ...]) -> None:
        """Of each column, in units of ``scale`` and of ``size``."""
        if (beyond := ~(squares <= 1)).any():
            raise InvalidInput(
                f"column {columns[int(beyond.argmax())]!r} is larger than this run hides: its root mean square is "
                f"beyond size = {self.size:g} in units of scale. Agree on a new run, with a larger scale or, in "
                "[audit], a larger prior in its plan."
            )

    def check_cost(self, cost: Cost, *, noisy: bool = False) -> None:
        """The constant of the gradient, twice the contribution of averaging."""
        with np.errstate(all="ignore"):
            size = size_of(cost)
        if not size <= 2 * self.size:  # NaN, where sums of squares overflow
            raise InvalidInput(
                f"the data are larger than this run hides: the constant of the gradient is beyond 2 size = "
                f"{2 * self.size:g}. Agree on a new run, with larger units, a larger mask or, in [audit], a larger "
                "prior in its plan."
            )
        # With more rows a party would weigh more, and so would its noise: nobody could say how far the answer is off.
        if noisy and type(cost) is not Averaging:
            raise InvalidInput(
                "averaging with noise takes one row of each party, and there are more. Put their mean in the file, or "
                'agree on a new run with [statistic] type = "mean", which takes any number of rows.'
            )

    # During the run

    def check_total(self, total: Integers, own: Integers) -> None:
        """Agreed counts: of rows, or of the values in each bin."""
        if (total < own).any() or total.sum() < own.sum() + (self.n - 1) * self.least_rows:
            raise Contradiction(
                "the parties have agreed on fewer rows than this party has, with those that each of the others has at "
                "least: one of them has not told the truth. Nothing more was said. Agree on a new run."
            )

    @property
    def room(self) -> float:
        """For what ``tol`` leaves open of an agreed number, relative to ``size``, or to 1 where that is larger."""
        return 1 + ROUNDING + 30 * self.n * self.tol * max(1.0, 1 / self.size) ** 2

    def check_model(self, contribution: Array, mask: GaussianMask) -> None:
        """Before it leaves: what a model makes of values."""
        if np.abs(contribution).max(initial=0.0) > carried(self.n, mask):
            raise Contradiction(
                "what this party would have to say of the model is larger than this run hides. Nothing of it was "
                "said. Agree on a new run, with a larger [mask] variance, or with ranges for all columns."
            )

    def check_votes(self, votes: Array) -> None:
        """Sums of votes that rode along with real numbers, 0 or 1 of each party. Parties round what they hold: half a
        vote could be rounded in two ways, and the parties would go apart."""
        if not (np.abs(votes - np.clip(np.rint(votes), 0, self.n)) <= HALF / 2).all():
            raise Contradiction(
                "the votes on how to go on are no whole numbers from 0 to the number of parties: one of them has not "
                "kept to the protocol. Agree on a new run."
            )

    def check_contribution(self, contribution: Array, degree: int) -> None:
        """Before it leaves: of values (``degree`` 1), or of squares and products (2)."""
        centre = self.room * self.size if degree == 2 else 0.0
        if np.abs(contribution).max(initial=0.0) > self.room * self.n * (self.size + centre) ** degree:
            raise Contradiction(
                f"what this party would have to say is larger than this run hides, though its data are within size = "
                f"{self.size:g}: what was agreed on before is not true. Nothing of it was said. Agree on a new run."
            )

    def check_agreed(self, agreed: Array, degree: int, resolution: float) -> None:
        """A mean over all rows, of values or of squares and products."""
        if np.abs(agreed).max(initial=0.0) > self.room * self.size**degree + resolution:
            raise Contradiction(
                f"the parties have agreed on a number that no data within size = {self.size:g} give: one of them has "
                "not kept to that. Agree on a new run."
            )


def read_limits(table: Table, least_rows: int = 1) -> dict[str, Any]:
    """``size`` and ``least_rows``, as far as they are given; the latter at least ``least_rows``."""
    limits: dict[str, Any] = {}
    if "size" in table:
        limits["size"] = float(table.number("size"))
        if not 0 < limits["size"] <= LARGEST:
            raise table.refuse("size", f"must be a positive number, at most {LARGEST:g}; got {limits['size']:g}.")
    if "least_rows" in table and table.name.endswith("statistic"):
        limits["least_rows"] = int(table.integer("least_rows", least=least_rows))
    return limits
