"""Counts per bin, exact and without excess: integers under a ``ModularMask``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, as_floats
from ..data.rows import Rows
from ..errors import InvalidCost, InvalidInput, NotConverged
from ..network import Network
from ..pdmm.modular_mask import Integers, ModularMask
from ..pdmm.overlay import AskedOverlay
from ..pdmm.schedules import Schedule
from .agreements import Agreements, SimulatedAgreements, Simulation, check_mask
from .shards import Shards, read_rows
from .statistic import Statistic, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_MASK = ModularMask()


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Statistic):
    """What ``private_histogram`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    edges : ndarray
        Of the bins.
    counts : ndarray of int
        ``counts[k]`` values lie in ``edges[k] <= x < edges[k+1]``; the last bin has both its edges.
    below, above : int
        How many lie outside.
    name : str
        Of the variable: that of a series or a column of frames, else ``x``.
    levels : tuple of str
        Of a category, where the variable is one: ``counts[k]`` are of ``levels[k]``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_histogram(sv.Network.ring(3), [[1.0, 2.5], [0.5], [7.0]], bins=[0, 2, 4])
    >>> result.edges.tolist(), result.observations
    ([0.0, 2.0, 4.0], 4)
    """

    edges: Value[Array] = Value()
    counts: Value[Integers] = Value()
    below: Value[int] = Value()
    above: Value[int] = Value()
    name: Value[str] = Value()
    levels: tuple[str, ...] = ()

    @property
    def observations(self) -> int:
        """All values, in the bins or not."""
        return int(self.counts.sum()) + self.below + self.above

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        told = super().to_dict()
        if not self.levels:
            del told["levels"]
        return told

    def _columns(self) -> dict[str, list[Any]]:
        if self.levels:
            return {"level": list(self.levels), "count": self.counts.tolist()}
        edges = [-np.inf, *self.edges.tolist(), np.inf]
        return {"from": edges[:-1], "to": edges[1:], "count": [self.below, *self.counts.tolist(), self.above]}

    def _facts(self) -> str:
        of = f"{len(self.counts)} {'levels' if self.levels else 'bins'}"
        return f"{self.name}: {self.observations} observations of {self.parties} parties in {of}"

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_histogram, plot_rows

        if self.levels:
            return plot_rows(path, self.levels, self.counts.astype(np.float64), None, self._facts(), "count")
        return plot_histogram(path, self.edges, self.counts.tolist(), (self.below, self.above), self.name)


def private_histogram(
    network: Network,
    shards: Shards,
    *,
    bins: npt.ArrayLike,
    mask: ModularMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> Histogram:
    """How many values of all parties fall into each bin, exactly.

    Revealed, of each honest component: its own histogram. A component of one party shows that party's counts, and small
    counts may point to persons.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence, or mapping
        A number, a vector or a series per party, in the order of the nodes or by their names.
    bins : sequence of float
        The edges, public and agreed on before: the range of the pooled data is not known to anybody. Values outside are
        counted in ``below`` and ``above``.
    mask : ModularMask
        Hides integers exactly.
    overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of the run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    Histogram

    Raises
    ------
    InvalidInput
        Bins that do not increase, or shards of more than one variable.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_histogram(sv.Network.ring(3), [[1.0, 2.5], [0.5], [7.0]], bins=[0, 2, 4])
    >>> result.counts.tolist(), result.below, result.above
    ([2, 1], 0, 1)
    """
    rows, shape, names = read_rows(network, shards)
    if shape not in ((), (1,)):
        raise InvalidInput(
            f"private_histogram counts one variable; got rows of {shape[0]} columns. Call it once for each."
        )
    edges = read_bins(bins)
    check_mask(mask, ModularMask)
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return histogram_program(agreements, rows, edges, mask, names[0])


def histogram_program(
    agreements: Agreements,
    rows: Sequence[Rows],
    edges: Array,
    mask: ModularMask,
    name: str,
    levels: tuple[str, ...] = (),
) -> Histogram:
    """``private_histogram`` as the local parties run it, on the ``rows`` of each."""
    try:
        total = agreements.total(np.array([bin_counts(part, edges) for part in rows]), mask, of="rows in each bin")
    except NotConverged:
        return Histogram(*agreements.made)
    return Histogram(*agreements.made, edges, total[1:-1], int(total[0]), int(total[-1]), name, levels)


def bin_counts(rows: Rows, edges: Array) -> Integers:
    """How many values lie below, in each bin, and above."""

    def of_block(x: Array) -> Array:  # whole numbers, whose sums are exact
        return np.array([[(x < edges[0]).sum(), *np.histogram(x, edges)[0], (x > edges[-1]).sum()]], dtype=np.float64)

    return np.rint(rows.sums(of_block)).astype(np.int64)


def read_bins(bins: npt.ArrayLike) -> Array:
    """The edges of bins."""
    try:
        edges = as_floats(bins, "bins")
    except InvalidCost:
        edges = np.empty(0)
    if edges.ndim != 1 or len(edges) < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidInput(
            f"bins must be two or more finite edges in increasing order; got {bins!r}. A number of bins would need the "
            "range of the pooled data, which nobody knows."
        )
    return edges
