"""Random nasty tables at random parties.

Columns have scales from 1e-6 to 1e6, may lie 1e5 of their deviations away from 0, and have 2 to 14 digits: a float64
then stands for one decimal, so that exact oracles and the package read the same number. Of 2 to 50 parties one may have
all rows and many none; levels may be rare, or in the schema alone; cells may be missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import sottovoce as sv

Array = np.ndarray[Any, np.dtype[np.float64]]
MOST_PARTIES = 50
DIGITS = (2, 3, 5, 9, 14)


class World:
    """Columns as they are drawn, and their schema; ``study`` deals the rows out.

    ``mild``: 0 for anything; with 1 there is no shift beyond a few deviations, and columns have about one size.
    """

    def __init__(self, rng: np.random.Generator, rows: int, mild: bool = False) -> None:
        self.rng, self.n, self.mild = rng, rows, mild
        self.columns: dict[str, Any] = {}
        self.schema: dict[str, Any] = {}
        self.decimals: dict[str, int] = {}

    def declare(self, name: str) -> None:
        """Tell the unit of a column, and its range: products of such columns have all their digits."""
        reach = 2.0 * float(np.abs(self.columns[name]).max(initial=0.0)) or 2.0 * float(self.unit(name))
        self.schema[name] |= {"unit": str(self.unit(name)), "range": (-reach, reach)}

    def unit(self, name: str) -> Decimal:
        """The decimals of a column."""
        return Decimal(1).scaleb(-self.decimals[name])

    def number(self, name: str, *, like: str | None = None, near: float = 0.0, ranged: bool = False) -> Array:
        """A column of numbers. ``like``: another one, from which it differs by ``near`` of its deviations."""
        if like is not None:
            other = self.columns[like]
            deviation = float(other.std()) or 1.0
            return self.add(name, other + near * deviation * self.rng.normal(size=self.n), digits=14, ranged=ranged)
        z = self.standard()
        shift, scale = 0.0, 1.0
        if self.mild:
            scale, shift = 10 ** self.rng.uniform(-1, 1), self.rng.uniform(-3, 3)
        else:
            scale = 10 ** self.rng.uniform(-6, 6)
            shift = float(self.rng.choice([0.0, 0.0, 1.0, 100.0, 1e5])) * float(self.rng.choice([-1, 1]))
        digits = int(self.rng.choice(DIGITS))
        if abs(shift) > 1:  # so many more as the shift costs
            digits = min(14, max(digits, 2 + round(math.log10(abs(shift)))))
        return self.add(name, scale * (z + shift), digits=digits, ranged=ranged)

    def standard(self) -> Array:
        """A column of about one size, of many shapes."""
        n, rng = self.n, self.rng
        shapes = {
            "normal": lambda: rng.normal(size=n),
            "uniform": lambda: rng.uniform(-1.7, 1.7, n),
            "skewed": lambda: rng.lognormal(0, 1, n),
            "tails": lambda: rng.standard_t(3, n),
            "whole": lambda: rng.integers(-3, 4, n) / 2,
            "few": lambda: np.where(rng.random(n) < 0.1, 3.0, 0.0) + (np.arange(n) == 0),
            "grown": lambda: np.linspace(-1.7, 1.7, n),
        }
        return np.asarray(shapes[str(rng.choice(list(shapes)))](), dtype=np.float64)

    def add(self, name: str, values: Array, *, digits: int = 6, ranged: bool = False) -> Array:
        """A column of given numbers, in so many digits of the largest."""
        size = float(np.abs(values).max(initial=0.0)) or 1.0
        decimals = min(22, digits - 1 - math.floor(math.log10(size)))
        rounded = np.array([float(f"{value:.{max(0, decimals)}f}") for value in values]) + 0.0
        if decimals < 0:
            rounded = np.round(rounded / 10.0**-decimals) * 10.0**-decimals
        self.columns[name] = rounded
        self.schema[name] = {"type": "number"}
        self.decimals[name] = decimals
        if ranged:
            low, high = (float(rounded.min()), float(rounded.max())) if self.n else (0.0, 1.0)
            width = (high - low) or abs(high) or 1.0
            slack = width * float(self.rng.choice([0.0, 0.1, 10.0, 1e4]))
            self.schema[name]["range"] = (low - slack, high + slack + (0.0 if high > low or slack else width))
            if self.rng.random() < 0.7:
                self.schema[name]["unit"] = str(self.unit(name))
            else:  # on the grid that follows from the range: cells beyond it are rounded, and the owner is told
                grid = sv.Schema({name: self.schema[name]})[name].grid
                rounded = np.clip(_on(rounded, grid), *self.schema[name]["range"])
                self.columns[name] = rounded
        return rounded

    def integer(self, name: str, values: Any, low: int, high: int) -> Array:
        """A column of whole numbers with a range."""
        self.columns[name] = np.asarray(values, dtype=np.float64)
        self.schema[name] = {"type": "integer", "range": (low, high)}
        return self.columns[name]

    def category(self, name: str, levels: int | None = None, *, empty: bool = True, rare: bool = True) -> Any:
        """A category whose first levels have rows, the others few or none."""
        rng = self.rng
        count = int(rng.integers(2, 5)) if levels is None else levels
        names = [f"{name}{k}" for k in range(count)]
        shares = rng.dirichlet(np.full(count, 0.5 if rare and rng.random() < 0.4 else 5.0))
        values = rng.choice(names, self.n, p=shares)
        if rare and self.n > 3 and rng.random() < 0.2:
            values[values == names[-1]] = names[0]
            values[0] = names[-1]  # one row
        known = [*names, *([f"{name}x"] if empty and rng.random() < 0.15 else [])]
        self.columns[name] = values.astype(object)
        self.schema[name] = {"type": "category", "levels": known}
        if rng.random() < 0.3:
            self.schema[name]["reference"] = str(rng.choice(names))
        return self.columns[name]

    def boolean(self, name: str, values: Any) -> Any:
        """A column of booleans."""
        self.columns[name] = np.asarray(values, dtype=bool)
        self.schema[name] = "boolean"
        return self.columns[name]

    def study(self, *, missing: bool = True, even: bool = False) -> Dealt:
        """The rows at parties. ``missing``: whether cells may be; ``even``: whether every party has a fair share."""
        frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in self.columns.items()})
        drop = missing and self.rng.random() < 0.3
        if drop:
            hidden = self.rng.random(frame.shape) < self.rng.choice([0.01, 0.1])
            frame = frame.mask(hidden, None)
        party, parties = dealt(self.rng, self.n, even=even)
        tables = [
            {name: [_cell(v) for v in frame.loc[party == k, name].tolist()] for name in frame} for k in range(parties)
        ]
        options = {"missing": "drop"} if drop else {}
        network = network_of(self.rng, parties)
        study = sv.Study(network, tables, schema=self.schema, **options)
        return Dealt(study, frame.assign(party=party), parties, tables, options)


def _on(values: Array, grid: Fraction | None) -> Array:
    """The nearest multiples."""
    if grid is None:
        return values
    return np.array([float(round(Fraction(repr(value)) / grid) * grid) for value in values.tolist()])


def _cell(value: Any) -> Any:
    return None if value is None or value != value else value


@dataclass
class Dealt:
    """A study, and all of its rows in one place, in a column ``party`` whose they are."""

    study: sv.Study
    frame: pd.DataFrame
    parties: int
    tables: list[dict[str, list[Any]]]
    options: dict[str, Any]

    def with_number(self, name: str, values: Array) -> sv.Study:
        """The same with one more column, which may depend on whose a row is."""
        party = self.frame["party"].to_numpy()
        tables = [table | {name: values[party == k].tolist()} for k, table in enumerate(self.tables)]
        schema = {**self.study.schema, name: {"type": "number"}}
        return sv.Study(self.study.network, tables, schema=sv.Schema(schema), **self.options)

    def rows(self, *names: str) -> pd.DataFrame:
        """Those that have a value in these columns, with the types that the columns have."""
        found = self.frame[[*dict.fromkeys(names), "party"]].dropna()
        return found.infer_objects()


def dealt(rng: np.random.Generator, rows: int, *, even: bool = False) -> tuple[Any, int]:
    """The party of each row, and how many parties there are."""
    parties = int(rng.choice([2, 3, 4, 5, 8, MOST_PARTIES], p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]))
    if even:
        return rng.permutation(np.arange(rows) % parties), parties
    way = rng.random()
    if way < 0.15:
        return np.full(rows, rng.integers(parties)), parties
    shares = rng.dirichlet(np.full(parties, rng.choice([0.3, 5.0])))
    party = rng.choice(parties, rows, p=shares)
    return (np.sort(party) if way < 0.5 else party), parties


def network_of(rng: np.random.Generator, parties: int) -> sv.Network:
    """A ring, a complete network, or a random tree with a chord or two."""
    kind = rng.integers(3)
    if parties < 3 or (kind == 0 and parties < 9):
        return sv.Network.complete(parties)
    if kind == 1:
        return sv.Network.ring(parties)
    edges = {(int(rng.integers(i)), i) for i in range(1, parties)}
    edges |= {tuple(sorted(rng.choice(parties, 2, replace=False).tolist())) for _ in range(2)}
    return sv.Network.from_edges(parties, sorted(edges))


def rows_of(rng: np.random.Generator, most: int = 150) -> int:
    """How many rows: mostly dozens, at times one or two."""
    return int(rng.choice([1, 2, 3, 5])) if rng.random() < 0.08 else int(rng.integers(6, most))
