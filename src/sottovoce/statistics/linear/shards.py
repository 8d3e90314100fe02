"""Reading rows that all parties hold as arrays or frames, and what is fitted to them."""

from __future__ import annotations

from collections.abc import Sequence

from ...data.rows import Rows
from ...network import Network
from ..shards import Shards, column_names, read_regression
from .equation import Equation


def read_equation(
    network: Network,
    shards: Shards,
    target: str | None,
    weights: Shards | None,
    intercept: bool,
    names: Sequence[str] | None,
) -> tuple[list[Rows], Equation]:
    """Rows of all parties, and what is fitted to them."""
    rows, d, found, target = read_regression(network, shards, weights, target)
    columns = column_names(found, names, d)
    all_names = (*columns, target or ("y" if "y" not in columns else "target"))
    weight = None if weights is None else d + 1
    declared = (None,) * rows[0].width
    return rows, Equation(all_names, declared, weight=weight, intercept=bool(intercept))
