"""What a generalised linear model is made of, the same at all parties; and what one party's rows must be for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers, ModularMask, check_size
from ..analysis import check_rows
from ..orders import LOWEST, exponents, mean_power
from .families import Family
from .links import Link

OFFSET_LOWEST = 2**20  # offsets are far smaller: what is counted is never negative


@dataclass(frozen=True, eq=False)
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
    unit : ndarray
        Public numbers that bring ``names`` and the response to size 1.
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
    unit: Array
    offset: int | None = None
    exposure: int | None = None
    weights: int | None = None
    turned: bool = False
    dispersion: str = "fixed"
    robust: str | None = None
    ridge: float = 0.0
    formula: str = ""
    schema: str = ""
    weights_name: str | None = None
    exposure_name: str | None = None

    @property
    def k(self) -> int:
        """How many parameters there are."""
        return len(self.names) + self.intercept

    @property
    def canonical(self) -> bool:
        """Whether the observed information is the expected one."""
        return self.link.name == self.family.canonical

    @property
    def by_newton(self) -> bool:
        """Whether steps take the observed information, where it is another than the expected one."""
        return not self.canonical and self.family.is_concave(self.link)

    @property
    def moved(self) -> bool:
        """Whether the linear predictor has something in it that is not estimated."""
        return self.offset is not None or self.exposure is not None

    @property
    def binary(self) -> bool:
        """Whether there must be events, and others."""
        return self.family.name == "binomial"

    @property
    def counting(self) -> bool:
        """Whether responses are counts."""
        return self.family.name in ("poisson", "negative_binomial")

    @property
    def rates(self) -> bool:
        """Whether responses may be fractions of counts: with an estimated dispersion they need not be Poisson."""
        return self.counting and self.dispersion == "pearson"

    @property
    def positive(self) -> bool:
        """Whether responses have a size."""
        return self.family.name in ("gamma", "inverse_gaussian")

    @property
    def counted(self) -> str:
        """What the first integers are of, for people."""
        found = ["rows"]
        found += ["those with an event, those without"] if self.binary else []
        found += [f"the counts {self.response!r}"] if self.counting else []
        found += [f"orders of magnitude of {self.response!r}"] if self.positive else []
        found += ["orders of magnitude of the weights"] if self.weights is not None else []
        found += ["offsets, rounded"] if self.moved else []
        return ", ".join(found)

    @property
    def infinite(self) -> str:
        """What it means if a parameter grows without bound, as the end of a sentence."""
        if self.binary:
            why = f"the column separates the outcomes {self.response!r}, or a level has no events, or only events"
        elif self.counting:
            why = f"all counts {self.response!r} are 0 where the column is not, as in a level without events"
        else:
            why = f"the responses {self.response!r} tell nothing of it"
        return f": {why}. Drop it, or merge the level."

    # Of some rows

    def y(self, block: Array) -> Array:
        """Responses."""
        y = block[:, len(self.names)]
        return 1 - y if self.turned else y

    def w(self, block: Array) -> Array:
        """Prior weights; 1 without."""
        return np.ones(len(block)) if self.weights is None else block[:, self.weights]

    def o(self, block: Array) -> Array:
        """Offsets and logarithms of exposures, summed; 0 without."""
        total = np.zeros(len(block))
        if self.offset is not None:
            total += block[:, self.offset]
        if self.exposure is not None:
            total += np.log(block[:, self.exposure])
        return total

    # Of one party

    def check(self, rows: Rows, parties: int) -> None:
        """Refuse responses that the family does not have, and weights and exposures that are not positive: by column,
        before anything is sent."""

        def faults(block: Array) -> Array:
            y, nothing = self.y(block), np.zeros(len(block))
            parts = self.binary and self.weights is None
            found = [
                (y < 0 if self.rates else self.family.wrong(y)) | (parts & (y != np.rint(y))),
                nothing if self.weights is None else block[:, self.weights] <= 0,
                nothing if self.exposure is None else block[:, self.exposure] <= 0,
            ]
            return np.array([[column.sum() for column in found]], dtype=np.float64)

        y, w, e = rows.sums(faults)
        if y:
            raise InvalidInput(
                f"column {self.response!r} has responses in {y:.0f} rows that the family {self.family.name} does not "
                f"take: it takes {self.family.takes}. Take another family, or mend them."
            )
        if w:
            raise InvalidInput(f"weights: they must be positive, and {w:.0f} rows have others. Leave such rows out.")
        if e:
            raise InvalidInput(f"exposure: it must be positive, and {e:.0f} rows have others. Leave such rows out.")
        check_size(self.counts(rows), ModularMask(), parties)

    def counts(self, rows: Rows) -> Integers:
        """What is known exactly of one party's rows: how many; by family, how many have an event and how many have none
        of it, the sum of counts, or the sizes of responses; sizes of weights, and offsets. Sizes are exponents of two,
        and nothing is negative."""

        def of_block(block: Array) -> Array:
            y, one = self.y(block), np.ones(len(block))
            found = [one]
            found += [(y > 0) * one, (y < 1) * one] if self.binary else []
            found += [np.ceil(y)] if self.counting else []
            found += [exponents(y) + LOWEST] if self.positive else []
            found += [exponents(self.w(block)) + LOWEST] if self.weights is not None else []
            found += [np.clip(np.rint(self.o(block)) + OFFSET_LOWEST, 0, 2 * OFFSET_LOWEST)] if self.moved else []
            return np.array([[column.sum() for column in found]])

        return np.rint(rows.sums(of_block)).astype(np.int64)

    def read_counts(self, total: Integers) -> Known:
        """What follows from the counts of all parties.

        Raises
        ------
        Undetermined
            No rows, fewer than parameters, no events, nothing but events, or no counts but 0: the same at all parties.
        """
        left = iter(total.tolist())
        N = next(left)
        check_rows(N)
        if self.k > N and not self.ridge:
            raise Undetermined(f"{N} observations do not determine {self.k} parameters.")
        size, level, common = N, 1.0, False
        if self.binary:
            events, others = next(left), next(left)
            if not (events and others):
                none = "1 (no events)" if others else "0 (only events)"
                raise Undetermined(
                    f"no row of any party has {self.response!r} = {none}: there is nothing to explain by a model."
                )
            size, common = min(events, others), events > others
        if self.counting:
            size = next(left)
            if size == 0:
                raise Undetermined(f"all counts {self.response!r} of all parties are 0: the rate has no logarithm.")
        if self.positive:
            level = mean_power(next(left), N)
        weight = mean_power(next(left), N) if self.weights is not None else 1.0
        shift = float(np.rint(next(left) / N)) - OFFSET_LOWEST if self.moved else 0.0
        return Known(N, self.brought(size, N), common, level, weight, shift)

    def brought(self, size: int, N: int) -> int:
        """What brings the information to size 1, from the events or the counts of all parties."""
        shape = getattr(self.family, "shape", 0.0)
        return max(1, round(size / (1 + shape * size / N)))


@dataclass(frozen=True)
class Known:
    """What all parties know the same of: ``N`` rows, the ``size`` of sums, whether events are more ``common`` than
    others, powers of two about the ``level`` of positive responses and about a ``weight``, and where offsets lie."""

    N: int
    size: int
    common: bool
    level: float
    weight: float
    offset: float
