"""Problems that many have: a mean, a regression, a classifier; from arrays or frames, by number or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from ..costs import Averaging, LeastSquares
from ..errors import Unsupported
from ..network import Network
from .problem import Problem
from .shards import read_numbers, read_pairs
from .unit import read_units, say_rounded, whole_multiples

Shards = Sequence[Any] | Mapping[Any, Any]


def averaging(
    network: Network, s: npt.ArrayLike | Mapping[Any, Any], *, unit: float | Sequence[float] | None = None
) -> Problem:
    """Agree on the mean of ``s``: ``f_i(x) = ||x - s_i||^2``.

    Parameters
    ----------
    network : Network
        Who talks to whom.
    s : array_like, frame, or mapping
        A number or a vector per node, ``(n,)`` or ``(n, d)``, in the order of the nodes; or by the nodes' names. Frames
        of one row each are vectors whose entries are matched by name. The index of a pandas series is not looked at:
        by names is ``series.to_dict()``.
    unit : float or sequence of float, optional
        The smallest step in which numbers were measured, such as 0.1, for all columns or one for each; public. Numbers
        are rounded to whole multiples of it, and a masked run discloses the sum of these integers. Without it the last
        bits of the answer tell how the numbers were rounded to the mask's grid, on which decimals do not lie.

    Returns
    -------
    Problem

    Raises
    ------
    InvalidInput
        Where ``s`` is not that, or ``unit`` no positive number, or too small for float64 to hold the integers.
    Unsupported
        A unit, where the network has general edge constraints.

    Warns
    -----
    PrecisionLost
        Where numbers are no multiples of the unit.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]))
    >>> [round(float(x), 6) for x in result.x]
    [3.0, 3.0, 3.0, 3.0]
    >>> prices = sv.averaging(sv.Network.ring(4), [1.99, 2.49, 0.35, 4.05], unit=0.01)
    >>> result = sv.solve(prices, mask=sv.GaussianMask(variance=1e6))
    >>> [round(float(x), 6) for x in result.x]
    [2.22, 2.22, 2.22, 2.22]
    """
    numbers, names = read_numbers(network, s)
    problem = Problem(network, Averaging.many(numbers))
    return _named(problem if unit is None else in_units(problem, unit), names)


def least_squares(network: Network, shards: Shards, ridge: float = 0.0, *, target: str | None = None) -> Problem:
    """Agree on the regression of pooled rows: ``minimise sum_i ||A_i x - b_i||^2 + ridge ||x||^2``.

    Parameters
    ----------
    network : Network
        Who talks to whom.
    shards : sequence of pairs, or mapping
        ``(A_i, b_i)`` per node: rows ``(rows, d)``, and what they should give, ``(rows,)``.
        In the order of the nodes, or by their names. The columns of frames are matched by name.
    ridge : float
        In all; each node has an equal share of it.
    target : str, optional
        Shards are frames, and this one of their columns is what the others explain.

    Returns
    -------
    Problem

    Raises
    ------
    InvalidInput
        Where a shard is not that.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[1, 0], [1, 1]], [1, 3]), ([[1, 2]], [5]), ([[1, 3]], [7])]
    >>> result = sv.solve(sv.least_squares(sv.Network.ring(3), shards))
    >>> [round(float(x), 6) for x in result.x[0]]
    [1.0, 2.0]
    """
    read = read_pairs(network, shards, target)
    return _named(Problem(network, [LeastSquares(A, b, ridge / network.n) for A, b in read.pairs]), read.names)


def logistic(network: Network, shards: Shards, ridge: float = 1.0, *, target: str | None = None) -> Problem:
    """Agree on the logistic regression of pooled rows, with ``ridge ||x||^2``.

    Parameters
    ----------
    network : Network
        Who talks to whom.
    shards : sequence of pairs, or mapping
        ``(A_i, labels_i)`` per node: rows ``(rows, d)``, and 0 or 1 (or -1 and 1) for each.
        In the order of the nodes, or by their names. The columns of frames are matched by name.
    ridge : float
        In all; each node has an equal share of it.
    target : str, optional
        Shards are frames, and this one of their columns is what the others explain.

    Returns
    -------
    Problem

    Raises
    ------
    InvalidInput
        Where a shard is not that.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[1, 0.0], [1, 1.0]], [0, 1]), ([[1, 2.0]], [1]), ([[1, -1.0]], [0])]
    >>> sv.solve(sv.logistic(sv.Network.ring(3), shards)).status.value
    'converged'
    """
    from ..costs import Logistic

    read = read_pairs(network, shards, target)
    return _named(Problem(network, [Logistic(A, labels, ridge / network.n) for A, labels in read.pairs]), read.names)


def in_units(problem: Problem, unit: Any) -> Problem:
    """An averaging problem whose numbers are rounded to whole multiples of public units, with a word on how many."""
    ((_, cost),) = problem.groups
    assert isinstance(cost, Averaging)
    if not problem.consensus:
        raise Unsupported("unit is for networks on which every edge says x_i = x_j. Leave it out.")
    values, common, rounded = whole_multiples(cost.s, read_units(unit, problem.dim))
    say_rounded(rounded, values.size, stacklevel=3)
    counted = Problem(problem.network, Averaging.many(values.reshape(len(values), *cost.shape)))
    counted.unit = common
    return counted


def _named(problem: Problem, names: tuple[str, ...] | None) -> Problem:
    problem.variables = names
    return problem
