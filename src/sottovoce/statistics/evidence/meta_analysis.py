"""Meta-analysis without anybody showing its own estimate: sums of weights, and of weighted estimates.

With estimates ``y`` of variance ``v`` and ``w = 1/v`` (R. DerSimonian and N. Laird, Controlled Clinical Trials 7 (1986)
177):

    m = sum wy / sum w,  Q = sum wy^2 - (sum wy)^2 / sum w,  C = sum w - sum w^2 / sum w
    tau2 = max(0, (Q - df) / C),  w* = 1 / (v + tau2),  m* = sum w*y / sum w*

Weights may be of any size, so the parties find a common unit first: ``u = 4^j`` near their geometric mean. A weight is
rounded to a multiple of 2^-56 of ``u``, and an estimate to one of 2^-56 of ``u^(-1/2)``, the error that belongs to
``u``. From there on nothing is rounded. As ``sum w`` is at least ``k`` times the geometric mean, it keeps 16 digits;
``m`` is off by 2^-57 of a typical standard error at most. Sums of ``wy^2`` fit while no estimate is more than 2^35 of
its standard errors from 0, and of ``w^2`` while no weight is beyond 2^60 of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from ...errors import Undetermined
from ...sums import Beyond
from ..agreements import Objected
from .effects import Estimate
from .meta_result import MetaAnalysis

if TYPE_CHECKING:
    from ..agreements import Agreements

GRID = 56
STAGES = 3
NUMBERS = 2 + 4 + 2
Study = Estimate | None | Beyond  # a party without an estimate, or whose rows are beyond what integers hold


class _Fixed(NamedTuple):
    """What the parties hold of the model of one effect, in units in which a typical weight is 1."""

    weight: Fraction
    mean: Fraction
    q: Fraction
    tau2: Fraction


def meta_program(agreements: Agreements, studies: Sequence[Study], effect: str, nobody: str) -> MetaAnalysis:
    """What the local parties do, with an estimate each or none. ``nobody``: the sentence where no party has one."""
    k, j = _common_unit(agreements, studies, nobody)
    scaled = [_scaled(each, j) if isinstance(each, Estimate) else None for each in studies]
    fixed = _fixed(agreements, scaled, k)
    weight, mean = fixed.weight, fixed.mean
    if fixed.tau2:
        weight, shift = _random(agreements, scaled, fixed, k)
        mean += shift
    error = _power(2, -j)
    return MetaAnalysis(
        *agreements.made,
        effect=effect,
        studies=k,
        fixed=float(fixed.mean * error),
        fixed_se=_root(error**2 / fixed.weight),
        random=float(mean * error),
        random_se=_root(error**2 / weight),
        q=float(fixed.q),
        tau2=float(fixed.tau2 * error**2),
    )


def _common_unit(agreements: Agreements, studies: Sequence[Study], nobody: str) -> tuple[int, int]:
    """How many have an estimate, and ``j`` of the unit ``4^j`` of weights."""
    orders = [
        None if isinstance(each, Beyond) else [0, 0] if each is None else [_order(1 / each.variance), 1]
        for each in studies
    ]
    of = "binary orders of the weights of parties, and how many have one"
    total, k = agreements.sum(orders, of=of, size=2).tolist()
    if not k:
        raise Undetermined(nobody)
    return k, round(Fraction(total, 2 * k))


def _fixed(agreements: Agreements, studies: Sequence[Estimate | None], k: int) -> _Fixed:
    rounded = [[0, 0] if each is None else [_on_grid(1 / each.variance), _on_grid(each.value)] for each in studies]
    own = [[w, w * y, w * y * y, w * w] for w, y in rounded]
    try:
        sums = agreements.sum(own, of="weights, weighted estimates and their squares, and squares of weights")
    except Objected:
        raise Undetermined(
            "the estimates of the parties are of sizes too different: one is more than 2^35 of its standard errors "
            "from 0, or its weight is more than 2^60 times the typical one. Look for estimates in other units."
        ) from None
    S, Sy, Syy, SS = (
        Fraction(int(total), 2 ** (GRID * power)) for total, power in zip(sums, (1, 2, 3, 2), strict=True)
    )
    mean, q, C = Sy / S, Syy - Sy**2 / S, S - SS / S
    tau2 = max(Fraction(0), (q - (k - 1)) / C) if C else Fraction(0)
    return _Fixed(S, mean, q, tau2)


def _random(
    agreements: Agreements, studies: Sequence[Estimate | None], fixed: _Fixed, k: int
) -> tuple[Fraction, Fraction]:
    """``sum w*`` and ``m* - m``. The unit is the ``w*`` of the mean weight: ``sum w*`` is from 1 to ``k`` of it, as
    ``1 / (1/w + tau2)`` is concave in ``w``. And ``w* (y - m)^2`` is ``Q`` at most."""
    typical = 1 / (k / fixed.weight + fixed.tau2)
    size = _power(2, -(_order(typical) // 2))
    own = []
    for each in studies:
        share = 0 if each is None else 1 / ((each.variance + fixed.tau2) * typical)
        apart = 0 if each is None else (each.value - fixed.mean) / size
        own.append([_on_grid(share), _on_grid(share * apart)])
    of = "weights with the variance between parties, and weighted estimates"
    weight, moved = agreements.sum(own, of=of).tolist()
    return typical * Fraction(weight, 2**GRID), size * Fraction(moved, weight)


def _scaled(study: Estimate, j: int) -> Estimate:
    """In units in which a weight of ``4^j`` is 1."""
    return Estimate(study.value * _power(2, j), study.variance * _power(4, j))


def _order(number: Fraction) -> int:
    """The binary logarithm, to within 1."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def _power(base: int, exponent: int) -> Fraction:
    return Fraction(base) ** exponent


def _on_grid(number: Fraction | int) -> int:
    return round(number * (1 << GRID))


def _root(number: Fraction) -> float:
    """A square root, of numbers beyond float64 as well."""
    half = _order(number) // 2
    return math.ldexp(math.sqrt(number / _power(4, half)), half)
