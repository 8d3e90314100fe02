"""Exposure against outcome: four counts of a party's rows."""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.schema import Schema
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..groups.columns import yes_of, yes_or_no


def check_columns(schema: Schema, exposure: object, outcome: object) -> None:
    """Two different columns of two levels each."""
    if yes_or_no(schema, exposure, "exposure").name == yes_or_no(schema, outcome, "outcome").name:
        raise InvalidInput(f"outcome must be another column than the exposure, {exposure!r}.")


def fourfold(rows: Rows, schema: Schema, exposure: str, outcome: str) -> Integers:
    """``a, b, c, d``: exposed with and without the outcome, others with and without it. ``rows``: the two columns."""
    exposed, happened = yes_of(schema[exposure]), yes_of(schema[outcome])

    def of_block(block: Array) -> Integers:
        place = 2 * (block[:, 0] != exposed).astype(np.int64) + (block[:, 1] != happened)
        return np.bincount(place, minlength=4)[None]

    return rows.totals(of_block).astype(np.int64)
