"""The answer of a statistic as a table by the names of its columns: for people, for CSV, from a run or from a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..pdmm.result import Status
from .analyses import ANALYSES
from .histogram import Histogram
from .pooled import PooledCovariance, PooledVariance
from .statistic import Statistic, Value

Table = tuple[list[str], list[list[Any]]]


def restored(kind: str, answer: dict[str, Any], parties: int) -> Statistic:
    """The statistic that a party wrote as ``to_dict`` to its result file."""
    family = ANALYSES[kind].gives
    names = [field.name for field in fields(family) if isinstance(getattr(family, field.name, None), Value)]
    values = {name: _unplain(answer[name]) for name in names if name in answer}
    for name in ("levels", "aliased"):  # which need not be there
        if name in answer and name not in names and name in family.__dataclass_fields__:
            values[name] = tuple(answer[name])
    return family(Status(answer["status"]), parties, answer.get("dropped"), **values)


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


def text(statistic: Statistic) -> str:
    """The table for people; of a model its summary."""
    if hasattr(statistic, "summary"):
        return str(statistic.summary())
    kind = next(name for name, analysis in ANALYSES.items() if type(statistic) is analysis.gives)
    header, rows = table(statistic)
    cells = [header, *([_cell(entry) for entry in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    sides = [">" if header[0] == "from" else "<", *[">"] * (len(widths) - 1)]  # numbers to the right
    lines = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
             for row in cells]  # fmt: skip
    ddof = f" (N - {statistic.ddof})" if isinstance(statistic, PooledVariance | PooledCovariance) else ""
    of = f" of {statistic.name}" if isinstance(statistic, Histogram) else ""
    count = statistic.observations  # type: ignore[attr-defined]  # every statistic without a summary has them
    heading = f"{kind.capitalize()}{of}{ddof}: {count} observations of {statistic.parties} parties"
    return "\n".join([heading, *filter(None, [statistic.dropped_words()]), "", *lines])


def _cell(entry: Any) -> str:
    return "" if entry is None else f"{entry:.9g}" if isinstance(entry, float) else str(entry)
