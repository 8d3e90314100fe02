"""The exact curves of Figures 1 to 3, for one theta: what the figures draw as lines, and the studio draws anew when a
slider moves."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, SottovoceWarning, Unsupported
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.schedules import Synchronous
from ..privacy.audit import audit
from ..privacy.moments.exact_moments import LinearRun, play, psi_basis, sequence_variances
from ..privacy.moments.information import Information, snapshot_information
from ..privacy.moments.perp_formulas import perp_variance
from ..privacy.moments.random_moments import random_variances

if TYPE_CHECKING:
    from .experiments import Experiment

WIDE = np.longdouble  # keeps the relative precision of curves that decay over many decades


def exact_curves(
    experiment: Experiment, theta: float, sigma2: float, iterations: int, dtype: npt.DTypeLike = WIDE
) -> dict[str, list[float]] | None:
    """Exact ``x_error``, ``var_z_psi`` and ``var_z_perp``; None where the iteration is not affine."""
    problem = experiment.problem
    if problem.quadratic is None:
        return None
    schedule = experiment.trace(iterations)
    run = LinearRun(problem, schedule, theta=theta, c=experiment.c, seed=experiment.seed, dtype=dtype)
    basis, optimum = psi_basis(problem, dtype), experiment.optimum.astype(dtype)
    constant = np.concatenate([problem.quadratic.q.ravel(), [1.0]]).astype(dtype)
    seen: dict[str, list[float]] = {"x_error": [], "var_z_psi": [], "var_z_perp": []}
    for _ in play(run, iterations):
        x = run.stacked_x()
        mean = x[:, run.rows :] @ constant
        error = np.mean((mean - optimum[:, 0]) ** 2) + sigma2 * np.sum(x[:, : run.rows] ** 2) / len(x)
        inside = basis.T @ run.M
        psi = sigma2 * np.sum(inside**2) / run.rows
        seen["x_error"].append(float(error))
        seen["var_z_psi"].append(float(psi))
        seen["var_z_perp"].append(float(sigma2 * np.sum(run.M**2) / run.rows - psi))
    return seen


def exact_variances(
    experiment: Experiment, theta: float, sigma2: float, iterations: int
) -> dict[str, list[float] | None]:
    """The variance of ``Z_perp``: for this sequence (``async``), synchronous (``sync``), ``expected`` over sequences,
    and its ``bound`` of section 5; None for what the costs or the schedule do not have."""
    problem, schedule = experiment.problem, experiment.schedule
    run: dict[str, Any] = {"theta": theta, "c": experiment.c, "variance": sigma2, "iterations": iterations}
    found: dict[str, list[float] | None] = {"async": None, "sync": None, "expected": None, "bound": None}
    if problem.quadratic is not None:
        for name, played in (("async", experiment.trace(iterations)), ("sync", Synchronous())):
            found[name] = sequence_variances(problem, played, seed=experiment.seed, **run).z_perp.tolist()
        if schedule.law and not schedule.synchronous:
            found["expected"] = random_variances(problem, schedule, **run).z_perp.tolist()
    mu = schedule.mu(problem.network)
    if mu is not None:
        k = np.arange(iterations + 1)
        found["bound"] = perp_variance(problem, theta=theta, mu=mu, variance=sigma2, k=k).tolist()
    return found


def attacked(network: Network, node: int | None = None, honest: int | None = None) -> tuple[int, int]:
    """Whose secret Figure 3 is about, and its one honest neighbour, by number: the node with most neighbours, and the
    first of them, unless they are given."""
    node = int(network.degrees.argmax()) if node is None else node
    if not 0 <= node < network.n:
        raise InvalidInput(f"node must be in 0 .. {network.n - 1}; got {node}.")
    return node, int(network.around(node)[0]) if honest is None else honest


def exact_information(
    experiment: Experiment, theta: float, sigma2: float, iterations: int, node: int, honest: int
) -> dict[str, Information]:
    """The information of eq. 8 about ``node`` with one honest neighbour, for this sequence (``async``) and ``sync``."""
    if experiment.problem.quadratic is None:
        raise Unsupported(
            "Figure 3 needs quadratic costs; for others sample and use privacy.research.estimated_information."
        )
    return {
        name: snapshot_information(
            experiment.problem, schedule, node=node, honest=[honest], theta=theta, c=experiment.c, variance=sigma2,
            iterations=iterations, seed=experiment.seed,
        )
        for name, schedule in (("async", experiment.trace(iterations)), ("sync", Synchronous()))
    }  # fmt: skip


def transcript_information(experiment: Experiment, sigma2: float, node: int, honest: int) -> float:
    """What the same attackers learn about ``node`` if they keep every message, in nats: all other neighbours are
    corrupt and tap every channel. From both schedules alike, once every directed edge has carried a message (theory:
    Open channels)."""
    network = experiment.problem.network
    corrupt = [network.label(int(j)) for j in network.around(node) if j != honest]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SottovoceWarning)  # of small masks: how little they hide is what is asked
        report = audit(experiment.problem, mask=GaussianMask(sigma2), corrupt=corrupt, prior=1.0, seed=experiment.seed)
    return float(report.leakage[node])
