"""What products show, against enumeration of all of them, and against a sample with densities by quadrature."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.integrate import quad

from sottovoce.baselines.paillier_leakage import posterior_entropy, real_products, whole_products


def entropy(weights):
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w > 0)


def by_enumeration(neighbours, deviation, top):
    """``I(X_j; y | X_i)`` over all states and weights, with rounded Gaussian states."""
    reach = math.ceil(6 * deviation)
    edges = [math.erf((x + 0.5) / (deviation * math.sqrt(2))) for x in range(-reach - 1, reach + 1)]
    pmf = dict(zip(range(-reach, reach + 1), np.diff(edges) / 2, strict=True))
    seen = defaultdict(Counter)
    for x, *known in itertools.product(pmf, repeat=1 + neighbours):
        share = math.prod(pmf[value] for value in (x, *known))
        for weights in itertools.product(range(1, top + 1), repeat=neighbours):
            view = tuple(known), tuple(a * (x - own) for a, own in zip(weights, known, strict=True))
            seen[view][x] += share / top**neighbours
    left = sum(sum(posterior.values()) * entropy(posterior.values()) for posterior in seen.values())
    return entropy(pmf.values()) - left


@pytest.mark.parametrize(("neighbours", "deviation", "top"), [(1, 6.0, 12), (1, 3.0, 40), (2, 1.5, 3)])
def test_divisors_against_enumeration(neighbours, deviation, top):
    """Standard error of 4000 draws of an entropy below 2 nats is at most 0.016; rounding Gaussian states instead of
    taking the density at whole numbers is worth ``1/(24 deviation^2)``, below 0.02."""
    found = whole_products(neighbours, deviation, top, 4000)
    assert found == pytest.approx(by_enumeration(neighbours, deviation, top), abs=0.07)


def test_longer_weights_hide_little_more():
    """Of the 34.7 nats of a secret, 1.5 are left with weights of 8 bits, and 1.8 to 1.9 with 16 or 18 (400 draws by
    factoring); standard errors of 100 draws are 0.13, and four of them are allowed."""
    left = []
    for bits in (8, 16, 18):
        rng = np.random.default_rng(bits)
        left.append(np.mean([posterior_entropy(rng, 1, 2.0**48, 2**bits) for _ in range(100)]))
    assert left == pytest.approx([1.52, 1.83, 1.9], abs=0.52)


def test_real_products_against_a_sample():
    """The mean of ``ln p(y | s_j, s_i) / p(y | s_i)``, whose densities share nothing with the integral: 1500 draws,
    five standard errors."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(1500):
        mine, yours = rng.standard_normal(2)
        t = yours - mine
        y = rng.uniform() * t
        sign = math.copysign(1, y)

        def of_t(t, sign=sign, mine=mine):
            return math.exp(-0.5 * (sign * t + mine) ** 2) / (t * math.sqrt(2 * math.pi))

        middle = max(abs(y), abs(mine), 1e-9)
        density = quad(of_t, abs(y), middle, limit=200)[0] + quad(of_t, middle, np.inf, limit=200)[0]
        found.append(-math.log(abs(t)) - math.log(density))
    assert np.std(found) / math.sqrt(len(found)) < 0.03
    assert real_products() == pytest.approx(np.mean(found), abs=5 * np.std(found) / math.sqrt(len(found)))
