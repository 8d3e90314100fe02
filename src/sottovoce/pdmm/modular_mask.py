"""Zero-excess averaging of integers: uniform pads modulo ``2^bits`` (theory: Modular pads).

Every edge ``{i, j}`` has a uniform pad ``p_ij``. Party ``i`` forms

    m_i = s_i + sum_{j > i} p_ij - sum_{j < i} p_ij        modulo 2^bits

and forgets ``s_i`` and its pads. The ``m_i`` of a connected group of honest parties are uniform on all values with the
right sum: whoever sees them, and the pads that corrupt neighbours hold, learns the sum of the group's secrets modulo
``2^bits`` and nothing else. So the ``m_i`` are public, and are averaged by PDMM without another mask.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs import Averaging
from ..errors import InvalidInput, NotConverged, Unsupported
from ..network import Network
from .common_problems import averaging
from .problem import Problem
from .recorders import MeanSquaredError, Recorder
from .result import Result, Status

log = logging.getLogger(__name__)

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

LARGEST_BITS = 52  # |sum| < 2^51, so that round(n * x) is the exact sum although x = sum/n is a float64
LIMB_BITS = 23
TOTAL_BITS = 28  # n limbs add up to at most 2^28 ...
NEAR = 0.1  # ... and their sum is decoded where n x is this close to an integer
# For averaging, CONVERGED means |x_i - mean| <= tol (2 |x| + |x - s|) <= 3 tol 2^width, and n times that may be NEAR.
# The tol that follows, 1.2e-10, is well above rounding, which leaves a residual of 8e-12 on a path of 1,000 nodes.
TOLERANCE = NEAR / (3 * 2**TOTAL_BITS)


@dataclass(frozen=True)
class ModularMask:
    """Uniform pads modulo ``2^bits`` for integer secrets: the sum of each honest component is revealed, nothing else.

    Parameters
    ----------
    bits : int
        From 2 to 52. ``n |s_i| < 2^(bits-1)`` must hold at every party, or the sum could wrap around.

    Raises
    ------
    InvalidInput
        Where it is another number.

    Notes
    -----
    Without a seed the pads come from the operating system's generator. As with every mask, they are for one run.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 8]), mask=sv.ModularMask())
    >>> result.x.tolist()
    [3.5, 3.5, 3.5, 3.5]
    """

    bits: int = 46

    def __post_init__(self) -> None:
        integer = isinstance(self.bits, (int, np.integer)) and not isinstance(self.bits, bool)
        if not (integer and 2 <= self.bits <= LARGEST_BITS):
            raise InvalidInput(
                f"bits must be an integer in 2 .. {LARGEST_BITS}; got {self.bits!r}. Sums lie below 2^(bits-1), and "
                f"float64 can hold their mean exactly enough up to {LARGEST_BITS}."
            )
        object.__setattr__(self, "bits", int(self.bits))

    def draw(self, shape: tuple[int, ...], seed: int | None = None) -> Words:
        """Pads of the given shape: secret without a seed; reproducible, and therefore *not* secret, with one."""
        if seed is not None:
            # A stream of its own: the schedule uses the same seed.
            return np.random.default_rng([check_seed(seed), 2]).integers(0, 2**self.bits, size=shape, dtype=np.uint64)
        count = int(np.prod(shape))
        # 2^bits divides 2^64: the low bits of uniform words are uniform.
        return self.reduce(np.frombuffer(os.urandom(8 * count), dtype=np.uint64)).reshape(shape)

    def reduce(self, words: Words) -> Words:
        """Modulo ``2^bits``. Sums of words wrap modulo ``2^64``, a multiple of it, so they need no care."""
        return words & np.uint64(2**self.bits - 1)

    def cover(self, s: Integers, pads: Iterable[tuple[int, Words]]) -> Words:
        """``m`` from secrets and pads of their shape, each with its sign."""
        hidden = s.astype(np.uint64)
        for sign, pad in pads:
            hidden = hidden + pad if sign > 0 else hidden - pad
        return self.reduce(hidden)

    def hide(self, network: Network, s: Integers, pads: Words) -> Words:
        """``m`` of all parties, from secrets ``(n, d)`` and pads ``(m, d)`` in the order of ``network.edges``."""
        added, subtracted = np.zeros(s.shape, dtype=np.uint64), np.zeros(s.shape, dtype=np.uint64)
        np.add.at(added, network.edges[:, 0], pads)
        np.add.at(subtracted, network.edges[:, 1], pads)
        return self.cover(s, [(1, added), (-1, subtracted)])

    def centre(self, words: Words) -> Integers:
        """Residues as integers in ``[-2^(bits-1), 2^(bits-1))``."""
        residues = self.reduce(words).astype(np.int64)
        return np.where(residues >= 2 ** (self.bits - 1), residues - 2**self.bits, residues)


def hidden_problem(
    problem: Problem,
    mask: ModularMask,
    z0: Any,
    batch: int | None,
    seed: int | None,
    tol: float,
    record: Sequence[Recorder],
) -> tuple[Problem, float]:
    """What ``solve`` plays under a ``ModularMask``: averaging of the limbs of ``m``, ``(n, d * limbs)``; with ``tol``.

    Words of 46 bits do not average exactly in float64. So ``m`` is split into limbs of a few bits, at most 23, whose
    sums stay below ``2^28``; ``tol`` is lowered to what decodes them with certainty.
    """
    if z0 is not None or batch is not None:
        raise Unsupported(
            "ModularMask hides the data before the run, which then starts at z(0) = 0, once: it takes neither z0 nor "
            "batch. Use GaussianMask for those."
        )
    if any(isinstance(recorder, MeanSquaredError) for recorder in record):
        raise Unsupported(
            "under ModularMask the run is on limbs of hidden words: MeanSquaredError has nothing to compare with."
        )
    n, s = problem.network.n, integer_secrets(problem, mask)
    if n > 2 ** (TOTAL_BITS - 1):
        raise Unsupported(f"ModularMask is exact up to {2 ** (TOTAL_BITS - 1)} nodes; got {n}.")
    hidden = mask.hide(problem.network, s, mask.draw((problem.network.m, s.shape[1]), seed))
    # tol = 0 asks for a given number of iterations, unlooked at: it stays, and nothing is decoded.
    return averaging(problem.network, split(hidden, mask.bits, limb_width(mask.bits, n))), min(tol, TOLERANCE)


def decoded(problem: Problem, mask: ModularMask, run: Result) -> Result:
    """The result for ``problem`` from the run on its ``hidden_problem``: ``x`` is the exact mean, or NaN where the run
    did not converge; ``z``, ``residual`` and records are those of the run."""
    n, status = problem.network.n, run.status
    mean = np.full((n, problem.dim), np.nan)
    if status is Status.CONVERGED:
        try:
            total = decode(run.x, mask, n)
            mean = (total if problem.unit is None else problem.unit.values(total.astype(np.float64))) / n
        except NotConverged as error:
            log.warning("%s", error)
            status = Status.MAX_ITER
    return replace(run, x=problem.shape_x(mean.reshape(-1, 1), None), status=status, secret=run.seed is None)


def masked_limbs(s: Integers, pads: Iterable[tuple[int, Words]], mask: ModularMask, n: int) -> npt.NDArray[np.float64]:
    """What one of ``n`` parties brings to the average, ``(d * limbs,)``, for its integers ``(d,)``: its row of the
    limbs of ``m``. ``pads``: the ``(d,)`` pad of each of its edges, with sign +1 at the smaller end, -1 at the other.
    """
    check_size(s, mask, n)
    return split(mask.cover(s, pads), mask.bits, limb_width(mask.bits, n))


def decode(means: npt.NDArray[np.float64], mask: ModularMask, n: int) -> Integers:
    """The exact sums ``(..., d)`` of all parties' integers, from agreed means of limbs ``(..., d * limbs)``;
    ``NotConverged`` where the means are not close to what ``n`` limbs can add up to."""
    width = limb_width(mask.bits, n)
    sums = np.rint(n * means)
    near = np.abs(n * means - sums) < NEAR
    if not (near & (sums >= 0) & (sums <= n * (2**width - 1))).all():
        raise NotConverged(
            f"the sums of the limbs are not integers to within {NEAR:g}, between 0 and {n * (2**width - 1)}: nothing "
            "is decoded. Lower tol."
        )
    return mask.centre(joined(sums.astype(np.uint64), means.shape[-1] // -(-mask.bits // width), width))


def check_seed(seed: int) -> int:
    """A seed that NumPy takes, or a sentence."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed must be an integer >= 0, or None; got {seed!r}.")
    return int(seed)


def limb_width(bits: int, n: int) -> int:
    """The fewest limbs with ``n 2^width <= 2^28``, of even width."""
    widest = min(LIMB_BITS, TOTAL_BITS - (n - 1).bit_length())
    return -(-bits // -(-bits // widest))


def split(words: Words, bits: int, width: int) -> npt.NDArray[np.float64]:
    """``(..., d)`` words as ``(..., d * limbs)`` numbers below ``2^width``, the lowest limb first."""
    shifts = np.arange(0, bits, width, dtype=np.uint64)
    limbs = (words[..., None] >> shifts) & np.uint64(2**width - 1)
    return limbs.reshape(*words.shape[:-1], -1).astype(np.float64)


def joined(limbs: Words, d: int, width: int) -> Words:
    """The inverse of ``split`` for sums of limbs, which may exceed their width: they carry, modulo ``2^64``."""
    limbs = limbs.reshape(*limbs.shape[:-1], d, -1)
    shifts = np.arange(limbs.shape[-1], dtype=np.uint64) * np.uint64(width)
    return np.asarray((limbs << shifts).sum(axis=-1, dtype=np.uint64))


def check_size(s: npt.NDArray[Any], mask: ModularMask, n: int, name: Callable[[int], str] = str) -> None:
    """Refuse what could wrap around, of all nodes ``(n, d)`` or of one ``(d,)``."""
    largest = (2 ** (mask.bits - 1) - 1) // n
    size = np.abs(s.astype(np.float64))
    if (size > largest).any():
        holder = f"node {name(int(np.unravel_index(size.argmax(), s.shape)[0]))}" if s.ndim == 2 else "this node"
        raise InvalidInput(
            f"the sum could wrap around: with bits={mask.bits} and {n} nodes every |s_i| must be at most {largest}, "
            f"below 2^(bits-1)/n; {holder} holds more. Use more bits (up to {LARGEST_BITS}) or larger units."
        )


def integer_secrets(problem: Problem, mask: ModularMask) -> Integers:
    """The secrets ``(n, d)`` of an averaging problem, refused where the sum could be wrong."""
    if not problem.consensus or any(type(cost) is not Averaging for _, cost in problem.groups):
        raise Unsupported(
            f"ModularMask is for averaging under consensus, sv.averaging(network, integers); got {problem!r}."
        )
    n = problem.network.n
    s = np.empty((n, problem.dim))
    for nodes, cost in problem.groups:
        assert isinstance(cost, Averaging)
        s[nodes] = cost.s if problem.unit is None else problem.unit.multiples(cost.s)
    if (fraction := s != np.rint(s)).any():
        at, k = np.argwhere(fraction)[0]
        i = problem.network.name(at)
        raise InvalidInput(
            f"ModularMask takes integers; number {k} of node {i} is none. Multiply by a public number and round first "
            "(cents instead of euros), give sv.averaging the unit, or use GaussianMask."
        )
    check_size(s, mask, n, problem.network.name)
    return s.astype(np.int64)
