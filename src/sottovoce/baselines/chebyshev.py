"""Chebyshev-accelerated averaging: the fast reference of methods that only talk to neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..costs.base import Array
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive
from .gradient_method import follow
from .metropolis import extremes, metropolis
from .optimum import optimum
from .without_noise import of_a_mean

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True)
class Chebyshev(Method):
    """Averaging by the best polynomial in ``W``: ``x(k) = T_k(F(W)) s / T_k(F(1))``, where ``F`` takes the eigenvalues
    of the Metropolis weights but the largest onto ``[-1, 1]`` (Golub and Varga 1961; Muthukrishnan, Ghosh, Schultz
    1998 for averages).

    Of all polynomials in ``W`` of a degree, this one has the smallest worst error over that interval: an oracle for how
    few rounds an iteration with these weights can take. There is nothing to tune. Conjugate gradients would need sums
    over all parties in every round.

    Parameters
    ----------
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most rounds.

    Raises
    ------
    InvalidInput
        Where a parameter is not a positive number.
    Unsupported
        When played, for costs other than ``Averaging``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.Chebyshev().run([3, 1, 4, 1], sv.Network.ring(4))
    >>> outcome.traffic.rounds, [round(float(x), 6) for x in outcome.x[:, 0]]
    (13, [2.25, 2.25, 2.25, 2.25])
    """

    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "Chebyshev averaging"
    family: ClassVar[Family] = "without privacy"
    reference: ClassVar[str] = "Golub, Varga 1961; Muthukrishnan, Ghosh, Schultz 1998"
    needs: ClassVar[str] = "the extreme eigenvalues of the weights, at every node"
    breaks: ClassVar[str] = "nobody need collude: every message is a function of data"
    survives: ClassVar[str] = "nobody"

    def __post_init__(self) -> None:
        positive(self.tol, "tol")
        positive_integer(self.max_rounds, "max_rounds")

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        s, exact, network = numbers_of(problem, self), optimum(problem), problem.network
        end = follow(iterates(metropolis(network), s, *extremes(network)), exact, self.tol, self.max_rounds)
        messages = 2 * network.m * end.rounds
        sent = Traffic(messages, FLOAT * problem.dim * messages, end.rounds)

        def view(adversary: Adversary, prior: float) -> Leakage:
            return of_a_mean(problem, adversary, end.rounds)

        return Outcome(
            method=self, problem=problem, x=end.x, exact=exact, traffic=sent, converged=end.converged, view=view
        )


def iterates(W: sparse.csr_array[Any], s: Array, least: float, second: float) -> Iterator[Array]:
    """The answers of all nodes after 0, 1, ... rounds: three terms, as ``T_{k+1} = 2 F T_k - T_{k-1}``.

    ``ratio`` is ``T_k(F(1)) / T_{k+1}(F(1))``, which goes to a number below 1 where ``T_k`` itself overflows.
    """
    middle, half = 0.5 * (second + least), max(0.5 * (second - least), 1e-12)  # all eigenvalues equal: a complete graph
    top = (1.0 - middle) / half
    before, x, ratio = s, s, 1.0 / top
    yield x
    x = ratio * (W @ s - middle * s) / half
    while True:
        yield x
        after = 1.0 / (2.0 * top - ratio)
        x, before, ratio = 2.0 * after * (W @ x - middle * x) / half - after * ratio * before, x, after
