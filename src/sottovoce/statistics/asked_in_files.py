"""A statistic of tables as a file asks for it: ``[statistic]`` beside a ``[schema]``, in plans and node files."""

from __future__ import annotations

from typing import Any

from ..data.schema import Schema
from ..files.toml_table import Table
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from .at_one_party import MASK_KEYS, OPTIONS, mask_options
from .of_tables import Asked, ask

ASKED_KEYS = ("type", "columns", "formula", "missing", "scale", "ddof", "ridge", "bins")
INSTEAD = {
    "features": 'is for tables without a [schema]: write formula = "recovery ~ age + sex" instead of features and '
    "target.",
    "intercept": "is part of the formula: it has one, unless it says 0.",
}
INSTEAD["target"] = INSTEAD["features"]


def read_asked(table: Table, schema: Schema, mask: GaussianMask | ModularMask | None) -> Asked:
    """The question of a table ``[statistic]``, under the schema of the same file.

    Parameters
    ----------
    table : Table
        Of the file, without what says where data are.
    schema : Schema
        What the columns mean.
    mask : GaussianMask or ModularMask, optional
        What hides the contributions; without it that of the library's statistics.

    Returns
    -------
    Asked

    Raises
    ------
    InvalidFile
        With the key and the line.
    """
    for key, why in INSTEAD.items():
        if key in table:
            raise table.refuse(key, why)
    table.refuse_unknown((*ASKED_KEYS, *MASK_KEYS))
    kind, more = table.choice("type", OPTIONS), mask_options(table, mask)
    regression = kind == "least_squares"
    what: Any = table.string("formula") if regression else table.strings("columns")
    missing = table.choice("missing", ("raise", "drop"), "raise")
    options = {key: table.get(key) for key in OPTIONS[kind] if key in table and key not in MASK_KEYS}
    table.finish(f'type = "{kind}" and a [schema]')
    at = "formula" if regression else "columns"
    return table.call(ask, kind, schema, what, missing=missing, **options, **more, at=at)
