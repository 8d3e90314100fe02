"""Figures 1 to 3 of the paper (its section 6), as data and as pictures.

Every curve is computed exactly where the iteration is affine, and by Monte Carlo as in the paper beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..costs import Averaging
from ..costs.base import Array
from ..errors import InvalidInput, is_number
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem
from ..pdmm.recorders import Recorder
from ..pdmm.reference import Run
from ..pdmm.schedules import Asynchronous, NodeSchedule, Schedule, Synchronous, Trace, key_of
from ..pdmm.settings import positive_integer
from ..pdmm.solve import solve
from ..privacy.moments.exact_moments import monte_carlo
from .exact_figures import attacked, exact_curves, exact_information, exact_variances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's constants (section 6)
NODES = 10
THETAS = (1.0, 0.8, 0.5)
VARIANCE = 1e8  # of z(0), Figures 1 and 2
VARIANCES = (0.5, 1.0)  # of z(0), Figure 3
DRAWS = 100
# What the paper leaves open
C = 0.4
ITERATIONS = 200  # Figure 1: as far as double precision can follow the decay to 1e-8 relative
VARIANCE_ITERATIONS = 100  # Figure 2
INFORMATION_ITERATIONS = 150  # Figure 3
SEED = 1

Progress = Callable[[str], None]


class Panel(NamedTuple):
    """A figure of the paper.

    Attributes
    ----------
    data : dict
        The curves and everything needed to compute them again, as plain numbers for JSON.
    figure : matplotlib.figure.Figure
        The picture.
    """

    data: dict[str, Any]
    figure: Figure


@dataclass(frozen=True, eq=False)
class Experiment:
    """What the figures are about. ``Experiment.paper()`` is the paper's; ``dataclasses.replace`` varies one thing.

    Parameters
    ----------
    problem : Problem
        What is solved.
    schedule : Schedule
        Who wakes when.
    thetas : tuple of float
        The averagings to compare, each in ``(0, 1]``.
    c : float
        The step.
    draws : int
        Of the pads, for Monte Carlo.
    seed : int
        Of everything that is drawn.

    Examples
    --------
    >>> from sottovoce.paper import Experiment
    >>> Experiment.paper(seed=2, n=6).problem.network.n
    6
    """

    problem: Problem
    schedule: Schedule = Asynchronous()  # noqa: RUF009  (a frozen value)
    thetas: tuple[float, ...] = THETAS
    c: float = C
    draws: int = DRAWS
    seed: int = SEED

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem) or not isinstance(self.schedule, Schedule):
            raise InvalidInput(
                f"an experiment needs a Problem and a schedule; got {self.problem!r}, {self.schedule!r}."
            )
        if not isinstance(self.draws, int) or self.draws < 2:
            raise InvalidInput(f"draws must be an integer >= 2; got {self.draws!r}.")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidInput(f"seed must be an integer >= 0; got {self.seed!r}.")
        if not self.thetas or not all(is_number(theta) and 0 < theta <= 1 for theta in self.thetas):
            raise InvalidInput(f"thetas must be numbers in (0, 1], one at least; got {self.thetas!r}.")

    @classmethod
    def paper(cls, seed: int = SEED, n: int = NODES) -> Experiment:
        """A random geometric graph, and ``s ~ N(0, 1)``, from one seed."""
        network = Network.random_geometric(n, seed=seed)  # refuses a bad seed
        s = np.random.default_rng([seed, 2]).standard_normal(n)
        return cls(averaging(network, s), seed=seed)

    def trace(self, iterations: int) -> Schedule:
        """The one activation sequence that all draws share."""
        if isinstance(self.schedule, NodeSchedule):
            return Trace(self.schedule.nodes(self.problem.network, key_of(self.seed), 0, iterations))
        return self.schedule

    @property
    def optimum(self) -> Array:
        """The solution as ``(n d, 1)``; under consensus from the pooled quadratic where there is one."""
        form = self.problem.quadratic
        if form is None or not self.problem.consensus:
            return stack(solve(self.problem, tol=1e-12).x)
        d, n = self.problem.dim, self.problem.network.n
        Q = form.Q if form.Q.ndim == 3 else form.Q[:, None, None] * np.eye(d)
        return np.tile(np.linalg.solve(Q.sum(axis=0), -form.q.sum(axis=0)), n)[:, None]

    def describe(self, iterations: npt.NDArray[np.int64]) -> dict[str, Any]:
        """The part of the data that all figures share."""
        network, groups = self.problem.network, self.problem.groups
        cost = groups[0][1]
        secrets = cost.s.squeeze().tolist() if len(groups) == 1 and isinstance(cost, Averaging) else None
        last = int(iterations[-1])
        sequence = self.trace(last)
        awake = sequence.nodes(network, 0, 0, last) if isinstance(sequence, NodeSchedule) else None
        return {
            "edges": network.edges.tolist(),
            "positions": None if network.positions is None else network.positions.tolist(),
            "s": secrets,
            "c": self.c,
            "seed": self.seed,
            "draws": self.draws,
            "schedule": type(self.schedule).__name__,
            "sequence": None if awake is None else awake.tolist(),
            "iterations": iterations.tolist(),
        }


def stack(x: Any) -> Array:
    return np.concatenate([np.ravel(part) for part in x])[:, None]


def figure1(
    experiment: Experiment | None = None,
    *,
    sigma2: float = VARIANCE,
    iterations: int = ITERATIONS,
    progress: Progress = lambda stage: None,
    **changes: Any,
) -> Panel:
    """Error of ``x``, variance of ``Z_Psi`` and of ``Z_perp`` against ``k`` for each theta.

    Parameters
    ----------
    experiment : Experiment, optional
        The paper's by default.
    sigma2 : float
        Variance of the pads.
    iterations : int
        How far the curves go.
    progress : callable
        Told what is computed now.
    **changes
        Of the experiment, by name: ``draws=30``.

    Returns
    -------
    Panel

    Examples
    --------
    >>> from sottovoce.paper import figure1
    >>> sorted(figure1(iterations=5, draws=3).data["curves"])
    ['0.5', '0.8', '1.0']
    """
    positive_integer(iterations, "iterations")
    experiment = replace(experiment or Experiment.paper(), **changes)
    curves = {}
    for theta in experiment.thetas:
        progress(f"figure 1, theta = {theta:g}")
        exact = exact_curves(experiment, theta, sigma2, iterations)
        sampled = sampled_curves(experiment, experiment.trace(iterations), theta, sigma2, iterations)
        curves[str(float(theta))] = {
            name: {"exact": exact[name] if exact else None, **sampled[name]} for name in sampled
        }
    data = {**experiment.describe(np.arange(iterations + 1)), "sigma2": sigma2, "x0": 0.0, "curves": curves}
    from .plots import draw_figure1

    return Panel(data, draw_figure1(data))


@dataclass(frozen=True, eq=False)
class PerDraw(Recorder):
    """Records the mean over the draws of a number per draw, and its standard error."""

    name: str
    of: Callable[[Run], Array]

    def __call__(self, run: Run) -> Array:
        values = self.of(run)
        return np.array([values.mean(), values.std(ddof=1) / np.sqrt(len(values))])


def sampled_curves(
    experiment: Experiment, schedule: Schedule, theta: float, sigma2: float, iterations: int
) -> dict[str, dict[str, list[float]]]:
    """The same curves by Monte Carlo over the draws of ``z(0)``, with standard errors."""
    problem, optimum, seed = experiment.problem, experiment.optimum, experiment.seed
    drawn = monte_carlo(
        problem, schedule, theta=theta, c=experiment.c, variance=sigma2, draws=experiment.draws,
        iterations=iterations, seed=seed,
    )  # fmt: skip
    error = PerDraw("x_error", lambda run: ((run.stacked_x() - optimum) ** 2).mean(axis=0))
    result = solve(
        problem, schedule=schedule, theta=theta, c=experiment.c, mask=GaussianMask(sigma2), seed=seed,
        batch=experiment.draws, tol=0, max_iter=iterations, record=[error], progress=False,
    )  # fmt: skip
    found: dict[str, tuple[Array, Array]] = {
        "x_error": (result.history["x_error"][:, 0], result.history["x_error"][:, 1]),
        "var_z_psi": (drawn.z_psi, drawn.z_psi_stderr),
        "var_z_perp": (drawn.z_perp, drawn.z_perp_stderr),
    }
    return {name: {"monte_carlo": mean.tolist(), "stderr": e.tolist()} for name, (mean, e) in found.items()}


def figure2(
    experiment: Experiment | None = None,
    *,
    sigma2: float = VARIANCE,
    iterations: int = VARIANCE_ITERATIONS,
    progress: Progress = lambda stage: None,
    **changes: Any,
) -> Panel:
    """Variance of ``Z_perp``: the experiment's schedule against the synchronous one, and the bound of section 5.

    Arguments and result are those of ``figure1``.
    """
    positive_integer(iterations, "iterations")
    experiment = replace(experiment or Experiment.paper(), **changes)
    mu, k = experiment.schedule.mu(experiment.problem.network), np.arange(iterations + 1)
    curves: dict[str, Any] = {}
    for theta in experiment.thetas:
        progress(f"figure 2, theta = {theta:g}")
        exact = exact_variances(experiment, theta, sigma2, iterations)
        curve: dict[str, Any] = {"bound": exact["bound"], "expected": exact["expected"]}
        for name, schedule in (("async", experiment.trace(iterations)), ("sync", Synchronous())):
            sampled = sampled_curves(experiment, schedule, theta, sigma2, iterations)["var_z_perp"]
            curve[name] = {**sampled, "exact": exact[name]}
        curves[str(float(theta))] = curve
    data = {**experiment.describe(k), "sigma2": sigma2, "mu": mu, "curves": curves}
    from .plots import draw_figure2

    return Panel(data, draw_figure2(data))


def figure3(
    experiment: Experiment | None = None,
    *,
    sigma2: tuple[float, ...] = VARIANCES,
    theta: float = 1.0,
    node: int | None = None,
    honest_neighbour: int | None = None,
    iterations: int = INFORMATION_ITERATIONS,
    progress: Progress = lambda stage: None,
    **changes: Any,
) -> Panel:
    """Information in eq. 8 about one node with one honest neighbour, for two variances and two schedules.

    ``node`` defaults to the one with most neighbours, ``honest_neighbour`` to the first of them, ``sigma2`` are the
    variances; the other arguments are those of ``figure1``. ``Unsupported`` where a cost is not quadratic.
    """
    positive_integer(iterations, "iterations")
    experiment = replace(experiment or Experiment.paper(), **changes)
    node, honest = attacked(experiment.problem.network, node, honest_neighbour)
    curves: dict[str, Any] = {}
    for variance in sigma2:
        progress(f"figure 3, sigma^2 = {variance:g}")
        exact = exact_information(experiment, theta, variance, iterations, node, honest)
        curves[str(float(variance))] = {}
        for name, schedule in (("async", experiment.trace(iterations)), ("sync", Synchronous())):
            run: dict[str, Any] = {"node": node, "theta": theta, "c": experiment.c, "variance": variance}
            sampled = sampled_information(experiment, schedule, honest=honest, iterations=iterations, **run)
            nats, normalised = exact[name].nats.tolist(), exact[name].normalised.tolist()
            curves[str(float(variance))][name] = {"nats": nats, "normalised": normalised, **sampled}
    data = {
        **experiment.describe(np.arange(iterations + 1)),
        "sigma2": list(sigma2),
        "secret_variance": 1.0,
        "theta": theta,
        "node": node,
        "honest_neighbour": honest,
        "curves": curves,
    }
    from .plots import draw_figure3

    return Panel(data, draw_figure3(data))


def sampled_information(
    experiment: Experiment,
    schedule: Schedule,
    *,
    node: int,
    honest: int,
    theta: float,
    c: float,
    variance: float,
    iterations: int,
) -> dict[str, list[float]]:
    """``-ln(1 - r^2)/2`` from the sample correlation of ``S_i`` and eq. 8 over draws of all secrets and pads."""
    network = experiment.problem.network
    problem = experiment.problem
    plain = len(problem.groups) == 1 and isinstance(problem.groups[0][1], Averaging) and problem.consensus
    if not plain or problem.dim != 1:
        return {}  # the draws below are of averaging; elsewhere the exact curve stands alone
    rng = np.random.default_rng([experiment.seed, 3])
    held = int(network.indptr[node]) + int(np.searchsorted(network.around(node), honest))
    span, sign = slice(network.indptr[node], network.indptr[node + 1]), network.C.data
    secrets, seen = [], []
    for _ in range(experiment.draws):
        s = rng.standard_normal(network.n)
        z0 = np.sqrt(variance) * rng.standard_normal(2 * network.m)

        def snapshot(run: Run, s_i: float = s[node]) -> float:
            z = run.stacked_z()[:, 0]
            x = (2 * s_i - sign[span] @ z[span]) / (2 + c * network.degrees[node])
            return float(2 * (x - s_i) + sign[held] * z[held])

        result = solve(
            averaging(network, s), schedule=schedule, theta=theta, c=c, z0=z0, seed=experiment.seed, tol=0,
            max_iter=iterations, record=[Named("Y", snapshot)], progress=False,
        )  # fmt: skip
        secrets.append(s[node])
        seen.append(result.history["Y"])
    S, Y = np.array(secrets), np.array(seen)
    r = (S - S.mean()) @ (Y - Y.mean(axis=0)) / (len(S) * S.std() * Y.std(axis=0))
    # Delta method: dI/dr = r/(1 - r^2) and se(r) = (1 - r^2)/sqrt(draws).
    return {"monte_carlo": (-0.5 * np.log1p(-(r**2))).tolist(), "stderr": (np.abs(r) / np.sqrt(len(S))).tolist()}


@dataclass(frozen=True, eq=False)
class Named(Recorder):
    """A recorder from a function."""

    name: str
    of: Callable[[Run], float]

    def __call__(self, run: Run) -> float:
        return self.of(run)
