"""Pads and local noise together: the noise is that of all parties, and taps still see no number of anybody's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ..pdmm.local_noise import LocalNoise
from ..pdmm.problem import Problem
from ..privacy.adversary import Adversary
from .base import Family, Leakage, Method, Outcome, numbers_of, positive
from .subspace_perturbation import SubspacePerturbation


@dataclass(frozen=True)
class PaddedNoise(Method):
    """``N(0, noise)`` on every number once, and subspace perturbation of these (GOPA: Sabater, Bellet, Ramon 2022;
    DECOR: Allouah and others 2024, have the same covariance, pads that cancel and noise that does not).

    The view of a coalition with taps is ``S + N(0, (variance/8) L_h + noise I)``, the error ``noise/n`` in the mean. An
    exact answer cannot leak less than its floor; with noise it goes below. Against local noise alone, the same leakage
    costs about ``n`` times less error, as long as the honest graph holds together.

    Parameters
    ----------
    noise : float
        The variance of the noise on a number.
    variance : float
        Of a pad.
    overlay, c, theta, tol, max_rounds
        As of ``SubspacePerturbation``; the run ends at the mean of the noisy numbers.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.PaddedNoise(noise=1.0).run([3, 1, 4, 1], sv.Network.ring(4), seed=0)
    >>> round(outcome.leakage(sv.privacy.Coalition({0}) | sv.privacy.Eavesdropper()).worst, 4)
    0.0912
    """

    noise: float = 1.0
    variance: float = 1e8
    overlay: Literal["all", "tree"] = "tree"
    c: float | Literal["auto"] = "auto"
    theta: float | None = None
    tol: float = 1e-9
    max_rounds: int = 20_000

    name: ClassVar[str] = "pads and local noise"
    family: ClassVar[Family] = "differential privacy"
    reference: ClassVar[str] = "Sabater, Bellet, Ramon 2022; Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui 2024"
    needs: ClassVar[str] = "pads on every edge, from the keys of its ends"
    breaks: ClassVar[str] = "the honest graph is cut: then the noise of its parts alone is left"
    survives: ClassVar[str] = "nobody before the end; later a neighbour may adopt what a party left"
    hides: ClassVar[str] = "noise"
    noisy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self.noise, "noise")
        self.pads  # noqa: B018 - it checks the rest

    @property
    def pads(self) -> SubspacePerturbation:
        """The method that carries the noisy numbers."""
        return SubspacePerturbation(self.variance, self.c, self.theta, self.overlay, self.tol, self.max_rounds)

    def candidates(self, problem: Problem) -> tuple[Method, ...]:
        steps = self.pads.candidates(problem)
        return tuple(replace(self, c=one.c, theta=one.theta) for one in steps if isinstance(one, SubspacePerturbation))

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        exact = numbers_of(problem, self).mean(axis=0)
        noise = LocalNoise(self.noise)
        carried = self.pads.play(noise.on(problem, seed), seed)

        def view(adversary: Adversary, prior: float) -> Leakage:
            return self.pads.audited(problem, adversary, prior, noise)

        return replace(carried, method=self, problem=problem, exact=exact, view=view)
