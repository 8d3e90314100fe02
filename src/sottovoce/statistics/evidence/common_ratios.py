"""One odds ratio and one risk ratio of strata that are parties: their sums, and nobody's own table.

With ``a, b, c, d`` of a party and ``T`` their sum (K. J. Rothman, S. Greenland and T. L. Lash, Modern Epidemiology, 3rd
ed., chapter 15):

    OR = sum R / sum S,  R = ad/T,  S = bc/T
    var log OR = sum PR / (2 (sum R)^2) + sum (PS + QR) / (2 sum R sum S) + sum QS / (2 (sum S)^2),
        P = (a + d)/T,  Q = (b + c)/T                                 (Robins, Breslow and Greenland 1986)
    RR = sum a(c + d)/T / sum c(a + b)/T
    var log RR = sum ((a + b)(c + d)(a + c) - acT)/T^2 / (numerator x denominator of RR)    (Greenland and Robins 1985)
    chi2 = (|sum a - sum E| - correction)^2 / sum V,  E = (a + b)(a + c)/T,
        V = (a + b)(c + d)(a + c)(b + d) / (T^2 (T - 1))

Each sum is at most a margin of the table of all rows, which is agreed on first: in units of it none is above 1.
"""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...pdmm.modular_mask import Integers

TERMS = 9


def flags(table: Integers) -> list[int]:
    """Whether a party's table has no empty margin, and whether it adds to the four sums that are below a line."""
    a, b, c, d = table.tolist()
    return [int(x > 0) for x in (min(a + b, c + d, a + c, b + d), a * d, b * c, a * (c + d), c * (a + b))]


def terms(table: Integers) -> Array:
    """What a party adds to the sums above: nothing where it has at most one row."""
    a, b, c, d = table.astype(np.float64)
    T = a + b + c + d
    if T < 2:
        return np.zeros(TERMS)
    R, S, P, Q = a * d / T, b * c / T, (a + d) / T, (b + c) / T
    spread = ((a + b) * (c + d) * (a + c) - a * c * T) / T**2
    variance = (a + b) * (c + d) * (a + c) * (b + d) / (T**2 * (T - 1))
    return np.array([R, S, P * R, P * S + Q * R, Q * S, a * (c + d) / T, c * (a + b) / T, spread, variance])


def bounds(table: Integers) -> Array:
    """What the sums are at most: ``ad/T <= min(a, d)``, and so on. 1 where that is 0."""
    a, b, c, d = table.tolist()
    exposed, others, ill = a + b, c + d, a + c
    R, S = min(a, d), min(b, c)
    most = [R, S, R, R + S, S, min(a, others), min(c, exposed), min(ill, exposed, others), min(ill, exposed, others)]
    return np.maximum(np.array(most, dtype=np.float64), 1.0)


def estimates(sums: Array) -> tuple[float, float, float, float, float, float]:
    """Odds ratio and risk ratio, each with the error of its logarithm; the excess and its variance."""
    R, S, PR, mixed, QS, above, below, spread, variance = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = R / S, np.sqrt((PR / R**2 + mixed / (R * S) + QS / S**2) / 2)
        risks = above / below, np.sqrt(spread / (above * below))
    excess = R - S  # a - (a + b)(a + c)/T = (ad - bc)/T
    return float(odds[0]), float(odds[1]), float(risks[0]), float(risks[1]), float(excess), float(variance)
