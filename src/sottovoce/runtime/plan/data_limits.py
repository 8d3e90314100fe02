"""How large a party's own numbers may be in a run on a cost, and how many rows a statistic asks of everybody.

Statistics are exact sums behind uniform pads, which hide numbers of any size. A cost is iterated behind Gaussian pads:
the audit counts on values of variance ``prior`` in units of ``scale``, and the plan publishes a ``size``, so many
standard deviations. Before it calls anybody, a party checks that its own data are within it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...costs import Averaging, Cost
from ...errors import BadlyHidden, InvalidInput
from ...files.toml_table import Table
from ...pdmm.hiding import size_of
from ...pdmm.masks import GaussianMask

LARGEST = 1e30  # in units of scale


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
                'agree on a new run with [statistic] type = "mean", which takes any number of rows and is exact.'
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
