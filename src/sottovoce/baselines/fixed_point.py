"""Numbers as whole multiples of a resolution, modulo something: what shares are made of.

Sums of them are exact, as long as they do not wrap around. Each party can only look at its own number, so all must be
so small that no sum can: ``n |s_i| < modulus / 2``. The sign comes back because residues stand for the numbers next to
zero.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import InvalidInput
from ..network import Network

Integers = npt.NDArray[Any]  # of Python's integers, which have any size

RESOLUTION = 2.0**-20


def in_units(s: Array, resolution: float, modulus: int, network: Network, cure: str) -> Integers:
    """``s (n, d)`` in units of the resolution, rounded, modulo ``modulus``; refused where a sum could wrap around."""
    largest = (modulus - 1) // 2 // network.n
    units = np.empty(s.shape, dtype=object)
    with np.errstate(over="ignore"):
        rounded = np.rint(s / resolution)
    for (i, k), unit in np.ndenumerate(rounded):
        if not np.isfinite(unit) or abs(int(unit)) > largest:
            raise InvalidInput(
                f"the sum could wrap around: modulo {told(modulus)}, in steps of {resolution:g} and with {network.n} "
                f"nodes, every |s_i| must be at most {largest * resolution:.6g}; node {network.name(i)} holds more. "
                f"{cure}"
            )
        units[i, k] = int(unit) % modulus
    return units


def mean_of(total: Integers, resolution: float, modulus: int, count: int) -> Array:
    """The mean of ``count`` numbers, from their sum in units modulo ``modulus``: rounded once, to the nearest float."""
    centred = ((int(unit) + modulus // 2) % modulus - modulus // 2 for unit in total)
    return np.array([float(unit * Fraction(resolution) / count) for unit in centred])


def told(modulus: int) -> str:
    """A modulus in a sentence."""
    bits = modulus.bit_length()
    if modulus == 2 ** (bits - 1):
        return f"2^{bits - 1}"
    return f"2^{bits} - 1" if modulus == 2**bits - 1 else f"a number of {bits} bits"
