"""What Paillier consensus shows to those who cannot break the cipher: lower bounds, each by an attack that works.

*A neighbour divides.* In the first round a corrupt neighbour ``i`` of ``j`` decrypts the whole number
``y = a (X_j - X_i)``, and knows ``X_i``. The weight ``a`` is one of the divisors of ``y``, few of which are in range,
and each gives one value of ``X_j``. Given ``X_j`` all weights are equally likely, so the posterior is the prior on
those few values, and ``I(X_j; y) = H(X_j) - E H(X_j | y)``. Of 35 nats in a number of 50 bits 1.8 are left; with
weights of 64 bits, whose products are quickly factored, 2.5 were. Several corrupt neighbours intersect what they find.

*Everybody learns the mean*, and a coalition every step over its own edges. So it knows the sum of the secrets of each
honest component: what its nodes have in the end, less what came in. Of a component of one node that is its secret.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import entr

from ..network import Network
from ..privacy.adversary import Adversary, honest_components
from .base import Leakage
from .paillier_exchange import WEIGHT
from .row_space import DISCLOSED

DRAWS = 200
SEED = 20  # of those draws: the same adversary learns the same twice


def shown(network: Network, adversary: Adversary, prior: float, unit: float, dim: int) -> Leakage:
    """Nats of each node, ``dim`` independent entries together."""
    nats = np.zeros(network.n)
    if not adversary.corrupt:
        return Leakage(nats, "computational", "taps read ciphertexts alone, and who talks to whom how often")
    corrupt = np.isin(np.arange(network.n), list(adversary.corrupt))
    nats[corrupt] = np.nan
    half = network.half_edges
    neighbours = np.bincount(half[corrupt[half[:, 1]], 0], minlength=network.n)
    for group in honest_components(network, adversary.corrupt):
        nats[group] = -0.5 * math.log1p(-1 / len(group)) if len(group) > 1 else np.inf
        for node in group[neighbours[group] > 0]:
            nats[node] = max(nats[node], whole_products(int(neighbours[node]), math.sqrt(prior) / unit))
    told = (
        f"at least: whole products of the first round have few divisors in range (mean of {DRAWS} draws), and sums of "
        "honest components are known in the end; products of real numbers, which nobody divides, would show at least "
        f"{real_products():.2f} nats to a neighbour"
    )
    return Leakage(dim * nats, "computational", told)


@cache
def whole_products(neighbours: int, deviation: float, top: int = WEIGHT, draws: int = DRAWS) -> float:
    """``I(X_j; y)`` in nats, for so many corrupt neighbours and states of this standard deviation, in units; ``inf``
    where one value alone fits."""
    rng = np.random.default_rng(SEED)
    prior = 0.5 * math.log(2 * math.pi * math.e) + math.log(deviation)  # H(X_j), to 1e-8 from one unit on
    left = float(np.mean([posterior_entropy(rng, neighbours, deviation, top) for _ in range(draws)]))
    return max(0.0, prior - left) if left > DISCLOSED else math.inf


def posterior_entropy(rng: np.random.Generator, neighbours: int, deviation: float, top: int) -> float:
    """``H(X_j | y)`` for one draw of states and weights."""
    x, *known = (int(value) for value in np.rint(deviation * rng.standard_normal(1 + neighbours)))
    weights = [int(weight) for weight in rng.integers(1, top + 1, neighbours)]
    products = [weight * (x - own) for weight, own in zip(weights, known, strict=True)]
    possible = states(known[0], x - known[0], weights[0], top)
    for own, product in zip(known[1:], products[1:], strict=True):
        possible = [state for state in possible if explains(state - own, product, top)]
    exponents = np.array([-0.5 * (state / deviation) ** 2 for state in possible])
    shares = np.exp(exponents - exponents.max())
    return float(entr(shares / shares.sum()).sum())


def states(own: int, difference: int, weight: int, top: int) -> list[int]:
    """What ``X_j`` may be for the neighbour who holds ``own`` and has decrypted ``weight difference``: one for each
    divisor up to ``top``. The product itself may be too large for an array, its remainders are not."""
    if difference == 0:
        return [own]
    divisors = np.arange(1, top + 1)
    fits = (difference % divisors) * (weight % divisors) % divisors == 0
    return [own + weight * difference // int(divisor) for divisor in divisors[fits]]


def explains(difference: int, product: int, top: int) -> bool:
    """Whether a weight in ``1 .. top`` makes this product of this difference."""
    if difference == 0 or product == 0:
        return difference == product
    return product % difference == 0 and 1 <= product // difference <= top


@cache
def real_products() -> float:
    """``I(S_j; Y | S_i)`` for ``Y = a (S_j - S_i)``, real ``a`` uniform on (0, 1) and Gaussian secrets of one variance,
    whichever: what is left where products cannot be divided.

    Given ``S_i = s`` the density of ``Y`` at ``y > 0`` is the integral of ``phi(t + s)/t`` over ``t > y``: in
    ``v = ln t`` it is smooth. Given both secrets ``Y`` is uniform on a length of ``|S_j - S_i|``, whose logarithm has
    the mean ``-gamma/2`` for secrets of variance 1.
    """
    from scipy.integrate import cumulative_simpson, simpson

    v = np.linspace(-40.0, 3.0, 8001)
    places, shares = np.polynomial.hermite_e.hermegauss(60)
    entropy = 0.0
    for s, share in zip(places, shares / shares.sum(), strict=True):  # both signs of Y: s is symmetric
        phi = np.exp(-0.5 * (np.exp(v) + s) ** 2) / math.sqrt(2 * math.pi)
        density = cumulative_simpson(phi[::-1], x=-v[::-1], initial=0.0)[::-1]
        surprise = -density * np.log(np.maximum(density, 1e-300)) * np.exp(v)
        entropy += 2 * share * simpson(surprise, x=v)
    return float(entropy + np.euler_gamma / 2)
