"""The table ``[cost]`` of a problem file: whose data, which columns, which cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs import (
    AbsoluteDeviation,
    Averaging,
    Cost,
    ElasticNet,
    Hinge,
    Huber,
    Lasso,
    LeastSquares,
    Logistic,
    Quadratic,
)
from ..errors import InvalidCost, InvalidFile
from ..files.toml_table import Table, finite, nearest, shown
from ..pdmm.unit import Unit, read_units, say_rounded, whole_multiples
from .csv_rows import Shards
from .party_rows import read_data, read_own_rows

Array = npt.NDArray[np.float64]

FAMILIES: dict[str, Callable[..., Cost]] = {  # those that explain a target by features
    "least_squares": LeastSquares,
    "lasso": Lasso,
    "elastic_net": ElasticNet,
    "logistic": Logistic,
    "hinge": Hinge,
}
OF_VALUES = ("averaging", "absolute_deviation", "huber")
TYPES = (*OF_VALUES, *FAMILIES)
KEYS = (
    "type", "values", "parties", "files", "file", "party", "delimiter", "columns", "features", "target", "intercept",
    "scale", "unit", "delta", "ridge", "l1", "l2",
)  # fmt: skip
OWN_KEYS = (*(key for key in KEYS if key not in ("values", "parties", "files", "party")), "rows")

HIDDEN = {
    "averaging": "",
    "rows": "the messages show how many rows each party holds",
    "least_squares": "the messages of a regression show every party's A'A, at any variance; only A'b is masked",
    "other": "masking hides the constant of a party's gradient and nothing else: how the gradient changes shows",
}


@dataclass(frozen=True, eq=False)
class CostTable:
    """What ``[cost]`` says: one cost per party, and how to read the answer."""

    kind: str
    parties: list[str]
    columns: list[str]  # of the answer
    costs: Cost | list[Cost]
    scale: Array | None = None  # the answer is x / scale
    pooled: Array | None = field(default=None, repr=False)  # in the units of x; where it is cheap and exact
    notes: tuple[str, ...] = ()
    unhidden: str = ""  # what a mask does not hide
    parameters: dict[str, float] = field(default_factory=dict)  # of the family, for the whole problem
    unit: Unit | None = None  # that all numbers are whole multiples of

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that averaging discloses; of other costs they do not stand for data."""
        if self.kind != "averaging":
            return []
        rows = ["the number of rows"] if self.unhidden == HIDDEN["rows"] else []
        return [*rows, *self.columns]


@dataclass(frozen=True, eq=False)
class PartyCost:
    """What ``[cost]`` says in the file of one party: its own cost, and how to read the answer."""

    kind: str
    cost: Cost
    columns: list[str]  # of the answer
    target: str | None
    scale: Array | None  # the answer is x / scale
    parameters: dict[str, float]
    notes: tuple[str, ...]
    unhidden: str
    shared: Callable[[int], Cost] | None = None  # the cost of one among so many parties, where it has a penalty
    unit: Unit | None = None  # that all numbers are whole multiples of
    units: tuple[Fraction, ...] = ()  # of the columns

    def among(self, parties: int) -> Cost:
        """The party's cost where the penalty is shared by so many."""
        return self.cost if self.shared is None else self.shared(parties)

    def to_dict(self) -> dict[str, Any]:
        """All that the parties must have in common, and nothing else, for JSON."""
        return {
            "type": self.kind,
            "columns": self.columns,
            "target": self.target,
            "scale": None if self.scale is None else self.scale.tolist(),
            **self.parameters,
            **({"unit": [float(unit) for unit in self.units]} if self.units else {}),
        }


def read_cost(table: Table, base: Path) -> CostTable:
    """The costs of all parties, from values in the file or from CSV files beside it."""
    table.refuse_unknown(KEYS)
    kind = table.choice("type", TYPES)
    shards = read_data(table, base, regression=kind not in OF_VALUES)
    made = _of_values(table, kind, shards) if kind in OF_VALUES else _of_rows(table, kind, shards, len(shards))
    table.finish(f'type = "{kind}"')
    return made


def read_party_cost(table: Table, base: Path, *, parties: int) -> PartyCost:
    """The cost of one party of a network, from its own table; of a penalty it carries its share, ``1/parties``."""
    table.refuse_unknown(OWN_KEYS)
    kind = table.choice("type", TYPES)
    if kind == "least_squares":
        raise table.refuse(
            "type", "= 'least_squares' would show every party's A'A. The statistic of that name is exact and does not."
        )
    target = None if kind in OF_VALUES else table.string("target")
    names = table.strings("columns" if target is None else "features")
    if target in names:
        raise table.refuse("features", f"contains the target {target!r}.")
    shards = read_own_rows(table, base, names if target is None else [*names, target])
    made = _of_values(table, kind, shards) if target is None else _of_rows(table, kind, shards, parties)
    table.finish(f'type = "{kind}"')

    def shared(parties: int) -> Cost:
        return _only(_of_rows(table, kind, shards, parties))

    more = (made.columns, target, made.scale, made.parameters, made.notes, made.unhidden)
    units = _units(table, made.columns) if kind == "averaging" else ()
    return PartyCost(kind, _only(made), *more, None if target is None else shared, made.unit, units)


def _only(made: CostTable) -> Cost:
    return made.costs if isinstance(made.costs, Cost) else made.costs[0]


def _of_values(table: Table, kind: str, shards: Shards) -> CostTable:
    options = {"delta": table.number("delta", 1.0)} if kind == "huber" else {}
    if options.get("delta", 1.0) <= 0:
        raise table.refuse("delta", f"must be a number > 0; got {options['delta']:g}.")
    units = _units(table, shards.columns) if kind == "averaging" else ()
    rows_of, unit = _in_units(table, shards.rows, units)
    counts = np.array([len(rows) for rows in rows_of])
    notes: tuple[str, ...] = ()
    # A party that is alone does not know the others' rows, and does not tell by a note whether it has more than one.
    if kind == "averaging" and ((counts > 1).any() or len(shards) == 1):
        rows_of_all = f"all {counts.sum()} rows" if len(shards) > 1 else "the rows of all parties"
        notes = (f"the mean is over {rows_of_all}, so a party with more rows weighs more",)
    made = CostTable(
        kind, shards.parties, shards.columns, [], notes=notes, unhidden=HIDDEN["other"], parameters=options, unit=unit
    )
    if (counts == 1).all():
        s = np.concatenate(rows_of)
        s = s[:, 0] if s.shape[1] == 1 else s
        if kind == "averaging":
            return replace(made, costs=Averaging.many(s), pooled=s.mean(axis=0), unhidden=HIDDEN["averaging"])
        family = Huber if kind == "huber" else AbsoluteDeviation
        return replace(made, costs=family.many(s, **options))
    if kind != "averaging":
        raise InvalidFile(f"{shards.sources[int(counts.argmax())]}: {kind} takes one row per party; there are more.")
    # sum_j ||x - s_j||^2 over a party's rows, so that the answer is the mean of all rows and not of the parties' means.
    sums = [_total(rows, unit) for rows in rows_of]
    costs: list[Cost] = [
        Quadratic(2.0 * len(rows), -2.0 * total, float((rows**2).sum()))
        for rows, total in zip(rows_of, sums, strict=True)
    ]
    mean = np.concatenate(rows_of).mean(axis=0)
    return replace(made, costs=costs, pooled=mean, unhidden=HIDDEN["rows"])


def _units(table: Table, names: Sequence[str]) -> tuple[Fraction, ...]:
    """Of the columns, from one number or a table by name; none where none is given."""
    given = table.get("unit", None)
    if given is None:
        return ()
    if not isinstance(given, dict):
        return tuple(table.call(read_units, given, len(names), at="unit"))
    if missing := [name for name in names if name not in given]:
        raise table.refuse("unit", f"must have a number for every column; {missing[0]!r} has none.")
    for name in given:
        if name not in names:
            raise table.refuse("unit", f"names {name!r}, which is no column{nearest(name, names)}")
    return tuple(table.call(read_units, [given[name] for name in names], len(names), at="unit"))


def _in_units(table: Table, rows: list[Array], units: Sequence[Fraction]) -> tuple[list[Array], Unit | None]:
    """The rows of all parties, rounded to whole multiples of the units of their columns."""
    if not units:
        return rows, None
    values, unit, rounded = table.call(whole_multiples, np.concatenate(rows), units, at="unit")
    say_rounded(rounded, values.size, stacklevel=4)
    return np.split(values, np.cumsum([len(part) for part in rows])[:-1]), unit


def _total(rows: Array, unit: Unit | None) -> Any:
    """The sum over rows, a number where there is one column; of whole multiples of a unit exact."""
    if unit is not None:
        total = unit.values(unit.multiples(rows).sum(axis=0))
        return total if len(total) > 1 else total[0]
    return rows.sum(axis=0) if rows.shape[1] > 1 else rows.sum()


def _of_rows(table: Table, kind: str, shards: Shards, n: int) -> CostTable:
    features = shards.columns[:-1]
    if not features:
        raise table.refuse("features", "is empty: there is no column but the target.")
    scale = read_scale(table, features, "feature")
    A = [rows[:, :-1] / scale for rows in shards.rows]
    b = [rows[:, -1] for rows in shards.rows]
    notes: list[str] = []
    if table.flag("intercept", False):
        if "intercept" in features:
            raise table.refuse("intercept", "is true, but there is a feature of that name already.")
        A = [np.column_stack([rows, np.ones(len(rows))]) for rows in A]
        features, scale = [*features, "intercept"], np.append(scale, 1.0)
    penalties = _penalties(table, kind)
    if features[-1] == "intercept" and any(penalties.values()):
        notes.append("the penalty covers the intercept too")
    costs = [_one(kind, A_i, b_i, penalties, n, where) for A_i, b_i, where in zip(A, b, shards.sources, strict=True)]
    pooled = None
    if kind == "least_squares":
        pooled, rank = _pooled(A, b, penalties["ridge"])
        if rank < len(features):
            pooled = None
            notes.append(f"the pooled rows have rank {rank} for {len(features)} unknowns: the answer is not unique")
    unhidden = HIDDEN["other" if kind in ("logistic", "hinge") else "least_squares"]
    return CostTable(kind, shards.parties, features, costs, scale, pooled, tuple(notes), unhidden, penalties)


def read_scale(table: Table, names: Sequence[str], what: str) -> Array:
    """Public numbers that columns are divided by, as agreed before the run; 1 for the others."""
    given = table.get("scale", {})
    if not isinstance(given, dict):
        raise table.refuse("scale", f"must be a table such as {{ age = 10 }}; got {shown(given)}.")
    for name, value in given.items():
        if name not in names:
            raise table.refuse("scale", f"names {name!r}, which is no {what}{nearest(name, names)}")
        if not finite(value) or value <= 0:
            raise table.refuse("scale", f"must be positive numbers; got {shown(value)} for {name!r}.")
    return np.array([float(given.get(name, 1.0)) for name in names])


def _penalties(table: Table, kind: str) -> dict[str, float]:
    default = {"least_squares": 0.0, "logistic": 1.0, "hinge": 1.0}.get(kind)
    if default is not None:
        return {"ridge": table.number("ridge", default, least=0)}
    l1 = table.number("l1", least=0)
    return {"l1": l1, "l2": table.number("l2", 0.0, least=0)} if kind == "elastic_net" else {"l1": l1}


def _one(kind: str, A: Array, b: Array, penalties: dict[str, float], n: int, where: str) -> Cost:
    """The cost of one party, with its share of the penalty: the shares of all parties make the whole."""
    try:
        cost: Cost = FAMILIES[kind](A, b, **{name: value / n for name, value in penalties.items()})
    except InvalidCost as error:
        raise InvalidFile(f"{where}: {error}") from None
    return cost


def _pooled(A: list[Array], b: list[Array], ridge: float) -> tuple[Array, int]:
    """The regression on all rows at once, which only a simulation can compute, and the rank of its matrix."""
    d = A[0].shape[1]
    rows, target = np.concatenate([*A, np.sqrt(ridge) * np.eye(d)]), np.concatenate([*b, np.zeros(d)])
    x, _, rank, _ = np.linalg.lstsq(rows, target, rcond=None)
    return np.asarray(x), int(rank)
