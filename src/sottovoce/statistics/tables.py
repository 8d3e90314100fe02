"""The answer of a statistic as a table by the names of its columns, for CSV; and an answer from a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..pdmm.result import Status
from .analyses import ANALYSES
from .histogram import Histogram
from .statistic import Statistic, Value

Table = tuple[list[str], list[list[Any]]]
TEXTS = "Value[tuple[str, ...]]"


def restored(kind: str, answer: dict[str, Any], parties: int) -> Statistic:
    """The statistic that a party wrote as ``to_dict`` to its result file."""
    family, status = ANALYSES[kind].gives, Status(answer["status"])
    of_values = (field for field in fields(family) if isinstance(getattr(family, field.name, None), Value))
    types = {field.name: str(field.type) for field in of_values}
    values = {name: _unplain(answer[name]) for name in types if name in answer}
    values |= {name: tuple(answer[name]) for name in values if types[name] == TEXTS}  # of none as well
    if family is Histogram and status is Status.CONVERGED:
        values.setdefault("levels", ())
    left_out = answer.get("empty_levels")
    empty = None if left_out is None else {name: tuple(levels) for name, levels in left_out.items()}
    return family(status, parties, answer.get("dropped"), empty, answer.get("digits", "full"), **values)


def _unplain(value: Any) -> Any:
    """What ``plain`` made a list of."""
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], str):
        return tuple(value)
    array = np.array(value)
    return np.array(value, dtype=np.float64) if array.dtype == object else array  # None stands for NaN


def table(statistic: Statistic) -> Table:
    """A header, and a row per term, column or bin."""
    if isinstance(statistic, Histogram) and not statistic.levels:
        edges = statistic.edges.tolist()
        starts, ends = [None, *edges[:-1], edges[-1]], [edges[0], *edges[1:], None]
        counts = [statistic.below, *statistic.counts.tolist(), statistic.above]
        return ["from", "to", "count"], [list(row) for row in zip(starts, ends, counts, strict=True)]
    columns = statistic._columns()
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
