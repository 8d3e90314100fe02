"""What a party would release of its rows, in the terms of a policy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data.rows import Rows
from ...pdmm.modular_mask import Integers
from ..analysis import Analysis
from ..at_one_party import Spec
from ..histogram import bin_counts


@dataclass(frozen=True, eq=False)
class Release:
    """One analysis of one party's rows.

    ``run`` is what people call it and ``hash`` what tells it from others; ``columns`` are those of the table;
    ``cells`` are this party's counts, of which sums are shown.
    """

    run: str
    hash: str
    type: str
    columns: tuple[str, ...]
    rows: int
    parameters: int
    cells: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, run: str, hash: str, spec: Spec | Analysis, columns: tuple[str, ...], rows: Rows) -> Release:
        """Of a statistic or an analysis, on rows that are checked."""
        if isinstance(spec, Analysis):
            cells, parameters = spec.cells(rows), spec.parameters
        else:
            histogram = spec.type == "histogram"
            cells = bin_counts(rows, np.array(spec.bins)) if histogram else np.empty(0, np.int64)
            parameters = _parameters(spec)
        return cls(run, hash, spec.type, columns, len(rows), parameters, cells)


def _parameters(spec: Spec) -> int:
    """How many numbers are estimated."""
    d = len(spec.columns)
    of = {"mean": d, "variance": d, "covariance": d * (d + 1) // 2, "least_squares": d - 1 + spec.intercept}
    return of.get(spec.type, 1)
