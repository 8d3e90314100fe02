"""Uniform pads: how much worse than Gaussian ones they are, as a bound that can be printed (theory: Bad pads).

For ``f_i = (a/2)(x - s_i)^2`` a coalition that taps the channels knows every ``x`` (errata 8), hence every
``e_ij = z_{i|j}(0) - z_{j|i}(0)``, and of node ``i``

    Y_i = q_i + sum_{j honest} A_ij u_ij,     q_i = -a s_i,     u_ij = (z_{i|j}(0) + z_{j|i}(0)) / 2

It knows more, so ``I(S_i; Y_i, e_i)`` is a lower bound on what it learns. Secrets do not depend on ``e``, and for
uniform pads on ``+-b`` each ``u_ij`` given ``e`` is uniform on ``+-w_ij``, ``w_ij = b - |e_ij|/2``. Their sum is ``N``:

    I(S_i; Y_i, e_i) = E_e[ h(Y_i | e) - h(N | e) ]                                    S_i Gaussian

For Gaussian pads ``u`` and ``e`` are independent: with ``h`` honest neighbours the same quantity is

    (1/2) ln(1 + a^2 sigma_s^2 / v),     v = h sigma^2 / 2

Uniform pads always leak more. Given ``e``, Gaussian noise of the variance of ``N`` would hide a Gaussian secret best,
and that variance has the mean ``v`` over ``e``, in which the logarithm is convex.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft
from scipy.integrate import trapezoid
from scipy.special import entr, ndtr

from ...costs.base import Array
from ...errors import InvalidInput, Unsupported, is_number
from ...network import names
from ...pdmm.masks import UniformMask
from ...pdmm.problem import Problem
from ...pdmm.settings import positive_integer
from ..adversary import node_numbers

TAILS = 10.0  # standard deviations: the Gaussian density beyond is 1e-22 of its peak
RESOLUTION = 4  # grid points per standard deviation of the secret: its spectrum ends at exp(-79)
POINTS = 2**13, 2**18  # of a grid, at least and at most: seconds for all draws
INTEGRATED = 2  # honest neighbours up to which the mean over e is an integral, not a sample
NODES = 32  # of that integral, per neighbour


@dataclass(frozen=True)
class UniformLeak:
    """A lower bound on ``I(S_node; view)`` under uniform pads, and the same quantity under Gaussian ones, in nats.

    Made by ``uniform_attack``.

    Attributes
    ----------
    node
        About whom, by name or number.
    corrupt : frozenset
        The coalition, which taps open channels.
    honest_neighbours : int
        How many the node has.
    nats : float
        The bound; ``inf`` where no neighbour is honest.
    stderr : float
        That of the mean over draws, 0 where it was integrated.
    gaussian : float
        The same under Gaussian pads of the same variance, exact.
    method : str
        How the bound was found.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> sv.privacy.research.uniform_attack(problem, variance=100.0, corrupt={0}, node=1).honest_neighbours
    1
    """

    node: Any
    corrupt: frozenset[Any]
    honest_neighbours: int
    nats: float
    stderr: float
    gaussian: float
    method: str

    def __str__(self) -> str:
        spread = f" +- {self.stderr:.1g}" if self.stderr else ""
        coalition = ", ".join(sorted(str(node) for node in self.corrupt))
        return (
            f"Uniform pads leak at least {self.nats:.3g}{spread} nats about node {self.node} to a "
            f"coalition [{coalition}] that taps open channels ({self.method}); Gaussian pads of the same "
            f"variance leak {self.gaussian:.3g} in the same way."
        )


def uniform_attack(
    problem: Problem,
    *,
    variance: float,
    prior_variance: float = 1.0,
    corrupt: Iterable[Hashable],
    node: Hashable,
    draws: int = 400,
    seed: int | None = None,
) -> UniformLeak:
    """What a coalition learns of ``S_node ~ N(0, prior_variance)`` at least, under ``UniformMask(variance)``.

    With one or two honest neighbours the mean over ``e`` is an integral; with more it is that of ``draws`` draws.

    Parameters
    ----------
    problem
        Averaging of numbers.
    variance, prior_variance
        Of a pad, and of the secret.
    corrupt
        The coalition, which taps open channels, by name or number.
    node
        About whom.
    draws, seed
        Of pads, where there are more than two honest neighbours.

    Returns
    -------
    UniformLeak
        Beside what Gaussian pads would leak.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [0, 0, 0, 0])
    >>> found = sv.privacy.research.uniform_attack(problem, variance=100.0, corrupt={0}, node=1)
    >>> found.nats > found.gaussian
    True
    """
    mask, network = UniformMask(variance), problem.network
    i, known = network.index(node), set(node_numbers(network, corrupt, "corrupt"))
    by = frozenset(names.labels(network, known))
    a = _curvature(problem, i, known, prior_variance)
    if positive_integer(draws, "draws") < 2:
        raise InvalidInput("draws must be at least 2: one has no spread.")
    honest = [j for j in network.around(i).tolist() if j not in known]
    h, tau = len(honest), a * math.sqrt(prior_variance)
    if h == 0:
        return UniformLeak(network.label(i), by, 0, math.inf, 0.0, math.inf, "no honest neighbour: disclosed")
    b = math.sqrt(3.0) * mask.sigma / tau
    w, share = integrated_widths(b, h) if h <= INTEGRATED else drawn_widths(mask, h, draws, seed, tau)
    if h == 1:
        nats, method = behind_one(w[:, 0]), "integrals"
    elif 2 * (h * b + TAILS) * RESOLUTION <= POINTS[1]:
        nats, method = np.array([behind_many(widths) for widths in w]), "entropies on a grid"
    else:
        nats, method = 0.5 * np.log1p(3 / np.sum(w**2, axis=1)), "as if Gaussian given the differences of pads"
    return UniformLeak(
        network.label(i),
        by,
        h,
        nats=float(share @ nats),
        stderr=0.0 if h <= INTEGRATED else float(nats.std(ddof=1) / math.sqrt(draws)),
        gaussian=0.5 * math.log1p(2 * tau**2 / (h * mask.variance)),
        method=method,
    )


def integrated_widths(b: float, h: int) -> tuple[Array, Array]:
    """Nodes ``(count, h)`` and weights of an integral over ``w``, each entry with the density ``2w/b^2`` up to ``b``.

    For one or two neighbours the leak is as heavy-tailed as ``1/w``, and a sample would understate its own error. Over
    ``ln w`` the integrand is smooth, but for a kink where two are equal: right to 1e-6 for one, to 4e-4 for two. Tiny
    ``w`` are left out, which lowers the bound by less than 1e-7 of it.
    """
    t, weight = np.polynomial.legendre.leggauss(NODES)
    lowest, highest = math.log(1e-4 * min(b, 1.0)), math.log(b)
    w = np.exp(lowest + (highest - lowest) * (t + 1) / 2)
    share = weight * (highest - lowest) * (w / b) ** 2
    if h == 1:
        return w[:, None], share
    i, j = np.triu_indices(NODES)  # the two may be swapped
    return np.column_stack([w[i], w[j]]), np.where(i == j, 1.0, 2.0) * share[i] * share[j]


def drawn_widths(mask: UniformMask, h: int, draws: int, seed: int | None, tau: float) -> tuple[Array, Array]:
    """``w`` of ``draws`` draws of the pads, ``(draws, h)``, each with the same weight."""
    one, other = mask.draw((2, draws, h), seed)
    w = math.sqrt(3.0) * mask.sigma - np.abs(one - other) / 2
    return np.maximum(w, mask.grid) / tau, np.full(draws, 1 / draws)  # of pads at opposite ends nothing is left


def behind_one(w: Array) -> Array:
    """``h(Y) - h(N)`` for ``Y = S + N``, ``S ~ N(0, 1)``, ``N`` uniform on ``+-w``, for many ``w``.

    ``2w`` times the density of ``Y`` is ``m(y) = Phi(y + w) - Phi(y - w)``, so the difference is the integral of
    ``-m ln m / (2w)``: it lives at the two edges, and nothing cancels however large ``w`` is.
    """
    inside = np.minimum(w, TAILS)
    t = np.linspace(-inside, TAILS, 201)  # y = w + t; by symmetry one half is enough
    m = ndtr(-t) - ndtr(-t - 2 * w)
    return np.asarray(trapezoid(entr(m), t, axis=0) / w)


def behind_many(w: Array) -> float:
    """``h(Y) - h(N)`` for ``Y = S + N``, ``S ~ N(0, 1)``, ``N`` a sum of uniforms on ``+-w_k``.

    ``Y`` is smooth and its entropy exact to rounding. ``N`` has kinks: from three parts on, its entropy is off by about
    ``(step/w)^2`` if all but two of them are narrow, 2 % of the difference at worst, and by far less if they are not.
    """
    trapezium = math.log(2 * w.max()) + w.min() / (2 * w.max())
    return _entropy(w, 1.0) - (trapezium if len(w) == 2 else _entropy(w, 0.0))


def _entropy(w: Array, spread: float) -> float:
    """Of a sum of uniforms on ``+-w_k`` and ``N(0, spread^2)``: its density by FFT of its characteristic function."""
    reach = float(w.sum()) + TAILS
    points = fft.next_fast_len(max(POINTS[0], math.ceil(2 * reach * RESOLUTION)), real=True)
    step = 2 * reach / points
    t = 2 * np.pi * np.arange(points // 2 + 1) / (points * step)
    spectrum = np.exp(-0.5 * (spread * t) ** 2)
    for width in w:
        spectrum *= np.sinc(width * t / np.pi)
    density = np.maximum(fft.irfft(spectrum, points), 0.0) / step
    return float(step * entr(density).sum())


def _curvature(problem: Problem, node: int, corrupt: Collection[int], prior_variance: float) -> float:
    form, name = problem.quadratic, problem.network.name(node)
    if form is None or form.Q.ndim != 1 or problem.dim != 1 or not problem.consensus:
        raise Unsupported(f"the bound is for averaging of numbers, sv.averaging(network, s); got {problem!r}.")
    if not len(corrupt):
        raise Unsupported("the bound is for a coalition: without a corrupt node x is not known. Name at least one.")
    if node in corrupt:
        raise InvalidInput(f"node {name} is corrupt itself; ask about an honest one.")
    if not (is_number(prior_variance) and 0 < prior_variance < math.inf):
        raise InvalidInput(f"prior_variance must be a positive number; got {prior_variance!r}.")
    if form.Q[node] <= 0:
        raise Unsupported(f"node {name} has no curvature, so its linear term does not stand for a secret s.")
    return float(form.Q[node])
