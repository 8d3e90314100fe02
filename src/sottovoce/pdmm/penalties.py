"""The penalty ``c``: one number for all edges, or one per edge (theory: Fewer messages).

With a ``c_ij = c_ji`` per edge eqs. 2 and 3 read ``(c_ij/2) ||A_ij x_i - b_ij/2||^2`` summed over the neighbours, and
``y_{j|i} = z_{i|j} + c_ij (2 A_ij x_i - b_ij)``. Any positive numbers converge to the same optimum.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, is_number
from ..network import Network
from ..numerics.unquoted import not_numbers

Penalty = float | npt.NDArray[np.float64]  # one for all, or (m,) in the order of ``network.edges``
AskedPenalty = float | npt.ArrayLike | Literal["auto"]


def is_auto(c: Any) -> bool:
    """Whether it is left to the tuning."""
    return isinstance(c, str) and c == "auto"


def checked_penalty(c: Any, network: Network) -> Penalty:
    """A positive number, or one per edge of ``network``; or a sentence."""
    most = sys.float_info.max / (2 * float(network.degrees.max(initial=1)))  # beyond, penalties overflow
    if is_number(c):
        if 0 < c <= most:
            return float(c)
        raise InvalidInput(
            f"c must be a positive number or 'auto'; got {c!r:.80}{', which overflows' if c > 0 else ''}."
        )
    try:
        array = np.asarray(c)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    flags = isinstance(c, list | tuple) and any(isinstance(entry, bool) for entry in c)
    if array.dtype.kind not in "iuf" or array.ndim != 1 or flags:
        told = f"got {c!r:.80}" if array.ndim == 0 else f"got an array of shape {array.shape}"
        if array.ndim == 1:
            told = "True and False are none" if flags else not_numbers(c)
        raise InvalidInput(f"c must be a positive number, 'auto', or one number per edge; {told}.")
    if len(array) != network.m:
        raise InvalidInput(
            f"c has {len(array)} numbers, and messages go over {network.m} edges: give one number, or one per edge, in "
            "the order of network.edges (of the overlay, where there is one)."
        )
    for edge in np.flatnonzero(~((array <= most) & (array > 0))):
        i, j = network.edges[edge]
        raise InvalidInput(
            f"c of the edge ({network.name(i)}, {network.name(j)}) must be a positive number; got {array[edge]}."
        )
    return array.astype(np.float64)


def by_half_edge(c: npt.NDArray[np.float64], network: Network) -> npt.NDArray[np.float64]:
    """``(2m,)``, in the order of ``network.half_edges``."""
    found = np.empty(2 * network.m)
    own = network.holders < network.indices
    found[own] = c
    found[network.twin[own]] = c
    return found


def of_nodes(c: Penalty, network: Network) -> npt.NDArray[np.float64]:
    """``sum_j c_ij``, ``(n,)``: ``c d_i`` for a single number."""
    if isinstance(c, np.ndarray):
        sums: npt.NDArray[np.float64] = np.zeros(network.n)
        np.add.at(sums, network.holders, by_half_edge(c, network))  # in the order of the neighbours, as a node does
        return sums
    return c * network.degrees.astype(np.float64)


def squares(c: Penalty, network: Network, chosen: npt.NDArray[np.bool_] | None = None) -> float:
    """``sum c_ij^2`` over the edges, or over the chosen ones: ``c^2 m`` for a single number."""
    if isinstance(c, np.ndarray):
        return float(((c if chosen is None else c[chosen]) ** 2).sum())
    return float(c**2 * (network.m if chosen is None else int(chosen.sum())))


def shown(c: Penalty) -> str:
    """For a table or a sentence."""
    if isinstance(c, np.ndarray):
        return f"{c.min():.4g}" if c.min() == c.max() else f"{c.min():.4g} to {c.max():.4g} by edge"
    return f"{c:.4g}"
