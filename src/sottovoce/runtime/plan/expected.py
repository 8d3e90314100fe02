"""What the ranges of a schema tell of the values that parties bring, before anybody has read any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.formula import Formula
from ...data.prior import prior_of
from ...data.sizes import sizes
from ...statistics.of_tables import Asked

ROOM = 2.0  # for what a formula makes of columns, whose size is looked at in some places of the ranges


@dataclass(frozen=True)
class Expected:
    """In units of ``scale``, of all columns: ``largest`` is what no root mean square exceeds, and ``prior`` the mean
    square of a value, if all that the ranges allow are as likely."""

    largest: float
    prior: float


def from_ranges(asked: Asked) -> Expected | None:
    """What the ranges tell; None where a column has none."""
    if asked.spec.counts_only:
        return None  # which counts, and has no scale
    if asked.formula and "offset(" in Formula(asked.formula).canonical:
        return None  # which the target is less, whatever its own range is
    known, units = sizes(asked.selection, asked.schema), np.broadcast_to(asked.spec.scale, len(asked.spec.columns))
    prior = prior_of(asked.selection, asked.schema, units.tolist())
    if prior is None or not known.keys() >= set(asked.spec.columns):
        return None
    named = zip(asked.spec.columns, units.tolist(), strict=True)
    largest = max(known[name] / unit * (1.0 if name in asked.schema else ROOM) for name, unit in named)
    return Expected(_rounded_up(largest), float(f"{prior:.3g}"))


def _rounded_up(size: float) -> float:
    """To three digits."""
    rounded = float(f"{size:.3g}")
    return rounded if rounded >= size else float(f"{size * 1.01:.3g}")
