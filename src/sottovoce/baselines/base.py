"""One interface for all methods: what they are, what a run of one gave and took, and what it gave away."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..costs import Averaging
from ..costs.base import Array
from ..errors import InvalidInput, Unsupported
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.problem import Problem
from ..pdmm.settings import whole_number
from ..privacy.adversary import Adversary

Family = Literal[
    "without privacy",
    "subspace perturbation",
    "differential privacy",
    "secret sharing",
    "homomorphic encryption",
]
Kind = Literal["exact", "bound", "attack", "computational"]
Numbers = Problem | npt.ArrayLike | Mapping[Any, Any]
FLOAT = 8  # bytes of a number


@dataclass(frozen=True, eq=False)
class Leakage:
    """What each party gave away to an adversary, in nats.

    Parameters
    ----------
    nats : ndarray
        ``(n,)``: ``I(S_i; view)``, or what a named attack finds at least; ``nan`` at corrupt nodes, ``inf`` where a
        number is disclosed.
    kind : {"exact", "bound", "attack", "computational"}
        ``"bound"``: at most so much. ``"computational"``: in information there is no limit, and ``nats`` are those of
        what shows even to somebody who cannot break the cipher.
    told : str
        How it was found, or which attack, and what still shows.

    Examples
    --------
    >>> import numpy as np
    >>> Leakage(np.array([0.1, np.nan, 0.3]), "exact", "posterior covariance").worst
    0.3
    """

    nats: Array
    kind: Kind
    told: str

    @property
    def worst(self) -> float:
        """Of the honest node that gives away most."""
        return float(np.nanmax(self.nats))


@dataclass(frozen=True)
class Traffic:
    """What a run sends.

    Parameters
    ----------
    messages : int
        From one party to another; through a server, each way counts.
    bytes : int
        What they hold, without the framing of a transport: 8 a number, a share or ciphertext as it is.
    rounds : int
        Times that parties wait for one another.

    Examples
    --------
    >>> Traffic(messages=18, bytes=144, rounds=4).bytes
    144
    """

    messages: int
    bytes: int
    rounds: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a run of a method gave, took, and gave away.

    Parameters
    ----------
    method : Method
        With its parameters.
    problem : Problem
        What was asked.
    x : ndarray
        The answer of each node, ``(n, d)``; ``nan`` at nodes that dropped out.
    exact : ndarray
        The exact answer, ``(d,)``.
    traffic : Traffic
        Messages, bytes and rounds.
    seconds : float
        Of cryptography, summed over all parties; 0 where there is none.
    converged : bool
        Whether an iterative method came to its ``tol``; True for those that end by themselves.
    notes : tuple of str
        What has to be said about the figures, such as seconds that were extrapolated.
    view : callable
        From an adversary with numbered nodes, and the variance of a secret, to ``Leakage``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> method = baselines.SubspacePerturbation(variance=1e6)
    >>> outcome = method.run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    >>> outcome.converged, outcome.error < 1e-15
    (True, True)
    >>> outcome.leakage(sv.privacy.Coalition({0}) | sv.privacy.Eavesdropper()).kind
    'exact'
    """

    method: Method
    problem: Problem
    x: Array
    exact: Array
    traffic: Traffic
    seconds: float = 0.0
    converged: bool = True
    notes: tuple[str, ...] = ()
    view: Callable[[Adversary, float], Leakage] = field(repr=False)

    @property
    def error(self) -> float:
        """The mean over nodes, and entries, of ``(x_i - exact)^2``; ``nan`` where no node has an answer."""
        there = ~np.isnan(self.x).any(axis=1)
        return float(np.mean((self.x[there] - self.exact) ** 2)) if there.any() else float("nan")

    def leakage(self, adversary: Adversary, *, prior: float = 1.0) -> Leakage:
        """What each honest node gave away to this adversary, whose taps read what the method does not encrypt; for
        independent Gaussian secrets of variance ``prior``."""
        if not isinstance(adversary, Adversary):
            raise InvalidInput(
                f"leakage takes an adversary such as sv.privacy.Coalition({{0}}) | sv.privacy.Eavesdropper(); got "
                f"{adversary!r}."
            )
        if not (isinstance(prior, int | float) and 0 < prior < np.inf):
            raise InvalidInput(f"prior must be the variance of a secret, a positive number; got {prior!r}.")
        return self.view(adversary.on(self.problem.network), float(prior))


class Method(ABC):
    """The base of methods: a frozen dataclass of parameters, with what to know about it, and ``play``.

    ``name``, ``family`` and ``reference`` say what it is; ``needs`` what must be there, ``breaks`` who must collude,
    and ``survives`` who may drop out. ``hides`` names the parameter that leakage depends on, where there is one: a
    comparison sweeps it. ``noisy`` methods pay for it with the error of their answer. Iterative methods have the fields
    ``tol`` and ``max_rounds``.

    Examples
    --------
    >>> from sottovoce import baselines
    >>> baselines.SubspacePerturbation.family, baselines.SubspacePerturbation.hides
    ('subspace perturbation', 'variance')
    """

    name: ClassVar[str]
    family: ClassVar[Family]
    reference: ClassVar[str]
    needs: ClassVar[str]
    breaks: ClassVar[str]
    survives: ClassVar[str]
    hides: ClassVar[str] = ""
    noisy: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Its name, with what sets it apart from others of that name."""
        return self.name

    def run(self, problem: Numbers, network: Network | None = None, *, seed: int | None = None) -> Outcome:
        """Play it once: on a problem, or on numbers (one, or a vector, per node) and a network, whose mean is wanted.

        A seed fixes everything that is random, and so no secret is kept; without one, randomness comes from the
        operating system.
        """
        whole_number(seed, "seed")
        if isinstance(problem, Problem):
            if network is not None and network is not problem.network:
                raise InvalidInput("a problem has a network of its own: leave network out, or give the numbers.")
        elif network is None:
            raise InvalidInput("numbers need a network to be averaged on: run(numbers, network).")
        else:
            problem = averaging(network, problem)
        return self.play(problem, seed)

    @abstractmethod
    def play(self, problem: Problem, seed: int | None) -> Outcome:
        """The run itself."""

    def traffic(self, network: Network, dim: int = 1) -> Traffic | None:
        """What a run sends, where that is known beforehand; None where it depends on the data."""
        return None

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        """The same method with other steps (a penalty, a step size, a number of rounds), for a comparison to choose
        from, on other data than those it reports; what was given stays, and where nothing is left to choose, it is
        itself alone."""
        return (self,)


def numbers_of(problem: Problem, method: Method) -> Array:
    """The secrets ``(n, d)`` of an averaging problem; a method that only adds up refuses others."""
    if not problem.consensus or any(type(cost) is not Averaging for _, cost in problem.groups):
        raise Unsupported(f"{method.name} is for means: give numbers, or sv.averaging(network, s); got {problem!r}.")
    s = np.empty((problem.network.n, problem.dim))
    for nodes, cost in problem.groups:
        assert isinstance(cost, Averaging)
        s[nodes] = cost.s
    return s


def randomness(seed: int | None) -> random.Random:
    """Whole numbers of any size, at random: from the operating system, or from a seed and then not secret."""
    return random.SystemRandom() if seed is None else random.Random(seed)


def positive(value: float, name: str) -> float:
    """A parameter of a method that must be a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise InvalidInput(f"{name} must be a positive number; got {value!r}.")
    return float(value)
