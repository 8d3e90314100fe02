"""Attacks of a pure eavesdropper on open channels: what pads do not hide, shown by taking it
(theory: Public gradients). ``edge_attack``, ``kink_attack`` and ``row_attack`` have more, some over encrypted channels.

An auditor bounds leakage where everything is linear and Gaussian. Elsewhere an explicit attack answers, and what it
recovers is disclosed whatever the variance of the pads: every Hessian of a regression (``regression_attack``), every
gradient up to a constant (``gradient_attack``), and the change of the data where pads are used twice
(``pad_reuse_attack``). Attackers use transcripts only; ``errors`` compares with the truth, which a simulation knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...pdmm.masks import Mask
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from ...pdmm.settings import positive_integer
from .recorded_transcript import (
    EPS,
    C,
    Differences,
    RecordedTranscript,
    gradient_differences,
    gradient_moves,
    moves,
    overhear,
)

WAKES = 4  # times as many wakes as determine a Hessian: a short walk of x can be nearly flat
DIGITS = 1e3  # a direction in which x moved by less than this many roundings is not determined
SAME = 1e-9  # difference, as a share of the curvature of a step, below which two recovered Hessians are one


@dataclass(frozen=True, eq=False)
class RecoveredHessians:
    """``Q_i`` of every node. Made by ``regression_attack``, ``edge_attack`` and ``recover_hessians``.

    Attributes
    ----------
    matrices : ndarray
        ``(n, d, d)``, ``nan`` where the wakes of a node do not determine its own.
    residuals : ndarray
        What the attacker sees of its own error: ``||dgrad - Q_i dx|| / ||dgrad||``, at rounding if the cost is
        quadratic, and not if it is not.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> found = sv.privacy.research.regression_attack(problem, mask=sv.GaussianMask(1e8), seed=1, c=0.5)
    >>> found.matrices.shape
    (4, 1, 1)
    """

    matrices: Array
    residuals: Array

    def grams(self, ridge: float = 0.0) -> Array:
        """``A_i'A_i = Q_i/2 - (ridge/n) I`` of ``sv.least_squares(network, shards, ridge)``; the ridge is public."""
        n, d = self.matrices.shape[:2]
        return np.asarray(self.matrices / 2 - (ridge / n) * np.eye(d))

    def errors(self, problem: Problem) -> Array:
        """``||recovered - Q_i|| / ||Q_i||`` of every node (Frobenius)."""
        Q, _ = quadratic_terms(problem)
        return relative(np.linalg.norm(self.matrices - Q, axis=(1, 2)), np.linalg.norm(Q, axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class RecoveredGradients:
    """Pairs ``(dx, dgrad f_i)`` of every node, at its later wakes against its first one. Made by ``gradient_attack``.

    Attributes
    ----------
    differences : tuple of Differences
        Of each node: ``x`` and ``gradient``, ``(wakes - 1, d)``.
    errors : ndarray
        Against the cost itself: given the constants of the first wake, how far a pair is from optimality in a step
        other than the run's own, ``rho (x - step(-(grad + rho x), rho))``, the largest of a node in the unit of its
        gradient.
    ranges : ndarray
        The largest gradient difference of each node, in that unit.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> found = sv.privacy.research.gradient_attack(problem, mask=sv.GaussianMask(9.0), seed=1, c=0.5)
    >>> found.ranges.shape
    (4,)
    """

    differences: tuple[Differences, ...]
    errors: Array
    ranges: Array

    @property
    def points(self) -> npt.NDArray[np.int64]:
        """At how many different ``x`` each gradient map is known, the first one included."""
        return np.array([1 + len(np.unique(x[x.any(axis=1)], axis=0)) for x, _ in self.differences])

    @property
    def telling(self) -> int:
        """The node whose gradient was seen to change most: one that wakes often may have seen nothing new."""
        return int(np.lexsort((self.points, self.ranges))[-1])

    def sentence(self, i: int | None = None, name: Callable[[int], str] = str) -> str:
        """What is known of node number ``i``, by default the most telling one, in words; ``name`` says who it is."""
        i = self.telling if i is None else i
        return (
            f"The gradient map of node {name(i)} is known up to a constant at {self.points[i]} points (up to a shift), "
            f"to error {self.errors[i]:.1e} in differences up to {self.ranges[i]:.1e}."
        )


@dataclass(frozen=True, eq=False)
class RecoveredChanges:
    """The change of every node's data. Made by ``pad_reuse_attack`` and ``changes_between``.

    Attributes
    ----------
    q : ndarray
        ``q_after - q_before``, ``(n, d)``; ``nan`` where a Hessian changed too, or is not determined.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> found = sv.privacy.research.pad_reuse_attack(problem, problem, mask=sv.GaussianMask(9.0), seed=1, c=0.5)
    >>> bool(abs(found.q).max() < 1e-9)
    True
    """

    q: Array

    def errors(self, before: Problem, after: Problem) -> Array:
        """The largest error of each node, in the unit of ``q``."""
        change = quadratic_terms(after)[1] - quadratic_terms(before)[1]
        return np.asarray(np.abs(self.q - change).max(axis=1))


def recover_hessians(transcript: RecordedTranscript) -> RecoveredHessians:
    """Quadratic costs: ``dgrad = Q_i dx`` at every wake, solved for a symmetric ``Q_i`` by least squares.

    About 1e-14 relative after a few ``d + 1`` wakes, whatever ``sigma``: rounding and differences both grow with it.

    Parameters
    ----------
    transcript
        What a tap keeps.

    Returns
    -------
    RecoveredHessians
        Those of the nodes that woke often enough.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"c": 0.5, "mask": sv.GaussianMask(9.0), "seed": 1, "iterations": 3}
    >>> transcript = sv.privacy.research.record_transcript(problem, **run)
    >>> np.allclose(sv.privacy.research.recover_hessians(transcript).matrices, 2.0)
    True
    """
    widths = {A.shape[1] for A in transcript.blocks}
    if len(widths) > 1:
        raise Unsupported(f"Hessians are recovered for nodes of one dimension; got {sorted(widths)}.")
    n, d = len(transcript.blocks), widths.pop()
    matrices, residuals = np.full((n, d, d), np.nan), np.full(n, np.nan)
    for i in range(n):
        x, gradient = (np.concatenate([np.zeros((1, d)), part]) for part in gradient_differences(transcript, i))
        # Rounding is the same at every wake, hence no weights, and the mean of all as reference instead of the first.
        x, gradient = x - x.mean(axis=0), gradient - gradient.mean(axis=0)
        r, D = transcript.heard[i]
        largest = max(float(np.abs(r).max(initial=0.0)), float(np.abs(D).max(initial=0.0)))
        rounding = EPS * largest * np.sqrt(len(r)) / (2 * transcript.along[i].min())
        if len(x) > d and np.linalg.svd(x, compute_uv=False)[-1] > DIGITS * rounding:
            matrices[i] = symmetric_solution(x, gradient)
            residuals[i] = relative(np.linalg.norm(gradient - x @ matrices[i]), np.linalg.norm(gradient))
    return RecoveredHessians(matrices, residuals)


def symmetric_solution(X: Array, G: Array) -> Array:
    """The symmetric ``Q`` that minimises ``||X Q - G||_F``.

    In the basis of ``X = U diag(s) V'`` entry ``ij`` of ``B = V'QV`` has two equations, ``s_i B_ij = H_ij`` and
    ``s_j B_ij = H_ji`` with ``H = U'GV``: their least squares, without squaring the condition of ``X``.
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    sH = s[:, None] * (U.T @ G @ Vt.T)
    return np.asarray(Vt.T @ ((sH + sH.T) / (s[:, None] ** 2 + s**2)) @ Vt)


def regression_attack(
    problem: Problem,
    *,
    mask: Mask,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredHessians:
    """Every ``Q_i`` of quadratic costs from a masked run, which is played as long as the attack needs.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    mask
        Of the run; none is large enough.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredHessians
        Of a regression these are its ``2 A_i'A_i``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> found = sv.privacy.research.regression_attack(problem, mask=sv.GaussianMask(1e8), seed=1, c=0.5)
    >>> bool(found.errors(problem).max() < 1e-9)
    True
    """
    quadratic_terms(problem)
    wakes = WAKES * (problem.dim + 1)
    transcript, _ = overhear(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    return recover_hessians(transcript)


def gradient_attack(
    problem: Problem,
    *,
    mask: Mask,
    wakes: int = 20,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredGradients:
    """Any cost: the gradients of every node, up to a constant, at the points that ``wakes`` wakes visit.

    Parameters
    ----------
    problem
        Network and costs.
    mask
        Of the run.
    wakes
        Of each node, that are listened to.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredGradients
        With their errors, and a ``sentence``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(4), [sv.Huber(float(i), 1.0) for i in range(4)])
    >>> found = sv.privacy.research.gradient_attack(problem, mask=sv.GaussianMask(100.0), seed=1, c=0.5)
    >>> bool(found.errors.max() < 1e-9)
    True
    """
    positive_integer(wakes, "wakes")
    transcript, z0 = overhear(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    return gradients_in_traffic(problem, transcript, z0)


def gradients_in_traffic(problem: Problem, transcript: RecordedTranscript, z0: Array) -> RecoveredGradients:
    """The same from a recorded run; the pads ``z0`` serve for the errors alone."""
    nodes = range(problem.network.n)
    differences = tuple(gradient_differences(transcript, i) for i in nodes)
    return RecoveredGradients(
        differences,
        errors=np.array([_distance(problem, transcript, z0, i, differences[i]) for i in nodes]),
        ranges=np.array([np.abs(pairs.gradient).max(initial=0.0) for pairs in differences]),
    )


def _distance(problem: Problem, transcript: RecordedTranscript, z0: Array, i: int, pairs: Differences) -> float:
    """How far the recovered pairs are from the graph of the (sub)gradient, given the two constants that pads hide."""
    if not len(pairs.x):
        return float("nan")
    network, cost, A = problem.network, problem.cost(i), transcript.blocks[i]
    held = slice(problem.rows[network.indptr[i]], problem.rows[network.indptr[i + 1]])
    b = np.broadcast_to(problem.b[:, 0], len(z0))[held]
    g = (z0[held] + transcript.heard[i].D[0] - (transcript.along[i] / 2) * b) @ A
    penalty = problem.penalty(transcript.c, i)
    first_x = cost.bind(penalty)(g[None])[0]
    first_gradient = -(g + _times(penalty, first_x))
    x, gradient = first_x + pairs.x, first_gradient + pairs.gradient
    rho = 2 * penalty  # any rho > 0 decides it; one that is not the run's does not repeat the run's arithmetic
    again = cost.bind(rho)(-(gradient + _times(rho, x))[:, None, :])[:, 0, :]
    return float(np.abs(_times(rho, x - again)).max())


def _times(rho: Array, x: Array) -> Array:
    return np.asarray(x * rho[0] if rho.ndim == 1 else x @ rho[0])


def pad_reuse_attack(
    before: Problem,
    after: Problem,
    *,
    mask: Mask,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredChanges:
    """The change of every node's data between two runs with the same pads, the same ``c`` and ``theta``.

    Parameters
    ----------
    before, after
        The problem of the first run, and that of the second.
    mask
        Whose pads are used twice.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredChanges
        Exact to rounding, at any variance.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> before, after = (sv.averaging(sv.Network.ring(4), s) for s in ([1, 2, 3, 4], [1, 2, 8, 4]))
    >>> found = sv.privacy.research.pad_reuse_attack(before, after, mask=sv.GaussianMask(100.0), seed=1, c=0.5)
    >>> np.round(found.q[:, 0] / -2, 6) + 0.0
    array([0., 0., 5., 0.])
    """
    for problem in (before, after):
        quadratic_terms(problem)
    if before.dim != after.dim or not np.array_equal(before.network.half_edges, after.network.half_edges):
        raise InvalidInput("the two runs must be on one network, with variables of one dimension, to share their pads.")
    wakes = WAKES * (before.dim + 1)
    first, pads = overhear(before, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    second, _ = overhear(after, schedule=schedule, theta=first.theta, c=first.c, z0=pads, seed=seed, wakes=wakes)
    return changes_between(first, second)


def changes_between(before: RecordedTranscript, after: RecordedTranscript) -> RecoveredChanges:
    """``q_after - q_before`` from two transcripts with equal pads.

    Equal pads make equal ``e`` and ``nu``, so the differences of ``recorded_transcript`` hold between a wake of one run
    and a wake of the other: ``x' - x`` and ``grad f'(x') - grad f(x)`` are known exactly, and with them
    ``q' - q = dgrad - Q (x' - x)``. No corrupt node is needed. Where the Hessian changed too, ``q' - q`` is known up to
    ``(Q' - Q) x``: moving every ``x`` by one vector, and pads and ``q`` with it, gives the same two transcripts.

    Parameters
    ----------
    before, after
        What a tap kept of either run.

    Returns
    -------
    RecoveredChanges
        As of ``pad_reuse_attack``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"c": 0.5, "mask": sv.GaussianMask(9.0), "seed": 1, "iterations": 6}
    >>> once, again = (sv.privacy.research.record_transcript(problem, **run) for _ in range(2))
    >>> bool(abs(sv.privacy.research.changes_between(once, again).q).max() < 1e-9)
    True
    """
    Q, Q_after = (recover_hessians(transcript).matrices for transcript in (before, after))
    q = np.full(Q.shape[:2], np.nan)
    for i, A in enumerate(before.blocks):
        if np.linalg.norm(Q_after[i] - Q[i]) <= SAME * np.linalg.norm(Q[i] + before.along[i] * A.T @ A):
            # The first wakes: least has been added to the data there, hence least rounding.
            (r, D), (r_after, D_after) = ((part[0] for part in run.heard[i]) for run in (before, after))
            r, D = r_after - r, D_after - D
            x = moves(A, before.along[i], (r - D)[None], i)[0]
            q[i] = gradient_moves(A, r + D) - Q[i] @ x
    return RecoveredChanges(q)


def quadratic_terms(problem: Problem) -> tuple[Array, Array]:
    """``Q`` as ``(n, d, d)`` and ``q`` as ``(n, d)``."""
    form = problem.quadratic
    if form is None:
        raise Unsupported(f"this attack is for quadratic costs of one dimension; got {problem!r}. Use gradient_attack.")
    return form.Q if form.Q.ndim == 3 else form.Q[:, None, None] * np.eye(problem.dim), form.q


def relative(error: npt.ArrayLike, size: npt.ArrayLike) -> Array:
    """``error / size``; absolute where there is nothing to compare with."""
    return np.asarray(error) / np.where(np.asarray(size) > 0, size, 1.0)
