"""Numbers that all parties hold alike to the last bit.

Agreed reals differ by about ``tol`` between parties, agreed integers do not. What everybody is to centre by, to divide
by or to act on is therefore agreed on a second time, as integers: they say nothing that is not known already.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements

Flags = npt.NDArray[np.bool_]

# A number is sent as whole multiples of 2^10, of 2^-20 in what is left, and of 2^-50 in what is left then: each of
# these, below 2^30, fits into a count of up to 30,000 parties.
COARSE, MIDDLE, FINE, REACH = 2.0**10, 2.0**-20, 2.0**-50, 2**29


def settled(agreements: Agreements, values: Array, votes: Integers, *, of: str) -> tuple[Array, Integers]:
    """Of ``(local, k)`` numbers, about the same at every party, the mean ``(k,)``, the same at every party to the bit
    and right to ``2^-50``; and the sums ``(f,)`` of ``(local, f)`` votes, 0 or 1 each."""
    k, f = values.shape[1], votes.shape[1]
    coarse = np.clip(np.floor(values / COARSE), -REACH, REACH - 1)
    rest = np.clip(values - coarse * COARSE, 0.0, np.nextafter(COARSE, 0.0))
    middle = np.floor(rest / MIDDLE)
    fine = np.floor((rest - middle * MIDDLE) / FINE)
    limbs = np.hstack([coarse + REACH, middle, fine]).astype(np.int64)
    total = agreements.total(np.hstack([votes.astype(np.int64), limbs]), ModularMask(), of_rows=False, of=of)
    coarse, middle, fine = total[f:].reshape(3, k) / agreements.parties
    return (coarse - REACH) * COARSE + middle * MIDDLE + fine * FINE, total[:f]


def majority(agreements: Agreements, votes: Integers) -> Flags:
    """Where more than half of the parties said yes."""
    return np.asarray(2 * votes > agreements.parties)
