"""Numbers that all parties hold alike to the last bit.

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


def settled(agreements: Agreements, values: Array, votes: Integers, *, of: str) -> tuple[Array, Integers]:
    """Of ``(local, k)`` numbers, about the same at every party, the mean ``(k,)``, the same at every party to the bit
    and right to ``2^-50``; and the sums ``(f,)`` of ``(local, f)`` votes, small counts."""
    left, limbs, f = values, [], votes.shape[1]
    for unit in UNITS:
        limbs.append(np.clip(np.rint(left / unit), -REACH, REACH))
        left = left - limbs[-1] * unit
    counts = np.hstack([votes, *limbs]).astype(np.int64)
    counts[:, f:] += REACH
    total = agreements.total(counts, ModularMask(), of_rows=False, of=of)
    n = agreements.parties
    sums = (total[f:] - n * REACH).reshape(len(UNITS), -1)
    return np.asarray(UNITS @ sums / n), total[:f]


def majority(agreements: Agreements, votes: Integers) -> Flags:
    """Where more than half of the parties said yes."""
    return np.asarray(2 * votes > agreements.parties)
