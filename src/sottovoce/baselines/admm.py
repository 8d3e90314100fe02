"""ADMM without a mask: the paper's method at ``theta = 1/2`` from ``z(0) = 0``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self

from ..errors import Unsupported
from ..network import Network
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer, settle
from ..pdmm.solve import start
from ..privacy.adversary import Adversary
from .base import Family, Leakage, Method, Outcome, positive
from .optimum import optimum
from .subspace_perturbation import penalties, run_to
from .without_noise import Nodes, Space, first_messages, is_mean, of_a_mean


@dataclass(frozen=True)
class ADMM(Method):
    """Consensus ADMM over all edges, synchronously (Boyd, Parikh, Chu, Peleato, Eckstein 2011): what subspace
    perturbation is without its pads. It is the package's own engine, and agrees with ``sv.solve(theta=0.5)`` to the
    bit. For any cost of the package.

    Parameters
    ----------
    c : float or "auto"
        The penalty; ``"auto"`` tunes it by short runs on the same data.
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most iterations.

    Raises
    ------
    InvalidInput
        Where a parameter is not a positive number.
    Unsupported
        When played, for edge constraints other than consensus.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.ADMM(c=0.5).run([3, 1, 4, 1], sv.Network.ring(4))
    >>> outcome.converged, [round(float(x), 6) for x in outcome.x[:, 0]]
    (True, [2.25, 2.25, 2.25, 2.25])
    >>> outcome.leakage(sv.privacy.Eavesdropper()).worst
    inf
    """

    c: float | Literal["auto"] = "auto"
    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "ADMM"
    family: ClassVar[Family] = "without privacy"
    reference: ClassVar[str] = "Boyd, Parikh, Chu, Peleato, Eckstein 2011"
    needs: ClassVar[str] = "one penalty for all"
    breaks: ClassVar[str] = "nobody need collude: every message is a function of data"
    survives: ClassVar[str] = "nobody"

    def __post_init__(self) -> None:
        if self.c != "auto":
            positive(self.c, "c")
        positive(self.tol, "tol")
        positive_integer(self.max_rounds, "max_rounds")

    def candidates(self, problem: Problem) -> tuple[Self, ...]:
        return tuple(replace(self, c=c) for c in penalties(problem)) if self.c == "auto" else (self,)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        if not problem.consensus:
            raise Unsupported(f"{self.name} is for consensus, x_i = x_j on every edge; got other edge constraints.")
        exact, c = optimum(problem), settle(problem, theta=0.5, c=self.c).c
        run = start(problem, settle(problem, theta=0.5, c=c))
        x, sent, done = run_to(exact, self.tol, self.max_rounds, run)

        def view(adversary: Adversary, prior: float) -> Leakage:
            if not is_mean(problem):
                return first_messages(
                    problem.network, adversary, sent.rounds, "its own minimum, drawn to 0 by the penalty"
                )
            return of_a_mean(problem, adversary, sent.rounds, partial(hear, c=float(c)))

        return Outcome(method=self, problem=problem, x=x, exact=exact, traffic=sent, converged=done, view=view)


def hear(space: Space, network: Network, honest: Nodes, beside: Nodes, rounds: int, c: float) -> None:
    """What a coalition on its own edges hears of means: ``x_j(k)`` of its neighbours, ``k <= rounds``.

    From ``z(0) = 0`` the iteration lies in node space (engine: Node space). With ``e(k) = c (x(1) + ... + x(k-1))``

        x(k+1) = D (2s - d e/2 + Adj (e/2 + c x)),   D = 1/(2 + c d),   x(1) = 2 D s

    so ``(s, e, x)`` of honest nodes moves by one matrix, apart from what the coalition knows. Functionals of it are
    taken back to the start, a round at a time; by Cayley and Hamilton nothing is new after as many rounds as it has
    rows.
    """
    half, penalty, degrees = space.number(0.5), space.number(c), space.whole(network.degrees[honest])
    D = space.inverse(space.reduced(2 + penalty * degrees))
    around = space.whole(network.adjacency[honest][:, honest].toarray())
    of_s, of_e, of_x = space.zeros(len(beside)), space.zeros(len(beside)), space.unit(len(honest))[beside]
    for _ in range(min(rounds, 3 * len(honest))):
        drawn = space.reduced(of_x * D)
        of_s = space.reduced(of_s + 2 * drawn)
        space.add(of_s)
        if space.full:
            return
        pulled = space.times(drawn, around)
        pull = space.reduced(pulled - space.reduced(drawn * degrees))
        of_e, of_x = space.reduced(of_e + pull * half), space.reduced(penalty * space.reduced(of_e + pulled))
