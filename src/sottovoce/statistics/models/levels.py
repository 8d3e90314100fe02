"""A response that is one of several levels: which column it is, and how many rows of all parties have each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...data.formula import Formula
from ...data.rows import Rows
from ...data.schema import Schema
from ...data.selection import ModelColumns
from ...errors import InvalidInput
from ...files.frames import chosen, read_columns
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements


def model_columns(schema: Schema, formula: str, what: str) -> ModelColumns:
    """What a model with one response and no offset takes of a row."""
    columns = ModelColumns(Formula(formula).design(schema, categories=True))
    if len(columns.design.response) != 1:
        raise InvalidInput(
            f"formula: {what} explains one column, which stands before ~; got {len(columns.design.response)}."
        )
    if columns.design.has_offset:
        raise InvalidInput(f"formula: {what} takes no offset. Leave it out.")
    return columns


def levels_of(schema: Schema, columns: ModelColumns, what: str) -> tuple[str, ...]:
    """Those of the response, in the order of the schema."""
    name = columns.design.response[0]
    column = schema.get(name)
    if column is None or column.type not in ("category", "boolean"):
        kind = "no column of the schema" if column is None else f"of type {column.type}"
        raise InvalidInput(f"formula: {what} explains a category or a boolean; {name!r} is {kind}.")
    return column.levels or ("false", "true")


def level_counts(rows: Rows, place: int, levels: int) -> Integers:
    """How many rows have each level."""
    found = rows.sums(lambda block: (block[:, [place]] == np.arange(levels)).astype(np.float64))
    return np.asarray(np.rint(found), dtype=np.int64)


def agreed_levels(
    agreements: Agreements, rows: Sequence[Rows], place: int, name: str, levels: Sequence[str], mask: ModularMask
) -> Integers:
    """The same of all parties, exactly; refused where a level has none."""
    own = np.array([level_counts(part, place, len(levels)) for part in rows])
    counts = agreements.total(own, mask, of=f"rows at each level of {name}")
    if not counts.any():
        raise InvalidInput("no party has any rows.")
    if empty := [repr(level) for level, count in zip(levels, counts.tolist(), strict=True) if not count]:
        raise InvalidInput(
            f"no row of any party has {name} at the level {', '.join(empty)}: nothing tells how likely it is. Merge it "
            "with another level, or take it out of the schema."
        )
    return counts


def entropy(counts: Integers) -> float:
    """The log-likelihood of the model whose probabilities are the shares: the best of those without columns."""
    return float((counts * np.log(counts / counts.sum())).sum())


def check_enough(observations: int, parameters: int) -> None:
    """An agreed number of rows against what is to be estimated from them."""
    if observations < parameters:
        raise InvalidInput(f"{observations} observations do not determine {parameters} parameters. Drop columns.")


def design_rows(X: npt.ArrayLike, names: tuple[str, ...]) -> Array:
    """Columns of a design as ``predict`` takes them: ``(rows, d)``, or a frame with these names; without an intercept."""
    found = read_columns(X, "X")
    rows = as_floats(X if found is None else chosen(found, names, "X"), "X")
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InvalidInput(f"X must be (rows, {len(names)}), a column for each of {names}; got {rows.shape}.")
    return rows


def chi2_tail(statistic: float, df: int) -> float:
    """``P(chi2 > statistic)``."""
    from scipy import special

    return float(special.chdtrc(df, max(0.0, statistic))) if df else 1.0
