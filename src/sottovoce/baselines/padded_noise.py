"""Pads and local noise together: the noise is that of all parties, and taps still see no number of anybody's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ..costs.base import Array
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
        noisy = LocalNoise(self.noise).on(problem, seed)
        carried = self.pads.play(noisy, seed)

        def view(adversary: Adversary, prior: float) -> Leakage:
            found = self.pads.audited(noisy, adversary, prior + self.noise)
            nats = problem.dim * with_noise(found.nats / problem.dim, prior, self.noise)
            return Leakage(nats, found.kind, f"{found.told}, on noisy numbers")

        return replace(carried, method=self, problem=problem, exact=exact, view=view)


def with_noise(nats: Array, prior: float, noise: float) -> Array:
    """``I(S_i; view)``, from the nats that the same view has about ``S'_i = S_i + N(0, noise)`` (a number, not a
    vector; of a vector with independent entries, an entry).

    The view depends on ``S`` through ``S'`` alone, and numbers are independent: ``E[S_i | S', view] = k S'_i`` with
    ``k = prior/(prior + noise)``. So ``E[S_i | view] = k E[S'_i | view]``, of variance ``k^2 R2'_i (prior + noise)``,
    and ``R2_i = k R2'_i``, whoever listens to whatever. Where ``S'_i`` is disclosed, ``R2_i = k``.
    """
    # 1 - R2 = (noise + prior e^{-2 I'})/(prior + noise), written so that small and large nats are right to rounding.
    return np.asarray(0.5 * np.log1p(prior * -np.expm1(-2 * nats) / (noise + prior * np.exp(-2 * nats))))
