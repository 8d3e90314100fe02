"""The rows of a sweep as one table: which columns there are, in which order, and of which type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .job import Job
from .play import OUTCOME, TROUBLE, Row

COUNTED = ("iterations", "activations", "messages")
TEXTS = ("problem", "status", *TROUBLE)


def columns_of(job: Job, rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Of rows in the order of their points: keys, outcome, what was measured, trouble, seconds."""
    keys = [job.keys(row["point"]) for row in rows]
    fixed = {*OUTCOME, *TROUBLE, "point", "seconds"}
    own = list(dict.fromkeys(name for row in rows for name in row if name not in fixed))
    found = {name: [key[name] for key in keys] for name in job.keys(0)}
    return found | {name: [row.get(name) for row in rows] for name in (*OUTCOME, *own, *TROUBLE, "seconds")}


def row_of(job: Job, cells: Mapping[str, Any]) -> Row:
    """Back: without what the point's number tells, and without what is missing."""
    known = job.keys(0)
    return {name: cell for name, cell in cells.items() if name == "point" or (name not in known and cell is not None)}


def arrow_table(job: Job, rows: Sequence[Row]) -> Any:
    """The same with a type for each column, also where all cells are missing."""
    import pyarrow as pa

    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    columns, arrays = columns_of(job, rows), {}
    for name, cells in columns.items():
        asked = [setting.texts[name] for setting in job.settings if setting.texts.get(name) is not None]
        if name in job.settings[0].texts:
            kind = kinds[type(asked[0])] if asked else pa.null()
        elif name in TEXTS:
            kind = pa.string()
        else:
            kind = pa.int64() if name in ("point", "seed", *COUNTED) else pa.float64()
        arrays[name] = pa.array(cells, kind)
    return pa.table(arrays)
