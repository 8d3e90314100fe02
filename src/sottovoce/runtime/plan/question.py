"""What a run is about, publicly: a statistic or the optimum of a cost, the mask that hides the data, and the noise on
them, if there is any."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.cost_table import OWN_KEYS, PartyCost, read_party_cost
from ...data.csv_rows import read_one_per_party
from ...data.formula import Formula
from ...data.schema import Schema
from ...errors import InvalidFile, InvalidInput
from ...files.toml_table import Table, TomlFile
from ...pdmm.local_noise import LocalNoise
from ...pdmm.masks import DEVIATIONS, GaussianMask
from ...pdmm.modular_mask import ModularMask
from ...statistics.analyses import ANALYSES, formula_of, read_asked
from ...statistics.analysis import Analysis
from ...statistics.fewer_digits import endless
from ...statistics.gone import EXACT, refuse_gone
from ...statistics.of_tables import Asked

Mask = GaussianMask | ModularMask

KINDS = ("statistic", "cost")
DEFAULT_MASK = GaussianMask(variance=1e8)
MASK_KEYS = ("variance", "bits")
LARGEST = 1e30  # in units of scale
NOISY = "averaging"  # of which a party brings one number a column, and the answer is their mean
DATA_KEYS = ("rows", "file", "delimiter")  # of a cost table, but where a party keeps its data is its own business


@dataclass(frozen=True, eq=False)
class Question:
    """Exactly one of ``asked`` and ``cost`` is there: a statistic, on exact sums, or the table of a cost, without data,
    behind a Gaussian mask."""

    asked: Asked | None
    cost: Table | None
    mask: Mask
    parties: int
    size: float = 0.0  # of values, in units of scale, that parties count on; 0 for what the mask is meant for
    least_rows: int = 1  # that every party has
    noise: LocalNoise | None = None  # on what a party brings, in units of scale; None: the answer is exact
    only_numbers: bool = False  # of a statistic: whether its columns come without a schema

    def __post_init__(self) -> None:
        if not self.size:
            object.__setattr__(self, "size", self.meant_for(1.0))

    @property
    def statistic(self) -> Analysis | None:
        """What is computed; None where the parties agree on the optimum of a cost."""
        return None if self.asked is None else self.asked.spec

    @property
    def kind(self) -> str:
        """The type of the statistic or of the cost."""
        return self.statistic.type if self.statistic is not None else self.party_cost().kind

    @property
    def schema(self) -> Schema | None:
        """What the columns of the tables mean; None where they are CSV files of numbers, and of a cost."""
        return None if self.asked is None or self.only_numbers else self.asked.schema

    @property
    def counts(self) -> int:
        """How many integers of a party travel behind uniform pads, over all agreements, at most."""
        if self.asked is None:
            return 0
        spec = self.asked.spec
        return spec.numbers + spec.counts + sum(self.asked.first_counts)

    @property
    def numbers(self) -> int:
        """How many numbers of a party hide behind Gaussian pads."""
        return 0 if self.cost is None else len(self.party_cost().columns)

    @property
    def stages(self) -> int:
        """How many agreements it takes, at most."""
        if self.asked is None:
            return 1
        return self.asked.spec.stages + len(self.asked.first_counts)

    def meant_for(self, prior: float, delta: float | None = None) -> float:
        """The largest value, in units of scale, that parties may count on: what a prior of this variance lets expect,
        or what the mask hides well where that is more, and nothing better was asked for by ``delta``."""
        expected = DEVIATIONS * math.sqrt(prior)
        if delta is None and isinstance(self.mask, GaussianMask):
            expected = max(expected, self.mask.hides / 2)
        return float(f"{expected:.3g}")

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses, by the names of the columns."""
        if self.cost is not None:
            cost = self.party_cost()
            return cost.columns if cost.kind == "averaging" else []
        assert self.asked is not None
        return self.asked.revealed

    def to_dict(self) -> dict[str, Any]:
        """In the one form that equal questions share; of a statistic, also in the form of its table. The statistic or
        cost comes first."""
        noise = {} if self.noise is None else {"noise": {"variance": self.noise.variance}}
        if self.asked is None:
            assert isinstance(self.mask, GaussianMask)
            hidden = {"mask": {"variance": self.mask.variance}, "size": self.size}
            return {"cost": {**self.party_cost().to_dict(), **hidden}, **noise}
        schema = {} if self.schema is None else {"schema": self.schema.to_dict()}
        return {"statistic": {**self.asked.to_dict(), "least_rows": self.least_rows}, **schema}

    def statistic_told(self) -> dict[str, Any]:
        """The statistic."""
        assert self.asked is not None
        return self.asked.to_dict()

    def told(self) -> dict[str, str]:
        """What people should see of it: the formula, what becomes of missing values, and how finely sums are told."""
        if self.asked is None:
            return {}
        formula = {"formula": self.asked.formula} if self.asked.formula else {}
        missing = {
            "drop": "rows that have one are left out, and counted",
            "raise": "a party that has one refuses to start",
        }
        return {**formula, "missing values": missing[self.asked.missing], "digits": self._digits_told(self.asked)}

    def _digits_told(self, asked: Asked) -> str:
        if asked.digits == "statistical":
            return "each party rounds its sums to a hundredth of their standard error, and then they are hidden"
        if asked.spec.counts_only or not asked.spec.takes_fewer_digits:
            return "all: sums of " + ("counts" if asked.spec.counts_only else "this analysis") + " are not rounded"
        unbounded = endless(asked.spec.columns, asked.spec.ends)
        return "all" + (f": {', '.join(unbounded)} has no range in a schema" if unbounded else "")

    def noise_told(self, parties: int) -> dict[str, Any] | None:
        """What noise does to the answer of so many parties: by how much it is off in each column, one standard
        deviation, in the units of the answer. None without noise."""
        if self.noise is None:
            return None
        off = math.sqrt(self.noise.variance / parties) * np.ones(self.numbers)
        return {"variance": self.noise.variance, "standard_deviation": off.tolist()}

    def under(self, mask: GaussianMask) -> Question:
        """The same question behind another mask."""
        return replace(self, mask=GaussianMask(mask.variance))

    def rows(self, data: Path, delimiter: str) -> Array:
        """A party's own rows of a CSV file of numbers, of the columns that the statistic reads."""
        assert self.asked is not None
        return read_one_per_party([data], list(self.asked.selection.needs), None, delimiter).rows[0]

    def party_cost(self, data: Path | None = None, delimiter: str = ",") -> PartyCost:
        """A party's own cost; without data that of one row of ones, which tells all that is public, or of zeros, which
        are whole multiples of every unit."""
        assert self.cost is not None
        values = dict(self.cost.values)
        if data is not None:
            values |= {"file": str(data.absolute()), "delimiter": delimiter}
        else:
            names = values.get("columns") or values.get("features")
            width = (len(names) if isinstance(names, list) else 1) + ("target" in values)
            values["rows"] = [[0.0 if "unit" in values else 1.0] * width]
        return read_party_cost(Table(self.cost.file, self.cost.name, values), Path(), parties=self.parties)


def read_question(table: Table, mask: Mask | None, parties: int, schema: Schema | None = None) -> Question:
    """From ``[statistic]`` or ``[cost]``; a cost without a mask has that of the library. With a schema parties may have
    no rows, unless least_rows says otherwise."""
    if table.name.endswith("cost"):
        if schema is not None:
            raise table.refuse(
                None, "does not go with [schema]: a cost takes CSV files of numbers. Remove one of them."
            )
        table.refuse_unknown([key for key in OWN_KEYS if key not in DATA_KEYS])
        if isinstance(mask, ModularMask):
            raise table.refuse(None, "needs a mask with a variance: bits are for the counts of a histogram.")
        question = Question(None, table, mask or DEFAULT_MASK, parties)
        if (unit := question.party_cost().unit) is not None:
            assert isinstance(question.mask, GaussianMask)
            table.call(unit.check, question.mask.sigma, at="unit")
        return question
    if mask is not None:
        raise table.refuse(None, f"takes no [mask]: {EXACT}")
    refuse_gone(table)
    if schema is None:
        asked = read_asked(table, _numbers(table))
        return Question(asked, None, ModularMask(), parties, least_rows=1, only_numbers=True)
    return Question(read_asked(table, schema, digits=None), None, ModularMask(), parties, least_rows=0)


def _numbers(table: Table) -> Schema:
    """Without a schema the columns that a question names are numbers."""
    kind = table.choice("type", tuple(ANALYSES))
    if "columns" in table:
        return Schema.of_numbers(table.strings("columns"))
    try:
        formula = table.string("formula") if "formula" in table else formula_of(table)
        return Schema.of_numbers(Formula(str(formula)).variables)
    except InvalidInput as error:
        if isinstance(error, InvalidFile):
            raise
        raise table.refuse("formula", f'cannot be used for type = "{kind}" without a [schema]: {error}') from None


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
    if question.kind != NOISY:
        raise table.refuse(
            None,
            'is for [cost] type = "averaging", where a party brings one number a column and the answer is their mean; '
            f"{question.kind} is exact. Remove it.",
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
