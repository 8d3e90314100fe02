"""A public decimal unit of what is averaged (docs/explanation/exact-sums.md).

Secrets are measured in decimals, and a mask's grid is binary. What is rounded to it before it is added tells more than
its sum: the last bits say how the single numbers were rounded. With a unit ``s_i = k_i u`` the run adds ``-2 k_i`` and
pads that are multiples of ``2^-j``, which is exact, and multiplies by ``u`` afterwards. So the sum that is disclosed is
that of the integers ``k_i``, and nothing else is.

Pads keep their variance: with ``u = t 2^p``, ``t`` in ``[1, 2)``, everything is counted in steps of ``t``, in which an
integer of units is a multiple of ``2^p``, and a pad of variance ``sigma^2`` one of ``(sigma/t)^2``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..costs import Cost, Quadratic
from ..costs.base import Array
from ..errors import InvalidInput, PrecisionLost, is_number
from ..numerics.grid import grid, on_grid
from ..numerics.unquoted import kind_of
from .masks import Mask

AnyMask = TypeVar("AnyMask", bound=Mask)

EXACT = 2.0**50  # so many units are exact, through all that is made of them
COARSER = 4  # than the mask's grid is that of its pads in steps: a product with t, and its quotient, give them back
ROUNDING = 2.0**-50  # relative
DECIMALS = 9  # numbers that have more were computed, and their last bits are noise
SMALLEST, LARGEST = Fraction(1, 10**300), Fraction(10**300)


@dataclass(frozen=True)
class Unit:
    """A unit: linear terms ``q_i`` are whole multiples of ``2 size``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> unit = Unit(Fraction(1, 10))
    >>> unit.power, unit.step, unit.values(unit.multiples(np.array([0.1 + 0.2]))).tolist()
    (0.0625, 1.6, [0.3])
    """

    size: Fraction

    @cached_property
    def power(self) -> float:
        """The largest power of two that is no larger than the unit, ``2^p``."""
        exponent = self.size.numerator.bit_length() - self.size.denominator.bit_length()
        return math.ldexp(1.0, exponent if self.size >= Fraction(2) ** exponent else exponent - 1)

    @cached_property
    def step(self) -> float:
        """The unit in such powers, ``t``."""
        return float(self.size / Fraction(self.power))

    def multiples(self, values: Array) -> Array:
        """The whole numbers of units that are nearest."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.rint(values * float(self.size.denominator) / float(self.size.numerator)))

    def values(self, multiples: Array) -> Array:
        """So many units: of a decimal one rounded once."""
        return np.asarray(multiples * float(self.size.numerator) / float(self.size.denominator))

    def nearest(self, values: Array) -> Array:
        """The multiples of the unit that are nearest."""
        return self.values(self.multiples(values))

    def rounds(self, values: Array) -> npt.NDArray[np.bool_]:
        """Which of them are no multiples, but for the rounding of decimals that were computed, such as 0.1 + 0.2."""
        return np.asarray(np.abs(self.nearest(values) - values) > ROUNDING * np.abs(values))

    def in_steps(self, q: Array) -> Array:
        """Linear terms, exactly."""
        return np.asarray(2 * self.power * self.multiples(q / 2))

    def grid(self, sigma: float) -> float:
        """Of pads of size ``sigma``, in steps."""
        return COARSER * grid(sigma / self.step)

    def draw(self, mask: Mask, shape: tuple[int, ...], seed: int | None) -> Array:
        """Pads of a mask, multiples of the grid times ``t``."""
        pads, g = self.of_mask(mask).draw(shape, seed), self.grid(mask.sigma)
        # Downwards: as many multiples of the mask's own grid come to each of these.
        return np.asarray(self.step * (g * np.floor(pads / g)))

    def of_mask(self, mask: AnyMask) -> AnyMask:
        """The mask, its variance in squares of steps."""
        self.check(mask.sigma)
        in_steps = copy(mask)
        object.__setattr__(in_steps, "variance", mask.variance / self.step**2)
        return in_steps

    def of_cost(self, cost: Cost) -> Cost:
        """A quadratic cost of ``x`` as one of ``x`` in steps."""
        form = cost.quadratic
        assert form is not None
        return Quadratic.trusted(cost.shape, form.Q, self.in_steps(form.q))

    def check(self, sigma: float) -> None:
        """Refuse a mask whose pads are too coarse for the unit."""
        if self.grid(sigma) > 2 * self.power:
            raise InvalidInput(
                f"unit = {float(self.size):g} is too small for pads of size {sigma:.3g}, with which float64 carries "
                f"units from about {self.grid(sigma):.1e} on. Give a larger unit or a smaller mask."
            )


def read_units(given: Any, columns: int) -> tuple[Fraction, ...]:
    """The unit of each column, from one for all or one for each."""
    if np.ndim(given) == 0:
        return (_exact(given),) * columns
    if np.ndim(given) > 1 or len(given) != columns:
        raise InvalidInput(f"unit must be one number, or one for each column, {columns}; got {kind_of(given)}.")
    return tuple(_exact(unit) for unit in given)


def whole_multiples(s: Array, units: Sequence[Fraction]) -> tuple[Array, Unit, int]:
    """Numbers ``(rows, d)`` rounded to whole multiples of their columns' units, the one unit that all of these are
    multiples of, and how many numbers were none."""
    columns = [(Unit(unit), column) for unit, column in zip(units, s.T, strict=True)]
    values, common = np.column_stack([unit.nearest(column) for unit, column in columns]), Unit(reduce(_common, units))
    if (beyond := ~(np.abs(common.multiples(s)) < EXACT).all(axis=0)).any():
        raise InvalidInput(
            f"unit is too small for column {int(beyond.argmax())}: a number in it is 2^50 times {float(common.size):g} "
            "or more, and float64 carries less exactly. Give a larger unit."
        )
    return values, common, sum(int(unit.rounds(column).sum()) for unit, column in columns)


def missing_unit(s: Array, g: float) -> float | None:
    """The decimal unit of numbers of few decimals that do not all lie on the grid ``g``: a run should have been told.

    Examples
    --------
    >>> import numpy as np
    >>> missing_unit(np.array([1.25, 3.1]), 2.0**-35), missing_unit(np.array([1.25, 3.0]), 2.0**-35)
    (0.01, None)
    """
    if np.array_equal(on_grid(2 * s, g), 2 * s):
        return None
    for decimals in range(1, DECIMALS + 1):
        unit = Unit(Fraction(1, 10**decimals))
        if np.abs(unit.multiples(s)).max() < EXACT and not unit.rounds(s).any():
            return float(unit.size)
    return None


def say_rounded(rounded: int, count: int, stacklevel: int) -> None:
    """A warning to the owner of numbers that were no multiples."""
    if rounded:
        warnings.warn(
            f"{rounded} of {count} numbers are no whole multiples of the unit, and were rounded to it. Give the "
            "smallest step in which they were measured.",
            PrecisionLost,
            stacklevel=stacklevel + 1,
        )


def _exact(given: Any) -> Fraction:
    """The decimal that a number is written as."""
    try:
        if is_number(given) or isinstance(given, Decimal):
            exact = given if isinstance(given, Fraction) else Fraction(str(given))
            if SMALLEST <= exact <= LARGEST:
                return exact
    except ValueError:  # NaN and infinities
        pass
    raise InvalidInput(
        f"unit must be a positive number, the smallest step of what was measured, such as 0.1; got {given!r:.80}."
    )


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number that both are multiples of."""
    below = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * below), int(other * below)), below)
