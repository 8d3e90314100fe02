"""Local noise: a party adds it to its own numbers, once, before anything else (theory: Below the floor).

Pads cancel in the answer, which stays exact, and so the answer gives away what it does (the floor). Noise on the data
themselves does not cancel: the answer is off by its mean, ``variance/n``, and what is learned of a party falls below
the floor. With pads on the edges the view of a coalition is ``S + N(0, (sigma^2/8) L_h + variance I)`` for averages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..costs import Averaging, Quadratic
from ..costs.base import Array
from ..errors import InvalidInput, Unsupported, is_number
from ..numerics.grid import lattice, on_grid
from .masks import GaussianMask
from .problem import Problem


@dataclass(frozen=True)
class LocalNoise:
    """``N(0, variance)`` on every number of every party, drawn once: ``solve(problem, mask=..., noise=LocalNoise(1))``.

    It makes the answer noisy, of variance ``variance/n`` for averages: the price of differential privacy. A mask hides
    the data at no such price, but not what the exact answer tells.

    Parameters
    ----------
    variance : float
        Of the noise on a number ``s_i``.

    Raises
    ------
    InvalidInput
        Where the variance is not a positive number.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, mask=sv.GaussianMask(1e6), noise=sv.LocalNoise(variance=0.01), seed=0)
    >>> result.converged, 0.001 < float(abs(result.x - 3).max()) < 0.2
    (True, True)
    """

    variance: float

    def __post_init__(self) -> None:
        if not (is_number(self.variance) and math.isfinite(self.variance) and self.variance > 0):
            raise InvalidInput(
                f"variance of the noise must be a positive number; got {self.variance!r}. Leave noise out for an exact "
                "answer."
            )
        object.__setattr__(self, "variance", float(self.variance))

    @property
    def grid(self) -> float:
        """Noise and noisy numbers are multiples of it (of quadratic costs: of it times the size of ``Q_i``): low bits
        tell nothing."""
        return GaussianMask(self.variance).grid

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Array:
        """Noise of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        mask = GaussianMask(self.variance)
        if seed is None:
            return mask.draw(shape)
        # A stream of its own: schedule and pads use the same seed.
        return on_grid(mask.sigma * np.random.default_rng([seed, 3]).standard_normal(shape), self.grid)

    def check(self, problem: Problem) -> None:
        """Refuse costs whose data are no such vectors."""
        if problem.quadratic is None:
            raise Unsupported(
                f"local noise is for quadratic costs, whose data are one vector s_i per node; got {problem!r}."
            )

    def on(self, problem: Problem, seed: int | None = None) -> Problem:
        """The problem that is solved instead: ``s_i + noise`` for ``s_i = -Q_i^{-1} q_i``."""
        self.check(problem)
        n, d = problem.network.n, problem.dim
        eta = self.draw((n, d), seed)
        groups: list[tuple[npt.NDArray[np.intp], Averaging | Quadratic]] = []
        for nodes, cost in problem.groups:
            if type(cost) is Averaging:
                s = on_grid(cost.s, self.grid) + eta[nodes]
                groups.append((nodes, Averaging.many(s.reshape(len(s), *cost.shape))))  # a number stays a number
                continue
            form = cost.quadratic
            assert form is not None
            Q = form.Q[:, None, None] * np.eye(d) if form.Q.ndim == 1 else form.Q
            # Q eta lies on no grid of its own: both are rounded to one, or the last bits of q would show.
            steps = lattice(self.grid, np.abs(Q).sum(axis=2).max(axis=1))[:, None]
            q = on_grid(form.q, steps) - on_grid(np.einsum("ijk,ik->ij", Q, eta[nodes]), steps)
            groups.append((nodes, Quadratic.trusted(cost.shape, form.Q, q)))
        noisy = Problem(problem.network, groups[0][1]) if len(groups) == 1 else _together(problem, groups)
        noisy.variables = problem.variables
        return noisy


def _together(problem: Problem, groups: list[tuple[npt.NDArray[np.intp], Averaging | Quadratic]]) -> Problem:
    costs = {int(i): cost.take(slice(k, k + 1)) for nodes, cost in groups for k, i in enumerate(nodes)}
    return Problem(problem.network, [costs[i] for i in range(problem.network.n)])
