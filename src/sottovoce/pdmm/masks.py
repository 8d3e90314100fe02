"""Masks: the random ``z(0)`` that hides the data (paper, section 4)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, is_number
from ..numerics.grid import grid, on_grid
from ..numerics.normal_quantile import lower_quantile

if TYPE_CHECKING:
    from .modular_mask import ModularMask

Array = npt.NDArray[np.float64]

LOW_BITS = 20  # of a secret pad, drawn apart
# sigma against the largest |q|. The excess is at most (|q|/sigma)^2 [L_h^+]_ii n/(n-1) nats (theory: Calibration):
# about 4e-4 on a small graph at this ratio, which for averaging, q = -2 s, is a hundred times the data.
HIDDEN = 50
DEVIATIONS = 4  # of a prior, within which the data should lie of a mask that was chosen for it


@dataclass(frozen=True)
class Mask:
    """The base of masks: independent pads of one distribution, drawn as ``z(0)``.

    A mask of one's own defines ``quantile``. ``draw`` stays as it is: it brings the randomness, from the operating
    system's generator where there is no seed, and puts the pads on their grid. ``solve`` and ``iterate`` take any
    mask, and so do the attacks; ``privacy.audit`` answers for ``GaussianMask`` and ``UniformMask`` and refuses others,
    since what it certifies is proved for those. Parties of a network draw Gaussian pads only.

    ``ModularMask`` is none of these: it hides integers before the run, which then starts at ``z(0) = 0``.

    Parameters
    ----------
    variance : float
        Of a pad.

    Raises
    ------
    InvalidInput
        Where the variance is not a positive number.

    Examples
    --------
    Laplace pads. (For a study: Gaussian ones hide better at the same variance.)

    >>> import numpy as np
    >>> import sottovoce as sv
    >>> class LaplaceMask(sv.masks.Mask):
    ...     def quantile(self, p):
    ...         return np.sign(p - 0.5) * -np.log1p(-2 * np.abs(p - 0.5)) / np.sqrt(2)
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, mask=LaplaceMask(variance=1e6), c=0.5)
    >>> result.secret, [round(float(x), 6) for x in result.x]
    (True, [3.0, 3.0, 3.0, 3.0])
    """

    variance: float

    def __post_init__(self) -> None:
        if not (is_number(self.variance) and math.isfinite(self.variance) and self.variance > 0):
            raise InvalidInput(
                f"variance must be a positive number; got {self.variance!r}. "
                "Leave the mask out for a run without privacy."
            )
        object.__setattr__(self, "variance", float(self.variance))

    @property
    def sigma(self) -> float:
        """Standard deviation of a pad."""
        return math.sqrt(self.variance)

    @property
    def hides(self) -> float:
        """The largest ``|q_i|`` that these pads hide well (see ``hiding``)."""
        return self.sigma / HIDDEN

    @property
    def grid(self) -> float:
        """The pads are multiples of it; a power of two."""
        return grid(self.sigma)

    def quantile(self, p: Array) -> Array:
        """The pad of variance 1 below which a pad lies with probability ``p``, for ``p`` in ``(0, 1)``."""
        raise InvalidInput(f"{type(self).__name__} must define quantile(p), the inverse of its distribution function.")

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Array:
        """Pads of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        count = math.prod(shape)
        if seed is not None:
            # A stream of its own: the schedule uses the same seed.
            words = np.random.default_rng([seed, 1]).integers(0, 2**64, count, dtype=np.uint64)
        else:
            words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        # 52 bits, for the midpoints of as many cells: 0 and 1 are never reached.
        pads = np.asarray(self.quantile(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52))
        if pads.shape != (count,) or pads.dtype.kind != "f" or not np.isfinite(pads).all():
            raise InvalidInput(
                f"{type(self).__name__}: quantile(p) must return a finite number for every p in (0, 1); it did not."
            )
        return on_grid(self.sigma * pads, self.grid).reshape(shape)

    def misfit(self, network: Any, schedule: Any, theta: float, c: float | Array, used: Any) -> str:
        """What a guarantee of this mask is for, if a run is not of that kind; these masks give none."""
        return ""


@dataclass(frozen=True)
class GaussianMask(Mask):
    """``z(0)`` i.i.d. ``N(0, variance)``. Without a seed the pads come from the operating system's generator.

    Parameters
    ----------
    variance : float
        Of a pad. Its root should be a hundred times as large as what a party contributes.

    Raises
    ------
    InvalidInput
        Where the variance is not a positive number.

    Notes
    -----
    Pads are multiples of ``grid``, about ``2^-48 sigma``, and their sums can be exact (see ``collapsed_arithmetic``).

    Pads are for one run. The same seed on changed data uses them twice, and the difference of two transcripts then
    shows the difference of the data: seeds are for simulation.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, mask=sv.GaussianMask(variance=1e6))
    >>> result.secret, [round(float(x), 6) for x in result.x]
    (True, [3.0, 3.0, 3.0, 3.0])
    """

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Array:
        """Pads of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        if seed is not None:
            # A stream of its own: the schedule uses the same seed.
            return on_grid(self.sigma * np.random.default_rng([seed, 1]).standard_normal(shape), self.grid)
        count = math.prod(shape)
        words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        return self.shaped(words, np.frombuffer(os.urandom(4 * count), dtype=np.uint32)).reshape(shape)

    def shaped(self, words: npt.NDArray[np.uint64], low: npt.NDArray[np.uint32]) -> Array:
        """Pads from uniform words of 64 and of 32 bits, one of each: the same ones on every machine."""
        # 63 bits of tail probability and a sign bit: the tails keep full relative precision.
        tail = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64
        sign = np.where(words & np.uint64(1), 1.0, -1.0)
        # A step of the tail probability is up to g/13 in the pad, so that some multiples of g would be 8 % more likely
        # than their neighbours. Over 2^20 of them the normal density is flat: bits of their own choose among those.
        high = on_grid(self.sigma * sign * lower_quantile(tail), 2**LOW_BITS * self.grid)
        return np.asarray(high + self.grid * (low % 2**LOW_BITS - 2.0 ** (LOW_BITS - 1)))


@dataclass(frozen=True)
class UniformMask(Mask):
    """``z(0)`` i.i.d. uniform on ``+-b``, ``b = sqrt(3 variance)``: a negative control. Use ``GaussianMask``.

    Parameters
    ----------
    variance : float
        Of a pad.

    Raises
    ------
    InvalidInput
        Where the variance is not a positive number.

    Notes
    -----
    It is worse at every variance, because sum and difference of two uniform pads are not independent. Messages show
    ``e = z_{i|j}(0) - z_{j|i}(0)``; given ``e``, the half-sum that hides the data is uniform on ``+-(b - |e|/2)`` only.
    With one honest neighbour the leak falls as ``1/sigma`` instead of ``1/sigma^2``
    (``privacy.research.uniform_attack``).

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> bool(np.abs(sv.UniformMask(variance=3.0).draw((100,), seed=0)).max() <= 3)
    True
    """

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Array:
        """Pads of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        steps = math.floor(math.sqrt(3.0) * self.sigma / self.grid)
        if seed is not None:
            pads = np.random.default_rng([seed, 1]).integers(-steps, steps, shape, endpoint=True).astype(np.float64)
        else:
            words = np.frombuffer(os.urandom(8 * math.prod(shape)), dtype=np.uint64)
            # 64 bits on less than 2^50 steps each way: no multiple is more than 2^-13 likelier than another.
            pads = (words % np.uint64(2 * steps + 1)).astype(np.float64).reshape(shape) - steps
        return np.asarray(self.grid * pads, dtype=np.float64)


def __getattr__(name: str) -> type[ModularMask]:
    """``masks.ModularMask``, whose file knows problems and runs, which know this one."""
    if name == "ModularMask":
        from .modular_mask import ModularMask

        return ModularMask
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["GaussianMask", "Mask", "ModularMask", "UniformMask"]


def resolution(mask: GaussianMask) -> float:
    """What rounding leaves open in an agreed number: pads and data are rounded to ``mask.grid``, and a path of 1,000
    nodes, a bad case, loses another factor of 3. 3e-10 for pads of variance 1e8."""
    return 12 * mask.grid
