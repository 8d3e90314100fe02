"""What a generalised linear model is made of, the same at all parties; and what one party's rows must be for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import InvalidInput
from .families import Family
from .links import Link


@dataclass(frozen=True, eq=False, kw_only=True)
class GLMModel:
    """Rows have the columns of ``names`` first, then the ``response``, and further ones where the places say.

    Attributes
    ----------
    names : tuple of str
        Of the columns of the design, less the intercept.
    response : str
        What it is called.
    family, link
        Of the response.
    intercept : bool
        Whether there is one.
    units : tuple of Fraction or None
        Public units of the columns of the rows, as far as they are declared.
    offset, exposure, weights : int, optional
        Where they are in a row; None where there are none.
    turned : bool
        Whether outcomes 0 and 1 change places, as the second level is the reference.
    dispersion : {"fixed", "pearson"}
        1, or estimated.
    robust : {"HC0", "HC1"}, optional
        Sandwich errors.
    ridge : float
        ``ridge ||slopes||^2 / 2``, in units of the data, is subtracted from half of the negative deviance.
    formula, schema, weights_name, exposure_name : str
        As they were given; the schema of the columns that are read, as JSON.
    """

    names: tuple[str, ...]
    response: str
    family: Family
    link: Link
    intercept: bool
    units: tuple[Fraction | None, ...]
    offset: int | None
    exposure: int | None
    weights: int | None
    turned: bool
    dispersion: str
    robust: str | None
    ridge: float
    formula: str
    schema: str
    weights_name: str | None
    exposure_name: str | None

    @property
    def k(self) -> int:
        """How many parameters there are, if no column depends on others."""
        return len(self.names) + self.intercept

    @property
    def terms(self) -> tuple[str, ...]:
        """What they are called."""
        return ("Intercept",) * self.intercept + self.names

    @property
    def canonical(self) -> bool:
        """Whether the observed information is the expected one."""
        return self.link.name == self.family.canonical

    @property
    def moved(self) -> bool:
        """Whether the linear predictor has something in it that is not estimated."""
        return self.offset is not None or self.exposure is not None

    @property
    def dispersed(self) -> bool:
        """Whether the dispersion is estimated."""
        return self.dispersion == "pearson"

    @property
    def separable(self) -> bool:
        """Whether the log-likelihood of a perfect fit can be told before the dispersion is."""
        return self.family.separable(weighted=self.weights is not None)

    @property
    def counted(self) -> tuple[str, ...]:
        """What the first integers count, for people."""
        return ("rows", *self.family.counted)

    @property
    def infinite(self) -> str:
        """What it means if a parameter grows without bound, as the end of a sentence."""
        return f": {self.family.infinite(self.response)}. Drop it, or merge the level."

    # Of some rows. Columns are copied: what NumPy makes of a number may depend on how far it lies from the next one.

    def y(self, block: Array) -> Array:
        """Responses."""
        y = np.ascontiguousarray(block[:, len(self.names)])
        return 1 - y if self.turned else y

    def w(self, block: Array) -> Array:
        """Prior weights; 1 without."""
        return np.ones(len(block)) if self.weights is None else np.ascontiguousarray(block[:, self.weights])

    def o(self, block: Array) -> Array:
        """Offsets and logarithms of exposures, summed; 0 without."""
        total = np.zeros(len(block))
        if self.offset is not None:
            total += block[:, self.offset]
        if self.exposure is not None:
            total += np.log(np.ascontiguousarray(block[:, self.exposure]))
        return total

    def counts(self, block: Array) -> Int64:
        """Of each row 1, and whether it is one of those that are ``counted``."""
        return np.column_stack([np.ones(len(block), bool), self.family.count(self.y(block))]).astype(np.int64)

    # Of one party

    def check(self, rows: Rows) -> None:
        """Refuse responses that the family does not have, and weights and exposures that are not positive: by column,
        before anything is sent."""

        def faults(block: Array) -> Int64:
            nothing = np.zeros(len(block), dtype=bool)
            found = [
                self.family.wrong(self.y(block), weighted=self.weights is not None, dispersed=self.dispersed),
                nothing if self.weights is None else block[:, self.weights] <= 0,
                nothing if self.exposure is None else block[:, self.exposure] <= 0,
            ]
            return np.column_stack(found).astype(np.int64)

        y, w, e = rows.totals(faults)
        if y:
            raise InvalidInput(
                f"column {self.response!r} has responses in {y} rows that the family {self.family.name} does not "
                f"take: it takes {self.family.takes}. Take another family, or mend them."
            )
        if w:
            raise InvalidInput(f"weights: they must be positive, and {w} rows have others. Leave such rows out.")
        if e:
            raise InvalidInput(f"exposure: it must be positive, and {e} rows have others. Leave such rows out.")
