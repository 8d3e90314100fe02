"""What a statistic takes of a row of a table: columns as they are, or the equation of a formula."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .batch import Array
from .formula import Design
from .formula.exact_columns import MOST_REST
from .formula.measure import Largest, Measure, minus, of_column
from .schema import Schema

Units = tuple[Fraction | None, ...]
Numbers = npt.NDArray[np.int64]
INTERCEPT = "Intercept"  # as a design calls it
NONE: Largest = MappingProxyType({})


class Selection(ABC):
    """What a statistic takes of a row: public, and the same at every party."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The columns of the table that must be there."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """What the numbers are called that are made of them."""

    @abstractmethod
    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """Of some rows, ``(rows, len(columns))``; ``numbers`` are those of the rows, for sentences."""

    @abstractmethod
    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """What is public about each of the numbers. ``largest``: of columns of the table without a range, the largest
        absolute values."""

    def units(self, schema: Schema, largest: Largest = NONE) -> Units:
        """The public step on which each of the numbers lies, or to which it is rounded; None where neither a unit nor a
        range tells."""
        return tuple(measure.grid for measure in self.measures(schema, largest))


@dataclass(frozen=True)
class PlainColumns(Selection):
    """Columns of the table as they are."""

    columns: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns themselves."""
        return self.columns

    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """One beside the other."""
        return np.column_stack([values[name] for name in self.columns])

    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """Those of the columns."""
        return [of_column(schema[name], largest) for name in self.columns]


@dataclass(frozen=True)
class Equation(Selection):
    """The columns of a design but the intercept, and last the response, less the offset."""

    design: Design

    def __post_init__(self) -> None:
        if len(self.design.response) != 1:
            raise InvalidInput(
                f"the formula needs one column before ~, which is to be explained; got {len(self.design.response)}."
            )
        if INTERCEPT in self.design.needs:
            raise InvalidInput(f"a column is called {INTERCEPT!r}, as that of a design is. Rename it.")
        if not self._slopes:
            raise InvalidInput("the formula has no term but an intercept. Its estimate is the mean: ask for that.")
        if self.design.response[0] in self.design.columns:
            raise InvalidInput(f"the formula explains {self.design.response[0]!r} by itself. Drop it after ~.")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the formula names."""
        return tuple(self.design.needs)

    @property
    def intercept(self) -> bool:
        """Whether the design has one."""
        return INTERCEPT in self.design.columns

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the design, and of the response."""
        return (*(self.design.columns[k] for k in self._slopes), self.design.response[0])

    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """The numbers of ``columns``."""
        x = self.design.matrix(values, numbers)[:, self._slopes]
        y = self.design.target(values, numbers)[:, 0]
        return np.column_stack([x, y - self.design.offset(values, numbers)])

    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """Those of the design, and of the response less the offset."""
        columns = self.design.measures(schema, largest)
        (y,) = self.design.target_measures(schema, largest)
        y = minus(y, self.design.offset_measure(schema, largest)) if self.design.has_offset else y
        return [*(columns[k] for k in self._slopes), y]

    @property
    def _slopes(self) -> list[int]:
        return [k for k, name in enumerate(self.design.columns) if name != INTERCEPT]


OFFSET = "(offset)"  # no name of a column


@dataclass(frozen=True)
class ModelColumns(Selection):
    """What a model takes of a row: the columns of a design but the intercept, its responses as they are (a category as
    the place of its level), the offset where the formula has one, and further columns of the table as they are;
    ``with_rests``: also what columns of the design lack that float64 rounds."""

    design: Design
    more: tuple[str, ...] = ()
    with_rests: bool = False

    def __post_init__(self) -> None:
        if INTERCEPT in self.needs:
            raise InvalidInput(f"a column is called {INTERCEPT!r}, as that of a design is. Rename it.")
        for name in self.design.response:
            if name in self.design.columns:
                raise InvalidInput(f"formula: it explains {name!r} by itself. Drop it after ~.")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the formula names, and the further ones."""
        return tuple(dict.fromkeys((*self.design.needs, *self.more)))

    @property
    def intercept(self) -> bool:
        """Whether the design has one."""
        return INTERCEPT in self.design.columns

    @property
    def slopes(self) -> tuple[str, ...]:
        """Names of the design's columns but the intercept: the first columns of a row."""
        return tuple(self.design.columns[k] for k in self._slopes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Slopes, responses, ``(offset)``, further ones, rests."""
        rests = (f"(rest of {self.slopes[place]})" for place in self.rests)
        return (*self.slopes, *self.design.response, *([OFFSET] if self.design.has_offset else []), *self.more, *rests)

    @property
    def multiplied(self) -> tuple[str, ...]:
        """Columns but the rests, which are parts of others."""
        return self.columns[: len(self.columns) - len(self.rests)]

    @cached_property
    def rests(self) -> dict[int, int]:
        """By place of a column in a row, where its rest is."""
        if not self.with_rests:
            return {}
        first = int(self.response.stop) + self.design.has_offset + len(self.more)
        return {self._slopes.index(place): first + j for j, place in enumerate(self.design.rounded)}

    @property
    def response(self) -> slice:
        """Where the responses are in a row."""
        return slice(len(self._slopes), len(self._slopes) + len(self.design.response))

    @property
    def offset(self) -> int | None:
        """Where the offset is in a row; None without one."""
        return self.response.stop if self.design.has_offset else None

    def place(self, name: str) -> int:
        """Where a further column is in a row."""
        return int(self.response.stop) + self.design.has_offset + self.more.index(name)

    def block(self, values: Mapping[str, Array], numbers: Numbers) -> Array:
        """The numbers of ``columns``."""
        matrix = self.design.matrix(values, numbers)
        offset = [self.design.offset(values, numbers)] if self.design.has_offset else []
        rests = [self.design.rests(values, matrix)] if self.rests else []
        further = (values[name] for name in self.more)
        return np.column_stack(
            [matrix[:, self._slopes], self.design.target(values, numbers), *offset, *further, *rests]
        )

    def measures(self, schema: Schema, largest: Largest = NONE) -> list[Measure]:
        """Those of ``columns``, in their order."""
        columns, responses = (of(schema, largest) for of in (self.design.measures, self.design.target_measures))
        offset = [self.design.offset_measure(schema, largest)] if self.design.has_offset else []
        more = (of_column(schema[name], largest) for name in self.more)
        rests = [Measure(Fraction(1), -MOST_REST, MOST_REST, is_column=True)] * len(self.rests)
        return [*(columns[k] for k in self._slopes), *responses, *offset, *more, *rests]

    @property
    def _slopes(self) -> list[int]:
        return [k for k, name in enumerate(self.design.columns) if name != INTERCEPT]
