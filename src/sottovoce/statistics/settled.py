"""Numbers that all parties hold alike to the last bit, and votes.

Agreed reals differ by about ``tol`` between parties, agreed integers do not. What everybody is to centre by, to divide
by or to act on is therefore agreed on a second time, as integers: they say nothing that is not known already.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..pdmm.modular_mask import Integers, ModularMask
from .agreements import Agreements

Flags = npt.NDArray[np.bool_]

# A number is sent as whole multiples of 2^10, of 2^-20 in what that leaves, and of 2^-50 in what is left then. Each is
# below 2^29 in size; counts are not negative, so 2^29 is added, and 30,000 parties have room.
UNITS, REACH = (2.0**10, 2.0**-20, 2.0**-50), 2**29


def integers(numbers: int, votes: int = 0) -> int:
    """How many travel for so many numbers and votes."""
    return len(UNITS) * numbers + votes


def settled(
    agreements: Agreements, values: Array, votes: npt.NDArray[np.generic] | None = None, *, of: str
) -> tuple[Array, Integers]:
    """Of ``(local, k)`` numbers, about the same at every party, the mean ``(k,)``, the same at every party to the bit
    and right to ``2^-50``; and the sums ``(f,)`` of ``(local, f)`` votes, 0 or 1 each."""
    left, limbs, k = values, [], values.shape[1]
    for unit in UNITS:
        limbs.append(np.clip(np.rint(left / unit), -REACH, REACH))
        left = left - limbs[-1] * unit
    sent = [limb + REACH for limb in limbs] + ([] if votes is None else [votes])
    total = voted(agreements, np.hstack(sent), of=of)
    mean = np.zeros(k)
    for place, unit in enumerate(UNITS):  # in this order at every party, so that all round alike
        mean = mean + unit * (total[place * k : (place + 1) * k] - agreements.parties * REACH)
    return mean / agreements.parties, total[len(UNITS) * k :]


def settled_powers(agreements: Agreements, values: Array, *, of: str) -> Array:
    """Powers of two ``(k,)`` about ``(local, k)`` numbers of any size, the same at every party; 1 for what is not
    positive."""
    positive = np.isfinite(values) & (values > 0)
    order, _ = settled(agreements, np.log2(np.where(positive, values, 1.0)), of=of)
    return np.asarray(2.0 ** np.rint(order))


def voted(agreements: Agreements, votes: npt.NDArray[np.generic], *, of: str) -> Integers:
    """The sums ``(f,)`` of ``(local, f)`` votes, which tell nothing of the rows that is not known already."""
    return agreements.total(votes.astype(np.int64), ModularMask(), of_rows=False, of=of, votes=votes.shape[1])


def majority(agreements: Agreements, votes: Integers | Array) -> Flags:
    """Where more than half of the parties said yes."""
    return np.asarray(2 * votes > agreements.parties)
