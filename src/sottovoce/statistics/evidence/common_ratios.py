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

Fractions of other denominators cannot be added in whole numbers, so a party rounds its terms to multiples of 2^-160. A
term that is not 0 is 1/T^3 at least: of up to 2^35 rows it keeps 2^-54 of itself, the digits of a float64, and a sum is
0 only where all terms are. A term is T at most, so sums over 2^16 parties of 2^40 rows stay below 2^217 in these units.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...pdmm.modular_mask import Integers

TERMS = 9
GRID = 160


def terms(table: Integers) -> list[int]:
    """What a party adds to the sums above, in multiples of ``2^-GRID``: nothing where it has at most one row."""
    a, b, c, d = (int(count) for count in table)
    T = a + b + c + d
    if T < 2:
        return [0] * TERMS
    R, S, P, Q = (Fraction(part, T) for part in (a * d, b * c, a + d, b + c))
    spread = Fraction((a + b) * (c + d) * (a + c) - a * c * T, T**2)
    variance = Fraction((a + b) * (c + d) * (a + c) * (b + d), T**2 * (T - 1))
    above, below = Fraction(a * (c + d), T), Fraction(c * (a + b), T)
    exact = [R, S, P * R, P * S + Q * R, Q * S, above, below, spread, variance]
    return [round(term * 2**GRID) for term in exact]


def says_something(table: Integers) -> bool:
    """Whether a party's table has no empty margin."""
    a, b, c, d = table.tolist()
    return bool(min(a + b, c + d, a + c, b + d) > 0)


def estimates(sums: list[int]) -> tuple[float, float, float, float, float, float]:
    """Odds ratio and the error of its logarithm, risk ratio and that error; the excess and its variance."""
    R, S, PR, mixed, QS, above, below, spread, variance = (Fraction(total, 2**GRID) for total in sums)
    of_odds = (PR / R**2 + mixed / (R * S) + QS / S**2) / 2 if R * S else None
    of_risks = spread / (above * below) if above * below else None
    excess = R - S  # a - (a + b)(a + c)/T = (ad - bc)/T
    return _ratio(R, S), _root(of_odds), _ratio(above, below), _root(of_risks), float(excess), float(variance)


def _ratio(above: Fraction, below: Fraction) -> float:
    if below:
        return float(above / below)
    return math.inf if above else math.nan


def _root(variance: Fraction | None) -> float:
    """The logarithm of a ratio that is 0 or infinite has no error."""
    return math.nan if variance is None else float(np.sqrt(float(variance)))
