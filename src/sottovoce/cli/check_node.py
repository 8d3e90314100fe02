"""The table that a node file names, checked for what its run asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data import Checked, check
from ..data.csv_rows import read_one_per_party
from ..data.formula import Formula
from ..data.formula.factors import spelled
from ..data.schema import Column, Schema
from ..errors import InvalidInput, MissingExtra, PolicyError
from ..runtime.plan.node_file import NodeConfig, read_node_file
from ..runtime.plan.own_policy import foreseen


def checked_node(file: Path) -> Checked:
    """All that is wrong with the table; where that is nothing, whatever else a party refuses as it starts: numbers that
    are too large for the mask, too few rows, and what its policy does not allow."""
    config = read_node_file(file)
    asked = config.question.asked
    if asked is None or config.question.only_numbers:
        checked = _numbers(config)
    else:
        what: dict[str, Any] = {"formula": asked.formula} if asked.formula else {"columns": asked.selection.needs}
        checked = check(config.source, schema=asked.schema, missing=asked.missing, **what)
    if checked.ok:
        try:
            told = foreseen(config, config.own_data())
        except (InvalidInput, PolicyError) as error:
            return replace(checked, stopped=(str(error).rstrip("."),))
        if config.policy is not None:
            return replace(checked, policy=f"it allows this run. {told or 'It has no ledger.'}")
    return checked


def _numbers(config: NodeConfig) -> Checked:
    """Without a schema all columns are numbers. A CSV file of them needs no extra; then the first mistake is all."""
    columns, formula = _asked(config)
    schema = Schema([Column(name, "number") for name in columns])
    table = config.source or {"source": "csv", "file": str(config.data), "delimiter": config.delimiter}
    try:
        return check(table, schema=schema, **_known(formula, columns, schema))
    except MissingExtra:
        if config.source is not None or config.data is None:
            raise
    rows = len(read_one_per_party([config.data], columns, None, config.delimiter).rows[0])
    return Checked(str(config.data), "raise", read=rows, used=rows, columns=tuple(columns))


def _asked(config: NodeConfig) -> tuple[list[str], str]:
    """The columns, and of a regression its formula."""
    if (asked := config.question.asked) is not None:
        return list(asked.selection.needs), asked.formula
    assert config.question.cost is not None
    given = config.question.cost.values
    regression, intercept = "target" in given, bool(given.get("intercept", False))
    columns = [*given["features"], given["target"]] if regression else list(given["columns"])
    *features, target = map(spelled, columns)
    return columns, f"{target} ~ {' + '.join([str(int(intercept)), *features])}" if regression else ""


def _known(formula: str, columns: list[str], schema: Schema) -> dict[str, Any]:
    """The formula, unless its grammar cannot say it: a CSV file may name its columns as it likes."""
    try:
        if formula:
            Formula(formula).design(schema)
            return {"formula": formula}
    except InvalidInput:
        pass
    return {"columns": columns}
