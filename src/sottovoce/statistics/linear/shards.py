"""Reading rows that all parties hold as arrays or frames, and what is fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from ...data.rows import Rows
from ...network import Network
from ...pdmm.masks import GaussianMask
from ..agreements import check_mask
from ..shards import Shards, column_names, read_regression, read_scale
from .equation import Equation

Scale = npt.ArrayLike | Mapping[str, float] | None


def read_equation(
    network: Network,
    shards: Shards,
    target: str | None,
    weights: Shards | None,
    intercept: bool,
    names: Sequence[str] | None,
    scale: Scale,
    mask: GaussianMask,
) -> tuple[list[Rows], Equation]:
    """Rows of all parties, and what is fitted to them."""
    rows, d, found, target = read_regression(network, shards, weights, target)
    columns = column_names(found, names, d)
    check_mask(mask, GaussianMask)
    all_names = (*columns, target or ("y" if "y" not in columns else "target"))
    unit = read_scale(scale, all_names, "column of X and one for the target")
    weight = None if weights is None else d + 1
    return rows, Equation(all_names, unit, mask, weight=weight, intercept=bool(intercept))
