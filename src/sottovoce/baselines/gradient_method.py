"""What EXTRA and DIGing share: gradients of all nodes at once, a step size, and a run from 0 to the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ..costs.base import Array
from ..errors import Unsupported
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary
from .base import FLOAT, Leakage, Method, Outcome, Traffic, positive
from .metropolis import metropolis
from .optimum import optimum, reached
from .without_noise import first_messages, is_mean, of_a_mean

if TYPE_CHECKING:
    from scipy import sparse

Gradient = Callable[[Array], Array]
BLOWN = 1e8  # times the largest answer, or 1: no run that converges was ever so far
TOO_LONG = "diverged: the step is too long"


class End(NamedTuple):
    """Where a run ended."""

    x: Array
    rounds: int
    converged: bool
    diverged: bool


def follow(iterates: Iterator[Array], exact: Array, tol: float, max_rounds: int) -> End:
    """To the answer, to the last round, or until it is clear that the run diverges.

    ``iterates`` has the answers of all nodes after 0, 1, ... rounds. Of a run that diverged the last answers are kept
    that were not larger than ``BLOWN``.
    """
    largest, last = BLOWN * max(1.0, float(np.abs(exact).max())), None
    with np.errstate(all="ignore"):
        for rounds, x in enumerate(iterates):
            if not np.abs(x).max() <= largest:  # nor is NaN
                return End(np.zeros_like(x) if last is None else last, rounds, False, True)
            last = x
            if (done := reached(x, exact, tol)) or rounds >= max_rounds:
                return End(x, rounds, done, False)
    raise AssertionError("iterates has no end")


def gradients(problem: Problem, method: Method) -> Gradient:
    """``x (n, d)`` to the gradients of all nodes; refused where a cost has none."""
    if not problem.consensus:
        raise Unsupported(f"{method.name} is for consensus, x_i = x_j on every edge; got other edge constraints.")
    for nodes, cost in problem.groups:
        if cost.gradient(np.zeros((len(nodes), cost.dim))) is None:
            raise Unsupported(
                f"{method.name} needs gradients, and {type(cost).__name__} has none: it is not differentiable, or does "
                "not say how. Use baselines.ADMM, which takes its step instead."
            )

    def gradient(x: Array) -> Array:
        g = np.empty_like(x)
        for nodes, cost in problem.groups:
            g[nodes] = cost.gradient(x[nodes])
        return g

    return gradient


def curvature(problem: Problem, method: Method) -> float:
    """``L``: the largest second derivative of any node's cost. Exact for quadratic, logistic and Huber costs, whose
    largest is at 0 or everywhere; of ``FromGradient`` that at 0, which need not be the largest."""
    largest = 0.0
    for nodes, cost in problem.groups:
        form = cost.quadratic
        second = form.Q if form is not None else cost.hessian(np.zeros((len(nodes), cost.dim)))
        second = cost.mean_curvature if second is None else second
        if second is None or not np.isfinite(second).all():
            largest = np.nan
        else:
            largest = max(largest, float((np.linalg.eigvalsh(second) if second.ndim > 1 else second).max()))
    if not 0 < largest < np.inf:
        raise Unsupported(f"{method.name}: the costs do not tell their curvature at 0. Give step, a positive number.")
    return largest


@dataclass(frozen=True)
class GradientMethod(Method):
    """The base of gradient methods with Metropolis weights, which start from ``x(0) = 0``.

    Parameters
    ----------
    step : float or "auto"
        The step size ``al``.
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most rounds.
    """

    step: float | Literal["auto"] = "auto"
    tol: float = 1e-9
    max_rounds: int = 20_000

    vectors: ClassVar[int]  # a message

    def __post_init__(self) -> None:
        if self.step != "auto":
            positive(self.step, "step")
        positive(self.tol, "tol")
        positive_integer(self.max_rounds, "max_rounds")

    @abstractmethod
    def suggested(self, problem: Problem) -> float:
        """The step size that theory suggests."""

    @abstractmethod
    def iterates(self, W: sparse.csr_array[Any], gradient: Gradient, x: Array, step: float) -> Iterator[Array]:
        """The answers of all nodes after 0, 1, ... rounds, from ``x``."""

    def candidates(self, problem: Problem) -> tuple[Self, ...]:
        if self.step != "auto":
            return (self,)
        middle = self.suggested(problem)  # first: what is slower is given up early
        return tuple(replace(self, step=middle * 2.0 ** (power / 2)) for power in sorted(range(-8, 7), key=abs))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        gradient, network = gradients(problem, self), problem.network
        exact, step = optimum(problem), self.suggested(problem) if self.step == "auto" else self.step
        start = np.zeros((network.n, problem.dim))
        end = follow(self.iterates(metropolis(network), gradient, start, step), exact, self.tol, self.max_rounds)
        messages = 2 * network.m * end.rounds
        sent = Traffic(messages, FLOAT * self.vectors * problem.dim * messages, end.rounds)

        def view(adversary: Adversary, prior: float) -> Leakage:
            if is_mean(problem):
                return of_a_mean(problem, adversary, end.rounds)
            return first_messages(network, adversary, end.rounds, "its gradient at 0")

        notes = (TOO_LONG,) if end.diverged else ()
        return Outcome(
            method=self, problem=problem, x=end.x, exact=exact, traffic=sent, converged=end.converged, notes=notes,
            view=view,
        )  # fmt: skip
