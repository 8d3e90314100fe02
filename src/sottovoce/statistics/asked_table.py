"""The table ``[statistic]`` of a problem or a plan: an analysis, and its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from ..data.formula.factors import spelled
from ..data.schema import Schema
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, shown
from .analyses import ANALYSES
from .analysis import Analysis
from .fewer_digits import Digits
from .gone import refuse_gone
from .of_tables import Asked, ask_analysis

RULES = ("missing", "empty_levels", "digits")  # of every question
EQUATION = ("features", "target", "intercept")  # in the place of a formula, where columns are numbers


def read_asked(table: Table, schema: Schema, digits: Digits | None = "full") -> Asked:
    """What is asked of tables.

    Parameters
    ----------
    table : Table
        ``[statistic]``, without data.
    schema : Schema
        What the columns mean.
    digits : {"full", "statistical"}, optional
        How finely sums are told where the table does not say. None: as statistics need, where the analysis and the
        ranges of the schema allow it.

    Returns
    -------
    Asked
        Checked against the schema.

    Raises
    ------
    InvalidFile
        With key and line.
    """
    analysis, keys, equation = read_kind(table)
    options = {key: table.get(key) for key in keys if key in table}
    if any(key in table for key in equation):
        options["formula"] = formula_of(table)
    for field in fields(analysis):
        if field.default is MISSING and field.name != "schema" and field.name not in options:
            raise table.refuse(field.name, f"is missing. type = {shown(analysis.type)} needs it.")
    missing: Any = table.string("missing", "raise")
    empty_levels: Any = table.string("empty_levels", "keep")
    told: Any = table.string("digits") if "digits" in table else digits
    try:
        return ask_analysis(analysis, schema, missing=missing, empty_levels=empty_levels, digits=told, **options)
    except InvalidInput as error:
        raise _at_its_key(table, error, _naming(analysis, table)) from None


def read_kind(table: Table, more: Sequence[str] = ()) -> tuple[type[Analysis], list[str], tuple[str, ...]]:
    """The analysis, its options, and the keys that may stand for its formula; keys that are none of these, and none of
    ``more``, are refused."""
    refuse_gone(table)
    analysis = ANALYSES[table.choice("type", tuple(ANALYSES))]
    keys = [field.name for field in fields(analysis) if field.name != "schema"]
    equation = EQUATION if "formula" in keys else ()
    table.refuse_unknown(("type", *RULES, *keys, *equation, *more))
    return analysis, keys, equation


def formula_of(table: Table) -> str:
    """The formula that ``features``, ``target`` and ``intercept`` stand for."""
    if "formula" in table:
        key = next(key for key in EQUATION if key in table)
        raise table.refuse(key, "and formula are both given. Keep formula: it says all of it.")
    features, target = table.strings("features"), table.string("target")
    if target in features:
        raise table.refuse("features", f"contains the target {target!r}.")
    intercept = table.get("intercept", True)
    if not isinstance(intercept, bool):
        raise table.refuse("intercept", f"must be true or false; got {shown(intercept)}.")
    terms = [*([] if intercept else ["0"]), *map(spelled, features)]
    return f"{spelled(str(target))} ~ {' + '.join(terms)}"


def _naming(analysis: type[Analysis], table: Table) -> str:
    """The key that a sentence without one is about."""
    return next((key for key in ("formula", "columns", "features") if key in table), "type")


def _at_its_key(table: Table, error: InvalidInput, naming: str) -> InvalidFile:
    """A sentence that begins with a key is about that; another one is about what is asked."""
    key, _, why = str(error).partition(" ")
    if key.rstrip(":") in table:
        return table.refuse(key.rstrip(":"), why if key in table else f"cannot be used: {why}")
    return table.refuse(naming, f"cannot be used: {why if key == 'formula:' else f'{key} {why}'}")
