"""``type = "mean"``, ``"variance"`` and ``"covariance"``: of all rows of all parties, from one exact sum each."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..data.rows import Array as Block
from ..data.rows import Int64, Rows
from ..data.selection import PlainColumns
from ..errors import InvalidInput, PeerError, Undetermined
from ..sums import Whole, join_squares, square_parts, whole
from .agreements import Agreements, unless_beyond
from .analysis import Analysis, check_rows, check_squares
from .fewer_digits import Rounding, agreed_rounding
from .pooled import PooledCovariance, PooledMean, PooledVariance, shaped
from .statistic import Statistic

MOST_COLUMNS = 1_000  # of which products are summed


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnsAnalysis(Analysis):
    """An analysis of ``columns`` as they are: one by its name, whose answer is a number, or a list of several."""

    columns: str | tuple[str, ...] = ()  # type: ignore[assignment]

    has_tests: ClassVar[bool] = False

    def __post_init__(self) -> None:
        single = isinstance(self.columns, str)
        names = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        object.__setattr__(self, "single", single)
        object.__setattr__(self, "columns", names)
        if not names or len(set(names)) < len(names):
            raise InvalidInput(f"columns must be one or more different names; got {list(names)}.")
        for column in self.schema.restricted(names).values():
            if column.type == "category":
                raise InvalidInput(
                    f"column {column.name!r} is a category, which has no {self.type}: its histogram counts its levels."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(self.columns)

    @cached_property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the answer: ``()`` of one column by its name."""
        return () if self.single else (len(self.columns),)  # type: ignore[attr-defined]

    @property
    def stages(self) -> int:
        return 1

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return len(self.columns)

    @property
    def revealed(self) -> list[str]:
        return ["the number of rows", f"values of {', '.join(self.columns)}"]

    def check_means(self, N: int, sums: Whole, units: Sequence[Fraction], rounding: Rounding | None) -> None:
        """Refuse sums of all parties that no rows have within the ranges of the columns."""
        for j, (name, unit, (low, high)) in enumerate(zip(self.columns, units, self.ends, strict=True)):
            off = 0 if rounding is None else rounding.off(j, 1, 0)
            below = math.isfinite(low) and unit * (sums[j] + off) < N * Fraction(low)
            if below or (math.isfinite(high) and unit * (sums[j] - off) > N * Fraction(high)):
                raise PeerError(
                    f"the mean of {name!r} of all parties is outside of its range: a party has not kept to the "
                    "protocol. Agree on a new run."
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanAnalysis(ColumnsAnalysis):
    """``columns``."""

    type: ClassVar[str] = "mean"
    gives: ClassVar[builtins.type[Statistic]] = PooledMean

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PooledMean:
        units = agreements.units(rows, self.units)

        rounding = agreed_rounding(agreements, rows, range(len(units)), units)

        def terms(block: Block) -> Int64:
            return _beside_ones(whole(block, units))

        def told(part: Rows) -> Whole:
            return _rounded(rounding, part.totals(terms))

        own = [unless_beyond(told, part) for part in rows]
        N, sums = _counted(agreements.sum(own, of="rows and values", counts=1, size=self.numbers))
        self.check_means(N, sums, units, rounding)
        mean = np.array([float(unit * Fraction(int(total), N)) for unit, total in zip(units, sums, strict=True)])
        return PooledMean(*agreements.made, N, shaped(mean, self.shape), self.names)

    @property
    def numbers(self) -> int:
        return 1 + len(self.columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceAnalysis(ColumnsAnalysis):
    """``columns``; ``ddof``, what is subtracted from the number of rows."""

    ddof: int = 1

    type: ClassVar[str] = "variance"
    gives: ClassVar[builtins.type[Statistic]] = PooledVariance

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ddof(self.ddof)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PooledVariance:
        units, d = agreements.units(rows, self.units), len(self.columns)
        rounding = agreed_rounding(agreements, rows, range(d), units)

        def terms(block: Block) -> Int64:
            z = whole(block, units)
            return np.column_stack([_beside_ones(z), square_parts(z)])

        def own(part: Rows) -> Whole:
            totals = part.totals(terms)
            return _rounded(rounding, totals[: 1 + d], join_squares(totals[1 + d :]))

        shares = [unless_beyond(own, part) for part in rows]
        N, sums = _counted(agreements.sum(shares, of="rows, values and squares", counts=1, size=self.numbers))
        check_degrees(N, self.ddof)
        self.check_means(N, sums[:d], units, rounding)
        mean, variance = np.empty(d), np.empty(d)
        for j, unit in enumerate(units):
            gram = np.array([[N, sums[j]], [sums[j], sums[d + j]]], object)
            check_squares(gram if rounding is None else rounding.widened(gram, [j]))
            mean[j] = float(unit * Fraction(int(sums[j]), N))
            variance[j] = float(max(_moment(N, sums[j], sums[j], sums[d + j], self.ddof), Fraction(0)) * unit**2)
        values = shaped(mean, self.shape), self.names, int(self.ddof), shaped(variance, self.shape)
        return PooledVariance(*agreements.made, N, *values)

    @property
    def numbers(self) -> int:
        return 1 + 2 * len(self.columns)

    @property
    def revealed(self) -> list[str]:
        names = ", ".join(self.columns)
        return ["the number of rows", f"values of {names}", f"squares of {names}"]


@dataclass(frozen=True, eq=False, kw_only=True)
class CovarianceAnalysis(VarianceAnalysis):
    """``columns``; ``ddof``, what is subtracted from the number of rows."""

    type: ClassVar[str] = "covariance"
    gives: ClassVar[builtins.type[Statistic]] = PooledCovariance

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise InvalidInput(
                f"a covariance needs a list of columns; got {self.columns!r}. Of one column ask for the variance."
            )
        super().__post_init__()
        if len(self.columns) > MOST_COLUMNS:
            raise InvalidInput(
                f"{len(self.columns):,} columns are too many for sums of their products; at most {MOST_COLUMNS}."
            )

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PooledCovariance:  # type: ignore[override]
        units, d = agreements.units(rows, self.units), len(self.columns)
        rounding = agreed_rounding(agreements, rows, range(d), units)

        def sides(block: Block) -> tuple[Int64, Int64]:
            z = _beside_ones(whole(block, units))
            return z, z

        half = np.triu_indices(d + 1)

        def told(part: Rows) -> Whole:
            gram = part.grams(sides)
            return np.asarray((gram if rounding is None else rounding.gram(gram, range(d)))[half])

        own = [unless_beyond(told, part) for part in rows]
        total = agreements.sum(own, of="rows, values and products, pair by pair", counts=1, size=self.numbers)
        N, _ = _counted(total)
        check_degrees(N, self.ddof)
        gram = np.empty((d + 1, d + 1), object)
        gram[half] = gram.T[half] = total
        self.check_means(N, gram[0, 1:], units, rounding)
        check_squares(gram if rounding is None else rounding.widened(gram, range(d)))
        mean, covariance = np.empty(d), np.empty((d, d))
        for j, unit in enumerate(units):
            mean[j] = float(unit * Fraction(int(gram[0, j + 1]), N))
            for k in range(j, d):
                moment = _moment(N, gram[0, j + 1], gram[0, k + 1], gram[j + 1, k + 1], self.ddof)
                covariance[j, k] = covariance[k, j] = float(moment * unit * units[k])
        return PooledCovariance(*agreements.made, N, mean, self.names, int(self.ddof), covariance)

    @property
    def numbers(self) -> int:
        d = len(self.columns)
        return (d + 1) * (d + 2) // 2

    @property
    def parameters(self) -> int:
        d = len(self.columns)
        return d * (d + 1) // 2

    @property
    def revealed(self) -> list[str]:
        names = ", ".join(self.columns)
        return ["the number of rows", f"values of {names}", f"products, pair by pair, of {names}"]


def check_ddof(ddof: int) -> None:
    """Refuse what cannot be subtracted from ``N``."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | np.integer) or ddof < 0:
        raise InvalidInput(f"ddof must be an integer >= 0, 1 for the unbiased estimate; got {ddof!r}.")


def check_degrees(N: int, ddof: int) -> None:
    """Refuse a variance of no more rows than ``ddof``."""
    if ddof >= N:
        raise Undetermined(f"ddof={ddof} needs more than {ddof} observations; the parties have {N} in all.")


def _beside_ones(z: Int64) -> Int64:
    return np.column_stack([np.ones(len(z), np.int64), z])


def _rounded(rounding: Rounding | None, counted: Whole, squares: Whole | None = None) -> Whole:
    """A party's rows, sums and squares as it tells them."""
    n, sums = counted[:1], counted[1:]
    if rounding is not None:
        places = range(len(sums))
        told = rounding.sums(sums[None], n, places)
        squares = None if squares is None else rounding.squares(squares[None], sums[None], told, n, places)[0]
        sums = told[0]
    return np.concatenate([n, sums, *([] if squares is None else [squares])])


def _counted(total: Whole) -> tuple[int, Whole]:
    """``N``, which is first, and the other sums."""
    check_rows(int(total[0]))
    return int(total[0]), total[1:]


def _moment(N: int, left: int, right: int, product: int, ddof: int) -> Fraction:
    """``sum (x - mean)(y - mean) / (N - ddof)`` from sums of ``x``, ``y`` and ``xy``."""
    return Fraction(N * int(product) - int(left) * int(right), N * (N - ddof))
