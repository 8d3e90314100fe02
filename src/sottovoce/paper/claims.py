"""Each claim of the paper, the number that decides it, and whether it holds: measured, not copied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ..costs.base import Array
from ..errors import Unsupported
from ..pdmm.masks import GaussianMask
from ..pdmm.schedules import EdgeBernoulli, NodeSchedule, Schedule, Synchronous
from ..pdmm.solve import solve
from ..privacy.audit import audit
from ..privacy.moments.exact_moments import LinearRun, play, psi_basis
from ..privacy.moments.perp_formulas import perp_covariance, perp_variance
from ..privacy.moments.random_moments import random_variances
from ..privacy.moments.subspace import Subspace
from ..privacy.seen import Transcript
from .exact_figures import exact_curves
from .experiments import INFORMATION_ITERATIONS, VARIANCE, VARIANCES, Experiment, Progress

HOLDS, CONDITION, FAILS, OPEN = "holds", "holds with a condition", "does not hold", "undecided"
EPS = float(np.finfo(float).eps)
SLACK = 1 - 1e-9  # of ratios that theory says are >= 1: rounding
START, LIMIT = 400, 12_800  # activations of the exact curves


@dataclass(frozen=True)
class Claim:
    """What the paper says, where, what was measured, and the verdict with its reason."""

    claim: str
    where: str
    metric: Literal["convergence", "variance", "snapshot", "transcript"]
    measured: dict[str, Any]
    verdict: str
    because: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def claims(experiment: Experiment | None = None, *, progress: Progress = lambda stage: None) -> list[Claim]:
    """Measure every claim of the paper.

    Parameters
    ----------
    experiment : Experiment, optional
        The paper's by default; its schedule is uniform asynchronous.
    progress : callable
        Told what is measured now.

    Returns
    -------
    list of Claim

    Raises
    ------
    Unsupported
        An experiment that the paper makes no claims about.
    """
    experiment = experiment or Experiment.paper()
    problem, schedule = experiment.problem, experiment.schedule
    if problem.quadratic is None or not schedule.one_at_a_time or schedule.mu(problem.network) is None:
        raise Unsupported("the claims are about quadratic costs under the uniform asynchronous schedule.")
    if problem.dim != 1 or not problem.consensus or len(set(problem.quadratic.Q)) != 1:
        raise Unsupported("the claims are about averaging of numbers.")
    if Subspace(problem.network).dim_perp == 0:
        raise Unsupported("the claims are about Psi_perp, which is {0} on this graph (a tree): it has too few edges.")
    bench = Bench(experiment)
    found = []
    for measure in MEASUREMENTS:
        progress("claims: " + measure.__name__.replace("_", " "))
        found.append(measure(bench))
    return found


class Bench:
    """What several claims need, computed once."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.problem, self.network, self.c = experiment.problem, experiment.problem.network, experiment.c
        self.mu = 1 / self.network.n
        # The node with most neighbours, and one of them: the pair of Figure 3.
        self.node = int(self.network.degrees.argmax())
        self.honest = int(self.network.around(self.node)[0])

    @cached_property
    def curves(self) -> dict[float, dict[str, Array]]:
        """Exact curves of Figure 1, as long as it takes the error to fall below 1e-8 (or to the limit)."""
        length = START
        while True:
            found = {
                theta: exact_curves(self.experiment, theta, VARIANCE, length, np.float64)
                for theta in self.experiment.thetas
            }
            curves = {theta: {name: np.array(v) for name, v in c.items()} for theta, c in found.items() if c}
            if length >= LIMIT or all(curve["x_error"][-1] < 1e-17 for curve in curves.values()):
                return curves
            length *= 2

    @cached_property
    def basis(self) -> Array:
        return psi_basis(self.problem)

    def perp(self, run: LinearRun) -> Array:
        """The map ``z(0) -> Z_perp(k)``."""
        return np.asarray(run.M - self.basis @ (self.basis.T @ run.M))

    def linear(self, theta: float) -> LinearRun:
        return LinearRun(self.problem, Synchronous(), theta=theta, c=self.c)

    def expected(self, schedule: Schedule, theta: float, iterations: int) -> Array:
        """Expected variance of ``Z_perp`` for unit variance."""
        return random_variances(
            self.problem, schedule, theta=theta, c=self.c, variance=1.0, iterations=iterations
        ).z_perp

    def formula(self, theta: float, mu: float, iterations: int) -> Array:
        return perp_variance(self.problem, theta=theta, mu=mu, variance=1.0, k=np.arange(iterations + 1))

    def snapshots(self, schedule: Schedule, theta: float, variance: float = 1.0) -> Array:
        """Information of eq. 8 for every half-edge ``(i, j)``, ``j`` the one honest neighbour of ``i``: ``(k, 2m)``.

        The formula of ``privacy.research.snapshot_information`` for scalars, for all pairs in one run.
        """
        run = LinearRun(self.problem, schedule, theta=theta, c=self.c, seed=self.experiment.seed)
        holders, rows = self.network.holders, run.rows
        assert self.problem.quadratic is not None
        a = float(self.problem.quadratic.Q[0])
        own, found = np.arange(len(holders)), []
        for _ in play(run, INFORMATION_ITERATIONS):
            Y = a * run.fresh()[holders] + run.q[holders] + self.network.C.data[:, None] * run.stacked_z()
            from_secrets = a**2 * Y[:, rows:-1] ** 2
            signal = from_secrets[own, holders]
            noise = variance * np.sum(Y[:, :rows] ** 2, axis=1) + from_secrets.sum(axis=1) - signal
            found.append(0.5 * np.log1p(signal / noise))
        return np.array(found)


def verdict(outcome: dict[str, bool], reasons: dict[str, str]) -> tuple[str, str]:
    """The first outcome that is true, with its reason."""
    name = next(name for name, true in outcome.items() if true)
    return name, reasons[name]


def converges(bench: Bench) -> Claim:
    last = {str(theta): float(curve["x_error"][-1]) for theta, curve in bench.curves.items()}
    return Claim(
        "x(k) converges to the correct solution for every theta", "section 6, Figure 1", "convergence",
        {"mean squared error at the end": last},
        *verdict(
            {HOLDS: max(last.values()) < 1e-16, OPEN: True},
            {HOLDS: "the exact mean squared error falls below 1e-16",
             OPEN: f"after {LIMIT} activations the mean squared error is still {max(last.values()):.1g}"},
        ),
    )  # fmt: skip


def theta_order(bench: Bench) -> Claim:
    reached = {theta: np.flatnonzero(curve["x_error"] <= 1e-16) for theta, curve in bench.curves.items()}
    first = {theta: int(at[0]) if len(at) else None for theta, at in reached.items()}
    order = [k for _, k in sorted(first.items()) if k is not None]
    said = ", ".join(f"{k} at theta = {theta:g}" for theta, k in first.items())
    return Claim(
        "the convergence rate decreases for increasing theta", "section 6", "convergence",
        {"activations to a root mean squared error of 1e-8": {str(theta): k for theta, k in first.items()}},
        *verdict(
            {OPEN: len(order) < len(first), HOLDS: all(a < b for a, b in pairwise(order)), FAILS: True},
            {OPEN: "not every theta arrived", HOLDS: f"activations to 1e-8: {said}",
             FAILS: ("it is the other way round" if all(a > b for a, b in pairwise(order)) else "it is not monotone")
                    + f": activations to 1e-8 are {said}"},
        ),
    )  # fmt: skip


def accuracy(bench: Bench) -> Claim:
    optimum, errors = bench.experiment.optimum[:, 0], {}
    for variance in (1e4, 1e8, 1e12):
        run = solve(
            bench.problem, schedule=bench.experiment.schedule, theta=1.0, c=bench.c, mask=GaussianMask(variance),
            seed=bench.experiment.seed, batch=20, tol=0, max_iter=LIMIT, progress=False,
        )  # fmt: skip
        worst = float(np.abs(run.x.reshape(20, -1) - optimum).max())
        errors[f"{variance:g}"] = {"error": worst, "error / (eps sigma)": worst / (EPS * variance**0.5)}
    largest = max(entry["error / (eps sigma)"] for entry in errors.values())
    return Claim(
        "the algorithm's accuracy remains uncompromised", "abstract, section 7", "convergence",
        {"by variance of z(0)": errors},
        *verdict(
            {CONDITION: largest < 100, OPEN: True},
            {CONDITION: f"in real arithmetic; in floating point the error is up to {largest:.2g} eps sigma",
             OPEN: f"the error is {largest:.2g} eps sigma: the run is too short, or the graph too slow"},
        ),
    )  # fmt: skip


def psi_vanishes(bench: Bench) -> Claim:
    left = {str(theta): float(c["var_z_psi"][-1] / c["var_z_psi"][0]) for theta, c in bench.curves.items()}
    return Claim(
        "the variance of Z_Psi goes to zero", "section 4, Figure 1", "variance", {"share left at the end": left},
        *verdict(
            {HOLDS: max(left.values()) < 1e-12, OPEN: True},
            {HOLDS: "less than 1e-12 of it is left when the error reaches 1e-8",
             OPEN: f"{max(left.values()):.1g} of it is left at the end of the run"},
        ),
    )  # fmt: skip


def perp_stays(bench: Bench) -> Claim:
    left = {str(theta): float(c["var_z_perp"][-1] / c["var_z_perp"][0]) for theta, c in bench.curves.items()}
    return Claim(
        "the variance of Z_perp remains nonzero", "section 6, Figures 1 and 2", "variance",
        {"share left at the end": left},
        *verdict(
            {HOLDS: min(left.values()) > 0.05, FAILS: True},
            {HOLDS: f"it settles at {min(left.values()):.2g} to {max(left.values()):.2g} of its initial value",
             FAILS: f"only {min(left.values()):.2g} of it is left"},
        ),
    )  # fmt: skip


def two_updates(bench: Bench) -> Claim:
    changes = {}
    for theta in bench.experiment.thetas:
        run = bench.linear(theta)
        at = {k: bench.perp(run) for k in play(run, 2)}
        changes[theta] = float(np.linalg.norm(at[2] - at[0]) / np.linalg.norm(at[0]))
    unchanged = {theta: change < 1e-12 for theta, change in changes.items()}
    return Claim(
        "every two synchronous updates leave Psi_perp unchanged", "section 4", "variance",
        {"relative change of Z_perp over two updates": {str(theta): change for theta, change in changes.items()}},
        *verdict(
            {HOLDS: all(unchanged.values()), CONDITION: any(unchanged.values()), FAILS: True},
            {HOLDS: "for every theta tried",
             CONDITION: f"for theta = 1 only; otherwise Z_perp changes by up to {max(changes.values()):.0%}",
             FAILS: f"Z_perp changes by up to {max(changes.values()):.0%}"},
        ),
    )  # fmt: skip


def synchronous_equality(bench: Bench) -> Claim:
    worst = 0.0
    for theta in bench.experiment.thetas:
        run = bench.linear(theta)
        for k in play(run, 20):
            perp = bench.perp(run)
            formula = perp_covariance(bench.problem, theta=theta, mu=1.0, variance=1.0, k=k)
            worst = max(worst, float(np.abs(perp @ perp.T - formula).max()))
    return Claim(
        "synchronous: E[Z_perp Z_perp'] = Pi_perp (sigma^2/2) ((I+P) + (1-2 theta)^{2k} (I-P))", "section 4",
        "variance",
        {"largest difference of any entry, sigma^2 = 1, k <= 20": worst},
        *verdict(
            {HOLDS: worst < 1e-10, FAILS: True},
            {HOLDS: f"entry by entry: the largest difference is {worst:.1g}", FAILS: f"entries differ by {worst:.1g}"},
        ),
    )  # fmt: skip


def bound_holds(bench: Bench) -> Claim:
    ratios = {}
    for theta in bench.experiment.thetas:
        ratio = bench.expected(bench.experiment.schedule, theta, 300) / bench.formula(theta, bench.mu, 300)
        ratios[str(theta)] = {"smallest": float(ratio.min()), "at the end": float(ratio[-1])}
    ends = [entry["at the end"] for entry in ratios.values()]
    return Claim(
        "asynchronous: the variance of Z_perp is at least that of synchronous theta mu-averaged PDMM", "section 5",
        "variance", {"exact expectation / bound, k <= 300": ratios},
        *verdict(
            {HOLDS: min(entry["smallest"] for entry in ratios.values()) > SLACK, FAILS: True},
            {HOLDS: "for the expectation over sequences, with z(0) in the filtration; in the end the true value is "
                    f"{min(ends):.2g} to {max(ends):.2g} times the bound",
             FAILS: "the exact expectation falls below the bound"},
        ),
    )  # fmt: skip


def bound_orders_schedules(bench: Bench) -> Claim:
    ratios = {}
    for theta in bench.experiment.thetas:
        ratio = bench.formula(theta, bench.mu, 300) / bench.formula(theta, 1.0, 300)
        ratios[str(theta)] = {"theta (1 + mu)": theta * (1 + bench.mu), "smallest ratio": float(ratio.min())}
    above = {name: entry["smallest ratio"] > SLACK for name, entry in ratios.items()}
    predicted = all(above[name] == (entry["theta (1 + mu)"] <= 1) for name, entry in ratios.items())
    lowest = min(entry["smallest ratio"] for entry in ratios.values())
    return Claim(
        "the bound guarantees that asynchronous schemes are at least as private as synchronous ones",
        "abstract, section 7", "variance", {"bound / synchronous variance": ratios},
        *verdict(
            {HOLDS: all(above.values()), CONDITION: predicted, FAILS: True},
            {HOLDS: "the bound lies above the synchronous variance for every theta tried",
             CONDITION: f"only when theta (1 + mu) <= 1; otherwise the bound falls to {lowest:.2g} of synchronous",
             FAILS: "the bound falls below the synchronous variance"},
        ),
    )  # fmt: skip


def variance_is_higher(bench: Bench) -> Claim:
    ratios = {}
    for theta in bench.experiment.thetas:
        synchronous = bench.formula(theta, 1.0, 200)
        ratios[str(theta)] = {
            "one node at a time": float((bench.expected(bench.experiment.schedule, theta, 200) / synchronous).min()),
            "30 % packet loss": float((bench.expected(EdgeBernoulli(0.7), theta, 200) / synchronous).min()),
        }
    one, loss = (min(entry[name] for entry in ratios.values()) for name in ("one node at a time", "30 % packet loss"))
    return Claim(
        "the variance of Z_perp is higher for asynchronous (stochastic) updates", "section 6, Figure 2", "variance",
        {"smallest expected variance / synchronous, k <= 200": ratios},
        *verdict(
            {HOLDS: min(one, loss) > SLACK, CONDITION: one > SLACK, FAILS: True},
            {HOLDS: "for every theta tried, one node at a time and under packet loss",
             CONDITION: f"for one node at a time, in expectation; packet loss falls to {loss:.2g} of synchronous",
             FAILS: f"the expected variance falls to {one:.2g} of synchronous"},
        ),
    )  # fmt: skip


def noise_hides(bench: Bench) -> Claim:
    sequence, gaps = bench.experiment.trace(INFORMATION_ITERATIONS), {}
    for name, schedule in (("asynchronous", sequence), ("synchronous", Synchronous())):
        less, more = (bench.snapshots(schedule, 1.0, variance) for variance in VARIANCES)
        gaps[name] = float((less - more).min())
    return Claim(
        "the larger the variance of z(0), the smaller the information in eq. 8", "section 6, Figure 3", "snapshot",
        {f"smallest I({VARIANCES[0]:g}) - I({VARIANCES[1]:g}) over k and all pairs, nats": gaps},
        *verdict(
            {HOLDS: min(gaps.values()) > 1e-9, CONDITION: min(gaps.values()) > -1e-9, FAILS: True},
            {HOLDS: f"by at least {min(gaps.values()):.2g} nats, at every k and for every pair",
             CONDITION: "never larger; equal where the honest neighbour is the only one, and no noise is left in eq. 8",
             FAILS: "not at every k and for every pair"},
        ),
    )  # fmt: skip


def snapshot_order(bench: Bench) -> Claim:
    sequence, shares = bench.experiment.trace(INFORMATION_ITERATIONS), {}
    for theta in bench.experiment.thetas:
        gap = bench.snapshots(Synchronous(), theta) - bench.snapshots(sequence, theta)
        at_least = gap > -1e-9
        shares[theta] = {
            "share of pairs, at the end": float(at_least[-1].mean()),
            "share of pairs, at every k": float(at_least.all(axis=0).mean()),
            "mean difference at the end, nats": float(gap[-1].mean()),
        }
    every = {theta: entry["share of pairs, at every k"] for theta, entry in shares.items()}
    said = ", ".join(f"{share:.0%} at theta = {theta:g}" for theta, share in every.items())
    means = [entry["mean difference at the end, nats"] for entry in shares.values()]
    return Claim(
        "asynchronous schemes reveal less than synchronous ones during the iterations", "section 6, Figure 3",
        "snapshot",
        {"(node, honest neighbour) pairs for which synchronous reveals as much or more": {
            str(theta): entry for theta, entry in shares.items()}},
        *verdict(
            {HOLDS: min(every.values()) == 1, CONDITION: max(every.values()) == 1 or min(means) > 0, FAILS: True},
            {HOLDS: "for every pair, theta and k", CONDITION: f"for this sequence at every k: {said} of the pairs",
             FAILS: f"for this sequence at every k: only {said} of the pairs"},
        ),
    )  # fmt: skip


def transcript_order(bench: Bench) -> Claim:
    corrupt = [int(j) for j in bench.network.around(bench.node) if j != bench.honest][:1]
    length = 200
    while len(set(_woken(bench, length))) < bench.network.n:  # until every directed edge has carried a message
        length *= 2
    sequence, values = bench.experiment.trace(length), {}
    for name, schedule, iterations in (
        ("asynchronous, n/2 activations", sequence, max(1, bench.network.n // 2)),
        ("asynchronous, all edges used", sequence, length),
        ("synchronous, 1 iteration", Synchronous(), 1),
        ("synchronous, 5 iterations", Synchronous(), 5),
    ):
        report = audit(
            bench.problem, mask=GaussianMask(1.0), corrupt=corrupt, method="elimination",
            schedule=schedule, theta=1.0, c=bench.c, seen=Transcript(iterations),
        )  # fmt: skip
        values[name] = float(report.leakage[bench.node])
    complete = values["asynchronous, all edges used"]
    gap = values["synchronous, 5 iterations"] - complete
    return Claim(
        "asynchronous schemes reveal less than synchronous ones, to whoever keeps the transcript",
        "not in the paper, which looks at one iteration", "transcript",
        {"I(S_i; transcript), one corrupt neighbour and all channels tapped, nats": values, "difference": gap},
        *verdict(
            {HOLDS: gap > 1e-6, FAILS: True},
            {HOLDS: f"asynchronous reveals {gap:.2g} nats less",
             FAILS: f"{complete:.4g} nats with both, once every directed edge has carried a message" if abs(gap) <= 1e-6
                    else f"asynchronous reveals {-gap:.2g} nats more"},
        ),
    )  # fmt: skip


def _woken(bench: Bench, length: int) -> list[int]:
    trace = bench.experiment.trace(length)
    assert isinstance(trace, NodeSchedule)
    return [int(i) for i in trace.nodes(bench.network, 0, 0, length)]


MEASUREMENTS: list[Callable[[Bench], Claim]] = [
    converges, theta_order, accuracy, psi_vanishes, perp_stays, two_updates, synchronous_equality, bound_holds,
    bound_orders_schedules, variance_is_higher, noise_hides, snapshot_order, transcript_order,
]  # fmt: skip
