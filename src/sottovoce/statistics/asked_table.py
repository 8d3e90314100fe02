"""The table ``[statistic]`` of a problem or a plan that has a ``[schema]``: columns or a formula."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from ..data.schema import Schema
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, shown
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from .analyses import ANALYSES
from .analysis import Analysis
from .at_one_party import MASK_KEYS, OPTIONS, mask_options
from .of_tables import Asked, ask, ask_analysis

# Of a statistic with a schema, beside where the data are.
TABLE_KEYS = ("type", "columns", "formula", "missing", "scale", "ddof", "bins", "ridge")
ONLY_WITH_SCHEMA = ("formula", "missing")
REPLACED = ("features", "target", "intercept")  # by the formula


def read_asked(table: Table, schema: Schema, mask: GaussianMask | ModularMask | None) -> Asked:
    """What is asked of tables.

    Parameters
    ----------
    table : Table
        ``[statistic]``, without data.
    schema : Schema
        What the columns mean.
    mask : GaussianMask or ModularMask, optional
        Default: that of the library's statistics.

    Returns
    -------
    Asked
        Checked against the schema.

    Raises
    ------
    InvalidFile
        With key and line.
    """
    kind = table.choice("type", (*OPTIONS, *ANALYSES))
    if kind in ANALYSES:
        return _read_analysis(table, ANALYSES[kind], schema, mask)
    for key in REPLACED:
        if key in table and "formula" in table:
            raise table.refuse(key, "and formula are both given. Keep formula: it says all of it.")
        if key in table:
            raise table.refuse(
                key, 'has no meaning with [schema]: write formula = "recovery ~ age + dose", with 0 + for no intercept.'
            )
    table.refuse_unknown(TABLE_KEYS)
    naming = "formula" if kind == "least_squares" else "columns"
    what: Any = table.string("formula") if naming == "formula" else table.strings("columns")
    options: dict[str, Any] = {key: table.get(key) for key in OPTIONS[kind] if key in table}
    missing = table.string("missing", "raise")
    scale = options.get("scale", {})
    if not isinstance(scale, dict):
        raise table.refuse("scale", f"must be a table such as {{ age = 10 }}; got {shown(scale)}.")
    table.finish(f'type = "{kind}"')
    options |= mask_options(table, mask)
    try:
        return ask(kind, schema, what, missing=missing, **options)
    except InvalidInput as error:
        raise _at_its_key(table, error, naming) from None


def _read_analysis(
    table: Table, analysis: type[Analysis], schema: Schema, mask: GaussianMask | ModularMask | None
) -> Asked:
    """Its options are its fields."""
    keys = [field.name for field in fields(analysis) if field.name not in ("schema", *MASK_KEYS)]
    table.refuse_unknown(("type", "missing", *keys))
    options = {key: table.get(key) for key in keys if key in table} | mask_options(table, mask)
    absent = [field.name for field in fields(analysis) if field.default is MISSING and field.name != "schema"]
    for key in absent:
        if key not in options:
            raise table.refuse(key, f"is missing. type = {shown(analysis.type)} needs it.")
    missing = table.string("missing", "raise")
    try:
        return ask_analysis(analysis, schema, missing=missing, **options)
    except InvalidInput as error:
        raise _at_its_key(table, error, "formula" if "formula" in table else "type") from None


def _at_its_key(table: Table, error: InvalidInput, naming: str) -> InvalidFile:
    """A sentence that begins with a key is about that; another one is about what is asked."""
    key, _, why = str(error).partition(" ")
    if key.rstrip(":") in table:
        return table.refuse(key.rstrip(":"), why if key in table else f"cannot be used: {why}")
    return table.refuse(naming, f"cannot be used: {why if key == 'formula:' else f'{key} {why}'}")


def refuse_without_schema(table: Table) -> None:
    """Keys and types that need to know what the columns mean."""
    if (kind := table.values.get("type")) in ANALYSES:
        raise table.refuse("type", f"= {shown(kind)} needs a [schema], which says what the columns mean. Add one.")
    for key in ONLY_WITH_SCHEMA:
        if key in table:
            raise table.refuse(key, "needs a [schema], which says what the columns mean. Add one, or remove it.")
