"""Names of the sums under Gaussian pads, for models that are not on exact sums yet; goes with the last of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics.symmetric import symmetric, upper

RIGHT = 1e-2
AGREEMENTS = 7


def packed(objective: float, score: Array, information: Array) -> Array:
    """In one vector, half of the information: ``1 + k + k(k+1)/2`` numbers."""
    return np.concatenate([[objective], score, upper(information)])


def unpacked(sums: Array, k: int) -> tuple[float, Array, Array]:
    """Of ``packed``."""
    return float(sums[0]), sums[1 : 1 + k], symmetric(sums[1 + k : 1 + k + k * (k + 1) // 2], k)


def numbers(k: int, also: int = 0) -> int:
    """How many travel in one agreement, votes included."""
    return 1 + k + k * (k + 1) // 2 + 2 + 2 * k + 1 + also


def counts(d: int) -> int:
    """How many integers of a party travel for ``d`` columns, at most."""
    return 12 * d


def of_objective(k: int) -> float:
    """What the objective adds to the mean square of the numbers of an agreement."""
    return 20.0**2 / numbers(k)


def agreed_columns(*arguments: object, **options: object) -> object:
    """Gone: see ``columns_of``."""
    raise NotImplementedError("this model is not on exact sums yet.")


def untold(H: Array, tol: float, absolute: float) -> tuple[Array, Array]:
    """Per parameter whether the information has nothing on it, and whether it hangs on others: to the precision of an
    agreement, 0 or 1."""
    k = len(H)
    error, size = _error(H, tol, absolute), np.diag(H)
    flat = size * RIGHT <= error
    if flat.any() or not k:
        return flat.astype(float), np.zeros(k)
    values, vectors = np.linalg.eigh(H / np.sqrt(np.outer(size, size)))
    if values[0] * RIGHT > error * float((1 / size).sum()):
        return np.zeros(k), np.zeros(k)
    share = np.abs(vectors[:, 0])
    return np.zeros(k), (share > 0.1 * share.max()).astype(float)


def _error(sums: Array, tol: float, absolute: float) -> float:
    """What an agreement leaves open of a number."""
    return 10 * tol * float(np.abs(sums).max(initial=0.0)) + absolute


def refuse(flags: npt.NDArray[np.bool_], names: Sequence[str], *, begun: bool, infinite: str) -> None:
    """The same sentence everywhere. Before the first step a parameter may have no information, or hang on others; later
    it can only have lost it on the way to infinity."""
    k = len(names)
    flat, bound = flags[:k], flags[k:]
    if not (flat.any() or bound.any()):
        return
    those = [name for name, flag in zip(names, flat if flat.any() else bound, strict=True) if flag]
    # The intercept of centred columns goes along with any of them.
    listed = ", ".join(repr(name) for name in those if name != "Intercept" or len(those) == 1)
    if begun:
        raise Undetermined(f"the estimate of {listed} is infinite, to the precision of the agreement{infinite}")
    if flat.any():
        subject = f"the columns {listed} do" if flat.sum() > 1 else f"column {listed} does"
        raise Undetermined(
            f"{subject} not vary over the rows of all parties, to the precision of the agreement: a "
            "constant, or a level that no row has. Drop it, or merge the level with another."
        )
    raise Undetermined(
        f"the columns {listed} are linearly dependent over the rows of all parties, to the precision of the agreement. "
        "Drop one of them; of a category, merge a level that no row has (its reference may be one)."
    )
