"""How much the numbers vary that a statistic takes of a row, as far as the ranges of a schema tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidInput
from .schema import Schema
from .selection import Selection
from .sizes import POINTS, _places


def prior_of(selection: Selection, schema: Schema, scale: Sequence[float]) -> float | None:
    """What an audit may count on: the mean square of a number, in units of ``scale``, if all that the ranges allow is
    as likely; of the column where it is largest.

    Parameters
    ----------
    selection : Selection
        What is taken of a row.
    schema : Schema
        What the columns mean.
    scale : sequence of float
        A public number for each column of the selection.

    Returns
    -------
    float or None
        None where a column has no range. Of what a formula makes of columns it is that at public places in their
        ranges, of which there are 256.

    Examples
    --------
    >>> from sottovoce.data.selection import PlainColumns
    >>> age = Schema({"age": {"type": "number", "range": (0, 120)}})
    >>> [round(prior_of(PlainColumns(("age",)), age, [unit]), 3) for unit in (120.0, 60.0)]
    [0.333, 1.333]
    """
    needs = [schema[name] for name in selection.needs]
    known = {column.name: column.prior * column.scale**2 for column in needs if column.prior and column.scale}
    if len(known) < len(needs):
        return None
    for margin in (0.0, 0.01):  # log(x) has no value at the end of a range from 0
        values = _places(needs, margin, 1.0)
        try:
            block = selection.block(values, np.arange(POINTS))
        except InvalidInput:
            continue
        squares: dict[str, float] = dict(zip(selection.columns, (block**2).mean(axis=0).tolist(), strict=True))
        for name, numbers in zip(selection.columns, block.T, strict=True):
            # A target may be less an offset, and a category the places of its levels.
            if name in known and schema[name].type != "category" and np.array_equal(numbers, values[name]):
                squares[name] = known[name]
        return max(squares[name] / unit**2 for name, unit in zip(selection.columns, scale, strict=True))
    return None
