"""Reading rows that all parties hold as arrays or frames, and what is fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from ...data.rows import Rows
from ...errors import InvalidInput
from ...network import Network
from ...pdmm.masks import GaussianMask
from ..agreements import check_mask
from ..shards import Shards, read_regression, read_scale
from .equation import INTERCEPT, Equation

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
    if found is not None and names is not None and tuple(names) != found:
        raise InvalidInput(f"names must be those of the frames, {', '.join(found)}, or left out; got {names!r}.")
    columns = tuple(found or names or (f"x{k}" for k in range(d)))
    if len(columns) != d or len(set(columns)) != d or not all(isinstance(name, str) for name in columns):
        raise InvalidInput(f"names must be {d} different strings, one per column of X; got {names!r}.")
    if INTERCEPT in columns:
        raise InvalidInput(f"a column is called {INTERCEPT!r}, as that of the fit is. Rename it.")
    check_mask(mask, GaussianMask)
    all_names = (*columns, target or ("y" if "y" not in columns else "target"))
    unit = read_scale(scale, all_names, "column of X and one for the target")
    weight = None if weights is None else d + 1
    return rows, Equation(all_names, unit, mask, weight=weight, intercept=bool(intercept))
