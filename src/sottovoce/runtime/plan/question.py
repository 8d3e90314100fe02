"""What a run is about, publicly: a statistic or the optimum of a cost, the mask that hides the data, and the noise on
them, if there is any."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.cost_table import OWN_KEYS, PartyCost, read_party_cost
from ...data.csv_rows import read_one_per_party
from ...data.schema import Schema
from ...errors import InvalidFile
from ...files.toml_table import Table, TomlFile
from ...pdmm.local_noise import LocalNoise
from ...pdmm.masks import DEVIATIONS, GaussianMask
from ...pdmm.modular_mask import ModularMask
from ...statistics.agreements import DEFAULT_MASK, carried
from ...statistics.analysis import Analysis
from ...statistics.asked_table import read_asked, refuse_without_schema
from ...statistics.at_one_party import LARGEST, MASK_KEYS, Spec, read_spec
from ...statistics.of_tables import Asked
from .expected import Expected, from_ranges

Mask = GaussianMask | ModularMask

KINDS = ("statistic", "cost")
NOISY = ("mean", "averaging")  # of which a party brings one number a column, and the answer is their mean
DATA_KEYS = ("rows", "file", "delimiter")  # of a cost table, but where a party keeps its data is its own business


@dataclass(frozen=True, eq=False)
class Question:
    """Exactly one of ``statistic`` and ``cost`` is there; ``cost`` is its table, without data. ``asked`` is there for a
    statistic of tables under a schema: the whole of it, of which ``statistic`` is a part."""

    statistic: Spec | Analysis | None
    cost: Table | None
    mask: Mask
    parties: int
    size: float = 0.0  # of values, in units of scale, that parties count on; 0 for what the mask is meant for
    least_rows: int = 1  # that every party has
    noise: LocalNoise | None = None  # on what a party brings, in units of scale; None: the answer is exact
    asked: Asked | None = None

    def __post_init__(self) -> None:
        if not self.size:
            object.__setattr__(self, "size", self.meant_for(1.0))

    @property
    def kind(self) -> str:
        """The type of the statistic or of the cost."""
        return self.statistic.type if self.statistic is not None else self.party_cost().kind

    @property
    def schema(self) -> Schema | None:
        """What the columns of the tables mean; None where they are CSV files of numbers."""
        return None if self.asked is None else self.asked.schema

    @cached_property
    def expected(self) -> Expected | None:
        """What the ranges of the schema tell of the values; None where they do not, or not of all columns."""
        return None if self.asked is None else from_ranges(self.asked)

    @property
    def counts(self) -> int:
        """How many counts of a party hide behind modular pads, over all agreements."""
        if self.statistic is None:
            return 0
        return self.statistic.counts + (
            1 + len(self.asked.selection.needs) if self.asked is not None and self._drops else 0
        )

    @property
    def _drops(self) -> bool:
        return self.asked is not None and self.asked.missing == "drop"

    @property
    def numbers(self) -> int:
        """How many numbers of a party hide behind Gaussian pads, over all agreements. (Counts hide behind modular ones,
        without excess.)"""
        return len(self.party_cost().columns) if self.statistic is None else self.statistic.numbers

    @property
    def stages(self) -> int:
        """How many agreements it takes, at most."""
        if self.statistic is None:
            return 1
        return self.statistic.stages + self._drops  # and before all others that on the rows left out

    def spread(self, prior: float) -> float:
        """The variance of those numbers, their mean, if a value in units of ``scale`` has the variance ``prior``."""
        return prior if self.statistic is None or not self.numbers else self.statistic.spread(prior)

    def spread_of_lies(self, prior: float) -> float:
        """``spread``, if others lie as far as they are believed (see ``Limits``): ``n/N`` is up to ``n`` times what it
        is among equal parties, squares are about an agreed ``m`` of up to ``size``, so that their variance is that of
        ``(t - m)^2``, and residuals are squares of up to ``(2 size)^2``."""
        if isinstance(self.statistic, Analysis):
            return carried(self.parties, self.mask) ** 2 if isinstance(self.mask, GaussianMask) else 0.0
        residuals = 1 if self.kind == "least_squares" and self.squares else 0
        values = self.numbers if self.statistic is None else self.statistic.values
        products = self.numbers - values - residuals
        sums = values * prior + products * (2 * prior**2 + 4 * self.size**2 * prior)
        return self.parties**2 * (sums + residuals * (2 * self.size) ** 4) / self.numbers

    @property
    def squares(self) -> bool:
        """Whether squares and products travel."""
        return self.statistic is not None and self.statistic.squares

    def meant_for(self, prior: float, delta: float | None = None) -> float:
        """The largest value, in units of scale, that parties may count on: what a prior of this variance lets expect,
        or what the mask hides well where that is more, and nothing better was asked for by ``delta``. Where the schema
        has ranges no value is beyond them."""
        if self.expected is not None:
            return self.expected.largest
        expected = DEVIATIONS * math.sqrt(prior)
        if delta is None and isinstance(self.mask, GaussianMask):
            expected = max(expected, math.sqrt(self.mask.hides / 2) if self.squares else self.mask.hides / 2)
        return float(f"{expected:.3g}")

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses, by the names of the columns."""
        if self.statistic is None:
            cost = self.party_cost()
            return cost.columns if cost.kind == "averaging" else []
        return self.statistic.revealed if self.asked is None else self.asked.revealed

    def to_dict(self) -> dict[str, Any]:
        """In the one form that equal questions share; of a statistic, also in the form of its table. The statistic or
        cost comes first."""
        noise = {} if self.noise is None else {"noise": {"variance": self.noise.variance}}
        key, number = (
            ("bits", self.mask.bits) if isinstance(self.mask, ModularMask) else ("variance", self.mask.variance)
        )
        hidden: dict[str, Any] = {"mask": {key: number}} | ({"size": self.size} if key == "variance" else {})
        if self.statistic is None:
            return {"cost": {**self.party_cost().to_dict(), **hidden}, **noise}
        options = {name: value for name, value in self.statistic_told().items() if name not in MASK_KEYS}
        schema = {} if self.schema is None else {"schema": self.schema.to_dict()}
        return {"statistic": {**options, **hidden, "least_rows": self.least_rows}, **schema, **noise}

    def statistic_told(self) -> dict[str, Any]:
        """The statistic, with the number of its mask."""
        assert self.statistic is not None
        return self.statistic.to_dict() if self.asked is None else self.asked.to_dict()

    def told(self) -> dict[str, str]:
        """What people should see of it: the formula, and what becomes of missing values."""
        if self.asked is None:
            return {}
        formula = {"formula": self.asked.formula} if self.asked.formula else {}
        missing = {
            "drop": "rows that have one are left out, and counted",
            "raise": "a party that has one refuses to start",
        }
        return {**formula, "missing values": missing[self.asked.missing]}

    def noise_told(self, parties: int) -> dict[str, Any] | None:
        """What noise does to the answer of so many parties: by how much it is off in each column, one standard
        deviation, in the units of the answer. None without noise."""
        if self.noise is None:
            return None
        scales = np.broadcast_to(1.0 if self.statistic is None else self.statistic.scale, self.numbers)
        off = math.sqrt(self.noise.variance / parties) * scales
        return {"variance": self.noise.variance, "standard_deviation": off.tolist()}

    def under(self, mask: GaussianMask) -> Question:
        """The same question behind another mask."""
        statistic = None if self.statistic is None else replace(self.statistic, variance=mask.variance)
        asked = self.asked
        if asked is not None:
            assert statistic is not None
            asked = replace(asked, spec=statistic)
        return replace(self, statistic=statistic, mask=GaussianMask(mask.variance), asked=asked)

    def rows(self, data: Path, delimiter: str) -> Array:
        """A party's own rows, of the columns that the statistic names."""
        assert self.statistic is not None
        return read_one_per_party([data], list(self.statistic.columns), None, delimiter).rows[0]

    def party_cost(self, data: Path | None = None, delimiter: str = ",") -> PartyCost:
        """A party's own cost; without data that of one row of ones, which tells all that is public."""
        assert self.cost is not None
        values = dict(self.cost.values)
        if data is not None:
            values |= {"file": str(data.absolute()), "delimiter": delimiter}
        else:
            names = values.get("columns") or values.get("features")
            width = (len(names) if isinstance(names, list) else 1) + ("target" in values)
            values["rows"] = [[1.0] * width]
        return read_party_cost(Table(self.cost.file, self.cost.name, values), Path(), parties=self.parties)


def read_question(table: Table, mask: Mask | None, parties: int, schema: Schema | None = None) -> Question:
    """From ``[statistic]`` or ``[cost]``; without a mask that of the library's statistics. With a schema parties may
    have no rows, unless least_rows says otherwise."""
    if table.name.endswith("cost"):
        if schema is not None:
            raise table.refuse(
                None, "does not go with [schema]: a cost takes CSV files of numbers. Remove one of them."
            )
        table.refuse_unknown([key for key in OWN_KEYS if key not in DATA_KEYS])
        if isinstance(mask, ModularMask):
            raise table.refuse(None, "needs a mask with a variance: bits are for the counts of a histogram.")
        question = Question(None, table, mask or DEFAULT_MASK, parties)
        question.party_cost()  # for its refusals
        return question
    if schema is None:
        refuse_without_schema(table)
    asked = None if schema is None else read_asked(table, schema, mask)
    spec = read_spec(table, mask) if asked is None else asked.spec
    hides = ModularMask(spec.bits) if spec.counts_only else GaussianMask(spec.variance)
    return Question(spec, None, hides, parties, least_rows=1 if asked is None else 0, asked=asked)


def read_mask(table: Table) -> Mask:
    """From a table with ``variance`` or ``bits``."""
    table.refuse_unknown(MASK_KEYS)
    if len(table.values) != 1:
        raise table.refuse(None, "must have one of variance, for real numbers, and bits, for counts.")
    if "bits" in table:
        return table.call(ModularMask, table.integer("bits"), at="bits")
    return table.call(GaussianMask, table.number("variance"), at="variance")


def with_noise(question: Question, table: Table) -> Question:
    """The question under the noise of a table ``[noise]``."""
    table.refuse_unknown(("variance",))
    noise = table.call(LocalNoise, table.number("variance"), at="variance")
    if noise.variance > LARGEST**2:
        raise table.refuse("variance", f"must be at most {LARGEST**2:g}; got {noise.variance:g}. Give larger scales.")
    if isinstance(question.mask, ModularMask):
        raise table.refuse(None, "does not go with counts under modular pads, which are exact. Remove it.")
    if question.kind not in NOISY:
        raise table.refuse(
            None,
            'is for [statistic] type = "mean" and [cost] type = "averaging", where a party brings one number a column '
            f"and the answer is their mean; what noise does to {question.kind} is not known. Remove it.",
        )
    return replace(question, noise=noise)


def one_of_them(file: TomlFile, tables: dict[str, Any], outer: str = "") -> Table:
    """The table of the statistic, or that of the cost, among ``tables``."""
    found = [kind for kind in KINDS if kind in tables]
    if len(found) != 1:
        those = " and ".join(f"[{outer}{kind}]" for kind in KINDS)
        raise InvalidFile(f"{file.path}: give one of {those}; it says what the parties agree on.")
    return Table(file, f"{outer}{found[0]}", as_table(file, tables[found[0]], f"{outer}{found[0]}"))


def as_table(file: TomlFile, values: Any, name: str) -> dict[str, Any]:
    """Values that must be a table."""
    if not isinstance(values, dict):
        outer, _, inner = name.rpartition(".")
        raise InvalidFile(f"{file.where(outer, inner)}: {name} must be a table: write [{name}] on a line of its own.")
    return values
