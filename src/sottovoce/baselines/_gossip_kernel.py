"""The exchanges of ``Gossip``, compiled. ``average.py_func`` is the same in Python."""
# mypy: disable-error-code="no-untyped-call,misc,untyped-decorator"

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ..costs.base import Array

Nodes = npt.NDArray[np.int64]


@njit(cache=True)
def average(x: Array, i: Nodes, j: Nodes) -> None:
    """One exchange after the other, nodes ``i[t]`` and ``j[t]`` both take their mean."""
    for t in range(len(i)):
        for a in range(x.shape[1]):
            mean = 0.5 * (x[i[t], a] + x[j[t], a])
            x[i[t], a] = mean
            x[j[t], a] = mean
