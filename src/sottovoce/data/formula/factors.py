"""What a term is a product of: a column, the levels of one, arithmetic, or a spline; and its columns under a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..batch import Array
from ..schema import Schema
from .arithmetic import Expression, First, in_rows
from .splines import b_splines, natural_splines


def spelled(name: str) -> str:
    """A column as a formula writes it: in back-quotes where it is no plain name."""
    return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Named:
    """A column by its name: its numbers, or the levels of a category."""

    name: str

    @property
    def text(self) -> str:
        """As a formula writes it."""
        return spelled(self.name)

    @property
    def label(self) -> str:
        """As its columns are called."""
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it reads."""
        return (self.name,)


@dataclass(frozen=True)
class Levels(Named):
    """``C(x)``: the levels of a category or a boolean."""

    @property
    def text(self) -> str:
        return f"C({spelled(self.name)})"

    @property
    def label(self) -> str:
        return self.text


@dataclass(frozen=True)
class Computed:
    """Arithmetic, one number a row."""

    of: Expression

    @property
    def text(self) -> str:
        """As a formula writes it, and as its columns are called."""
        return self.of.text

    label = text

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it reads."""
        return self.of.names


@dataclass(frozen=True)
class Spline(Computed):
    """``bs(...)`` of a degree, or ``ns(...)`` where there is none."""

    knots: tuple[float, ...]
    ends: tuple[float, float]
    degree: int | None

    @property
    def text(self) -> str:
        ends, knots = (", ".join(map(written, numbers)) for numbers in (self.ends, self.knots))
        degree = f", degree={self.degree}" if self.degree not in (None, 3) else ""
        function = "ns" if self.degree is None else "bs"
        return f"{function}({self.of.text}, knots=[{knots}], range=[{ends}]{degree})"

    label = text

    @property
    def width(self) -> int:
        """How many columns it has. The first B-spline is left out: the intercept and the others span it."""
        return len(self.knots) + (1 if self.degree is None else self.degree)

    def basis(self, values: Mapping[str, Array], first: First) -> Array:
        """Its columns, ``(rows, width)``."""
        x = self.of.evaluate(values, first)
        low, high = self.ends
        if (outside := (x < low) | (x > high)).any():
            raise in_rows(self.text, f"a number outside its range [{written(low)}, {written(high)}]", outside, first)
        if self.degree is None:
            return natural_splines(x, self.knots, self.ends)
        return b_splines(x, self.knots, self.ends, self.degree)[:, 1:]


Factor = Named | Computed


def written(number: float) -> str:
    """A number of a formula, as short as it is exact."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


@dataclass(frozen=True)
class Coded:
    """A factor under a schema: what its columns are called, and for a category which of them is the reference."""

    factor: Factor
    names: tuple[str, ...]
    without_reference: tuple[str, ...] = ()
    reference: int | None = None

    @classmethod
    def of(cls, factor: Factor, schema: Schema) -> Coded:
        """The columns of the schema must be of the right type (``Formula.design`` sees to it)."""
        label = factor.label
        if isinstance(factor, Spline):
            return cls(factor, tuple(f"{label}[{k}]" for k in range(1, factor.width + 1)))
        if not isinstance(factor, Named):
            return cls(factor, (label,))
        column = schema[factor.name]
        levels, reference = column.levels, column.reference
        if column.type == "boolean" and isinstance(factor, Levels):
            levels, reference = ("False", "True"), "False"
        if not levels:
            return cls(factor, (label,))
        others = tuple(f"{label}[T.{level}]" for level in levels if level != reference)
        return cls(factor, tuple(f"{label}[{level}]" for level in levels), others, levels.index(str(reference)))

    @property
    def is_category(self) -> bool:
        """Whether its columns sum to one, and can do without the reference."""
        return self.reference is not None

    def width(self, reduced: bool) -> int:
        """How many columns; ``reduced``: all but the reference."""
        return len(self.without_reference if reduced else self.names)

    def columns(self, reduced: bool) -> list[tuple[int, str]]:
        """Their numbers and names."""
        if not reduced:
            return list(enumerate(self.names))
        return list(
            zip((k for k in range(len(self.names)) if k != self.reference), self.without_reference, strict=True)
        )

    def numbers(self, values: Mapping[str, Array], first: First) -> Array:
        """What its columns are made of: ``(rows,)``, the place of the level for a category; or ``(rows, width)``."""
        if isinstance(self.factor, Spline):
            return self.factor.basis(values, first)
        return values[self.factor.name] if isinstance(self.factor, Named) else self.factor.of.evaluate(values, first)

    def column(self, numbers: Array, k: int) -> Array:
        """One column of them."""
        if self.is_category:
            return np.asarray(numbers == k, dtype=np.float64)
        return numbers[:, k] if numbers.ndim == 2 else numbers
