"""How a compiled kernel is called: node by node, so that a batch and a single node give the same bits."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Array, Cost, UnverifiedStep


def step_by_kernel(
    kernel: Callable[..., int],
    cost: Cost,
    g: Array,
    rho: Array,
    parameters: tuple[npt.NDArray[Any], ...],
    cure: str,
    start: Array | None = None,
) -> Array:
    """Step every node of every leading entry of ``g``; a step that is not verified is an error, not an answer.

    A kernel that searches finds ``start`` in ``x``, which it overwrites. A node whose ``g`` is not finite steps to NaN,
    as a closed form would, so that a run that diverges says so.
    """
    flat = np.ascontiguousarray(g, dtype=np.float64).reshape(prod(g.shape[:-2]), cost.count, cost.dim)
    x = np.empty_like(flat) if start is None else np.array(start, dtype=np.float64, order="C").reshape(flat.shape)
    # One memory layout, and so one compiled variant, whatever slice the caller holds.
    failed = kernel(flat, *map(np.ascontiguousarray, (rho, *parameters)), x)
    if failed >= 0:
        batch, node = divmod(failed, cost.count)
        raise UnverifiedStep(cost, node, float(rho[node]), flat[batch, node], cure)
    return x.reshape(g.shape)
