"""The method of the paper, for comparison with the others: stochastic PDMM with subspace perturbation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput
from ..pdmm.guess import guess_c
from ..pdmm.local_noise import LocalNoise
from ..pdmm.masks import GaussianMask
from ..pdmm.overlay import matched, settled_overlay
from ..pdmm.problem import Problem
from ..pdmm.reference import Run
from ..pdmm.settings import settle
from ..pdmm.solve import start
from ..privacy.adversary import Adversary
from ..privacy.audit import audit
from ..privacy.methods.leaks import Guarantee
from .base import FLOAT, Family, Kind, Leakage, Method, Outcome, Traffic, positive
from .optimum import optimum, reached

THETAS = (1.0, 0.9, 0.8, 0.5)


def penalties(problem: Problem) -> list[float]:
    """Values of ``c`` to choose from, about what curvature and graph suggest."""
    guess = guess_c(problem)
    return [guess * 2.0**power for power in (0, 1, -1, 2, -2, 3, -3, 4, -4)]


def run_to(exact: Array, tol: float, max_rounds: int, run: Run) -> tuple[Array, Traffic, bool]:
    """``x (n, d)`` of a synchronous run once it has come to the exact answer, or after so many rounds; what was sent
    until then, and whether it came. A node computes ``x`` before it sends: what it says afterwards is not needed."""
    while True:
        messages, rounds = run.messages, run.iteration
        run.advance(1)
        x = np.reshape(run.x, (-1, len(exact)))
        if (done := reached(x, exact, tol)) or rounds >= max_rounds:
            return x, Traffic(messages, FLOAT * len(exact) * messages, rounds), done


@dataclass(frozen=True)
class SubspacePerturbation(Method):
    """PDMM from random ``z(0)`` (the paper, section 4), over all edges or a spanning tree.

    Parameters
    ----------
    variance : float
        Of a pad.
    c : float or "auto"
        The step parameter.
    theta : float, optional
        1 is PDMM, 1/2 is ADMM; tuned with ``c`` by default.
    overlay : "all" or "tree"
        The edges that messages use.
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most iterations.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.SubspacePerturbation(overlay="tree").run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> outcome.traffic.messages, [round(float(x), 6) for x in outcome.x[:, 0]]
    (18, [2.25, 2.25, 2.25, 2.25])
    """

    variance: float = 1e8
    c: float | Literal["auto"] = "auto"
    theta: float | None = None
    overlay: Literal["all", "tree"] = "all"
    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "subspace perturbation"
    family: ClassVar[Family] = "subspace perturbation"
    reference: ClassVar[str] = "Li, Heusdens, Christensen 2020; the paper, section 4"
    needs: ClassVar[str] = "pads on every edge, from the keys of its ends"
    breaks: ClassVar[str] = "the honest graph is cut: sums of its parts are disclosed"
    survives: ClassVar[str] = "nobody before the end; later a neighbour may adopt what a party left"
    hides: ClassVar[str] = "variance"

    @property
    def label(self) -> str:
        return self.name + (", tree" if self.overlay == "tree" else "")

    def __post_init__(self) -> None:
        positive(self.variance, "variance")
        positive(self.tol, "tol")
        if self.overlay not in ("all", "tree"):
            raise InvalidInput(f"overlay must be 'all' or 'tree'; got {self.overlay!r}.")

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        on = settled_overlay(problem.network, self.overlay)
        if on is not None and matched(problem, on) is not None:  # its penalties are known
            return (self,)
        thetas = (THETAS if problem.irregular is None else THETAS[1:]) if self.theta is None else (self.theta,)
        steps = penalties(problem) if isinstance(self.c, str) else [self.c]
        return tuple(replace(self, c=c, theta=theta) for theta in thetas for c in steps)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        mask, exact = GaussianMask(self.variance), optimum(problem)
        how = settle(problem, c=self.c, theta=self.theta, overlay=self.overlay, mask=mask, seed=seed)
        x, sent, done = run_to(exact, self.tol, self.max_rounds, start(problem, how))

        def view(adversary: Adversary, prior: float) -> Leakage:
            return self.audited(problem, adversary, prior)

        return Outcome(method=self, problem=problem, x=x, exact=exact, traffic=sent, converged=done, view=view)

    def audited(self, problem: Problem, adversary: Adversary, prior: float, noise: LocalNoise | None = None) -> Leakage:
        """The auditor's answer, over open channels."""
        mask = GaussianMask(self.variance)
        report = audit(
            problem, mask, noise=noise, against=adversary, prior=prior, c=self.c, theta=self.theta,
            overlay=self.overlay, seed=0,
        )  # fmt: skip
        kinds: dict[Guarantee, Kind] = {"exact": "exact", "none": "attack"}
        return Leakage(report.leakage, kinds.get(report.guarantee, "bound"), report.method)
