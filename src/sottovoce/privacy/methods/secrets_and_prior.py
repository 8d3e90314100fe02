"""What is to be protected: the secrets ``s_i`` behind quadratic costs ``f_i(x) = x'Q_i x/2 - (Q_i s_i)'x``, and their
prior. The Hessians ``Q_i`` count as public: traffic shows them (theory: Public gradients); only ``q_i = -Q_i s_i`` is
masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...costs.base import Array
from ...costs.quadratic import Quadratic
from ...errors import InvalidInput, Unsupported
from ...network.names import in_order
from ...pdmm.problem import Problem
from .behind_noise import BehindNoise, behind

CONTRAST = 1e5  # between curvatures: what an answer leaves of a variance falls as its inverse square
SPREAD = 1e20  # between variances of independent secrets: up to there leaks are right to 1e-8 nats
SIZES = 1e-100, 1e100  # of a variance: outside, squares leave the range of float64
LARGER = 4  # times the variance of a prior: data of a larger mean square do not look like it


@dataclass(frozen=True, eq=False)
class Secrets:
    """``S ~ N(., K)``, and ``Y = Q S`` is what pads hide.

    Entries of a vector secret that neither ``Q`` nor the prior couples are independent problems: then ``width`` is 1,
    and what is computed for one entry counts ``copies`` times. With local noise ``S`` and ``K`` are those of the noisy
    numbers, which are all that a run is given, and ``noise`` leads back to the secrets.
    """

    problem: Problem  # of ``width`` entries per node
    Q: Array  # (n,), or (n, width, width)
    K: Array  # (n,) variances of independent secrets, or the covariance (n width, n width)
    copies: int
    noise: BehindNoise | None = None

    @property
    def n(self) -> int:
        return self.problem.network.n

    @property
    def width(self) -> int:
        return self.problem.dim

    @property
    def variances(self) -> Array:
        """Of every number of the secrets, before any noise."""
        if self.noise is not None:
            return np.diagonal(self.noise.K, axis1=1, axis2=2).ravel()
        return self.K if self.K.ndim == 1 else np.diag(self.K)

    def with_noise(self, variance: float) -> Secrets:
        """The same behind local noise of this variance on every number."""
        more = variance if self.K.ndim == 1 else variance * np.eye(len(self.K))
        return replace(self, K=self.K + more, noise=behind(self.K, self.width, variance))

    def covariance(self) -> Array:
        """``K`` as a matrix."""
        return np.diag(self.K) if self.K.ndim == 1 else self.K

    def hessian(self, nodes: npt.NDArray[np.int64]) -> sparse.csr_array[Any]:
        """``blockdiag(Q_i)`` over some of the nodes."""
        if self.Q.ndim == 1:
            return sparse.csr_array(sparse.diags_array(self.Q[nodes]))
        if not len(nodes):
            return sparse.csr_array((0, 0))
        return sparse.csr_array(sparse.block_diag([self.Q[i] for i in nodes]))


def entries(places: npt.ArrayLike, width: int) -> npt.NDArray[np.int64]:
    """The positions of some nodes' entries where every node has ``width`` of them."""
    return (np.asarray(places, dtype=np.int64)[:, None] * width + np.arange(width)).ravel()


@dataclass(frozen=True, eq=False)
class Prior:
    """What is assumed of the secrets, where that came from, and the squares of the data that the problem holds."""

    value: npt.ArrayLike
    told: str
    squares: Array  # (n, d), or empty

    def flag(self, variances: Array) -> dict[str, str]:
        """A prior that was given, and that the data contradict: each number against its own variance."""
        if not self.squares.size:
            return {}
        variances = np.broadcast_to(variances.reshape(len(self.squares), -1), self.squares.shape)
        times = (self.squares / variances).mean(axis=0)
        k = int(np.argmax(times))
        if times[k] <= LARGER:
            return {}
        return {
            "prior": f"THE DATA ARE LARGER than the prior says: their mean square is {self.squares[:, k].mean():.3g}, "
            f"{times[k]:.3g} times its variance, and leakage grows with it. Leave prior out to have it taken from the "
            "data; if their common level is public, subtract it from them."
        }


GIVEN = Prior(1.0, "as given", np.zeros((0, 0)))


def prior_of(problem: Problem, prior: npt.ArrayLike | Mapping[Any, float] | None) -> Prior:
    """As given; or the mean square of the data about 0, in the entry where it is largest, which is no less than their
    variance; or 1 where there are none (all zero)."""
    squares = squares_of(problem)
    if isinstance(prior, Mapping):
        prior = in_order(problem.network, prior, "prior")
    if prior is not None:
        return Prior(prior, "as given", squares)
    if squares.any():
        _sized(mean := squares.mean(axis=0).max())
        return Prior(float(mean), "taken from the data (their mean square)", squares)
    return Prior(1.0, "assumed, as there are no data to take it from", squares)


def squares_of(problem: Problem) -> Array:
    """Of ``s_i = -Q_i^{-1} q_i``, ``(n, d)``; empty where there is no such secret."""
    form, none = problem.quadratic, np.zeros((0, 0))
    if form is None:
        return none
    if form.Q.ndim == 1:
        s = form.q / np.where(form.Q > 0, form.Q, np.inf)[:, None]
    elif (np.linalg.eigvalsh(form.Q)[:, 0] > 0).all():
        s = np.asarray(np.linalg.solve(form.Q, form.q[:, :, None])[:, :, 0], dtype=np.float64)
    else:
        return none
    with np.errstate(over="ignore"):  # a prior that is infinite is refused
        return np.asarray(s**2)


def secrets_of(problem: Problem, prior: npt.ArrayLike = 1.0) -> Secrets:
    """The secrets of a problem with quadratic costs; ``prior`` is a variance, one per node, or a covariance.

    A covariance is ``(n, n)``, the same for every entry of ``x``, or ``(n d, n d)`` in the order of the nodes.
    """
    if not problem.consensus:
        raise Unsupported("the auditor covers consensus problems; this network has general edge constraints.")
    form, n, d = problem.quadratic, problem.network.n, problem.dim
    if form is None:
        raise Unsupported(f"exact leakage exists for quadratic costs only; got {problem!r}.")
    K = _covariance(prior, n, d)
    smallest = form.Q if form.Q.ndim == 1 else np.linalg.eigvalsh(form.Q)[:, 0]
    if (smallest <= 0).any():
        i = int(np.argmin(smallest))
        raise Unsupported(
            f"node {problem.network.name(i)}: its quadratic form is singular, so its linear term does not stand for a "
            "secret s. Add a ridge."
        )
    largest = form.Q if form.Q.ndim == 1 else np.linalg.eigvalsh(form.Q)[:, -1]
    if largest.max() > CONTRAST * smallest.min():
        raise Unsupported(
            f"curvatures from {smallest.min():.3g} to {largest.max():.3g}: one node dominates the sum so much that "
            "float64 cannot tell what is left of the others. Bring the costs to one scale."
        )
    if K.ndim == 1 and K.max() > SPREAD * K.min():
        raise Unsupported(
            f"variances from {K.min():.3g} to {K.max():.3g} are more than {SPREAD:.0e} apart: float64 cannot tell what "
            "is left of the small ones. Bring the secrets to one scale."
        )
    if form.Q.ndim == 1 and len(K) == n:
        return Secrets(Problem(problem.network, Quadratic.many(form.Q, np.zeros((n, 1)))), form.Q, K, d)
    Q = form.Q if form.Q.ndim == 3 else form.Q[:, None, None] * np.eye(d)
    full = np.asarray(np.kron(np.diag(K) if K.ndim == 1 else K, np.eye(d)), dtype=np.float64) if len(K) == n else K
    return Secrets(Problem(problem.network, Quadratic.many(Q, np.zeros((n, d)))), Q, full, 1)


def _covariance(prior: npt.ArrayLike, n: int, d: int) -> Array:
    try:
        K = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"prior must be a variance, one per node, or a covariance; got {prior!r:.80}.") from None
    shapes = f"a number, ({n},), ({n}, {n})" + (f" or ({n * d}, {n * d})" if d > 1 else "")
    if K.shape not in ((), (n,), (n, n), (n * d, n * d)):
        raise InvalidInput(f"prior must have the shape {shapes}; got {K.shape}.")
    if not np.isfinite(K).all():
        raise InvalidInput("prior must be finite.")
    if K.ndim < 2:
        if not (K > 0).all():
            raise InvalidInput(f"variances of the prior must be positive; got {K.min():g}.")
        _sized(K)
        return np.full(n, float(K)) if K.ndim == 0 else K
    _sized(np.abs(np.diag(K)))
    scale = np.abs(np.diag(K)).max()
    if np.abs(K - K.T).max() > 1e-12 * scale or np.linalg.eigvalsh(K)[0] <= 1e-12 * scale:
        raise InvalidInput("a prior covariance must be symmetric and positive definite.")
    return np.asarray((K + K.T) / 2)


def _sized(variances: Array) -> None:
    low, high = SIZES
    for variance in (variances.min(), variances.max()):
        if not low <= variance <= high:
            raise InvalidInput(
                f"a prior of variance {variance:.3g} is beyond float64, which takes {low:g} to {high:g}. Bring the "
                "data, from whose mean square it is taken unless you give it, to size 1."
            )
