"""Tables with named columns, as pandas, polars and pyarrow have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy.typing as npt

from ..errors import Unsupported


def to_frame(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Any:
    """Columns as a pandas frame; where pandas is not installed as one of polars, or as a pyarrow table.

    >>> to_frame({"party": ["ada", "bo"], "x": [1.0, 2.0]}).shape
    (2, 2)
    """
    made = {name: list(values) for name, values in columns.items()}
    for library, maker in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        if find_spec(library) is not None:
            return getattr(import_module(library), maker)(made)
    raise Unsupported(
        "a frame needs pandas, polars or pyarrow, and none is installed. Use to_dict(), or: pip install pandas"
    )
