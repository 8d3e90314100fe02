"""Where a regression took long and its columns seem to be of different size: what would make it short."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LONG = 1000.0  # rounds
UNEVEN = 30.0  # between the coefficients: those of columns of one size seldom differ as much


def scale_hint(coefficients: npt.NDArray[np.float64], rounds: float) -> str | None:
    """A sentence, from the answer and the rounds alone, which all parties know: the columns themselves are private.

    PDMM on a regression needs about as many rounds as the condition number of its columns, so columns in metres and
    in millimetres make a thousand of one.
    """
    sizes = np.abs(coefficients[coefficients != 0])
    if rounds < LONG or not len(sizes) or not np.isfinite(sizes).all() or sizes.max() < UNEVEN * sizes.min():
        return None
    factor = sizes.max() / sizes.min()
    return (
        f"{rounds:,.0f} rounds are many, and the coefficients differ in size by a factor of {factor:.0f}: if the "
        "columns do too, divide them by public numbers of their size (scale), and far fewer rounds are needed"
    )
