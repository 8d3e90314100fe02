"""The natural logarithm of a rational number in whole numbers: the same on every machine, with any number of digits.

What ``math.log`` returns is not settled by IEEE 754: two machines may differ in the last bit, and parties that compare
likelihoods would go different ways.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

GUARD = 16  # bits beyond, which take up what is rounded down in some hundred terms


def logarithm(number: Fraction | int, bits: int) -> int:
    """``log(number)`` of a positive number in multiples of ``2^-bits``, to within one of them.

    Examples
    --------
    >>> import math
    >>> logarithm(Fraction(3, 4), 60) / 2**60 == math.log(0.75), logarithm(1, 60)
    (True, 0)
    """
    above, below = number.numerator, number.denominator
    power, work = above.bit_length() - below.bit_length(), bits + GUARD
    mantissa = (above << max(work - power, 0)) // (below << max(power - work, 0))  # from 1/2 to 2
    return (_near_one(mantissa, work) + power * _of_two(work) + (1 << GUARD - 1)) >> GUARD


@cache
def _of_two(work: int) -> int:
    return _near_one(2 << work, work)


def _near_one(number: int, work: int) -> int:
    """``log x = 2 (z + z^3/3 + z^5/5 + ...)`` with ``z = (x - 1) / (x + 1)``, which is at most 1/3."""
    one = 1 << work
    z = ((number - one) << work) // (number + one)
    square, power, total, k = (z * z) >> work, z, 0, 1
    while power not in (0, -1):  # a negative one is rounded down to -1
        total += power // k
        power, k = (power * square) >> work, k + 2
    return 2 * total
