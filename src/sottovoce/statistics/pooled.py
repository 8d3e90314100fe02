"""Mean, variance and covariance of all rows of all parties, from one exact sum each."""

from __future__ import annotations

import builtins
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..costs.base import Array
from ..data.rows import Array as Block
from ..data.rows import Int64, Rows
from ..data.selection import PlainColumns
from ..errors import InvalidInput, PeerError, Undetermined
from ..pdmm.result import Status
from ..sums import Whole, join_squares, square_parts, whole
from .agreements import Agreements, unless_beyond
from .analysis import Analysis, check_rows, check_squares
from .fewer_digits import Rounding, agreed_rounding
from .statistic import Statistic, Value, plain_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 1_000  # of which products are summed


@dataclass(frozen=True, eq=False, repr=False)
class PooledMean(Statistic):
    """What ``private_mean`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    observations : int
        Rows of all parties.
    mean : float or ndarray
        A float for one variable, else ``(d,)``.
    names : tuple of str
        Of the columns: those of frames, else ``x0, x1, ..``; ``x`` for one variable.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_mean(sv.Network.ring(3), [[[1.0, 2.0]], [[3.0, 6.0]], [[2.0, 1.0]]])
    >>> result.observations, result.mean.round(6).tolist()
    (3, [2.0, 3.0])
    """

    observations: Value[int] = Value()
    mean: Value[float | Array] = Value()
    names: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Mean"  # above the summary

    def summary(self) -> str:
        """A table for people: a row for each column."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no numbers to report."
        heading = f"{self._heading()}: {self.observations} observations of {self.parties} parties"
        table = plain_table(self._columns(), texts=1)
        return "\n".join([heading, *filter(None, [self.data_notes()]), "", *table])

    def _heading(self) -> str:
        return self.title

    def _columns(self) -> dict[str, list[Any]]:
        return {"column": list(self.names), "mean": np.ravel(self.mean).tolist()}

    def _facts(self) -> str:
        of = f"{len(self.names)} columns" if len(self.names) > 3 else ", ".join(self.names)
        return f"{of}: {self.observations} observations of {self.parties} parties"

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_rows

        return plot_rows(path, self.names, np.ravel(self.mean), None, self._facts(), "mean")


@dataclass(frozen=True, eq=False, repr=False)
class PooledVariance(PooledMean):
    """What ``private_variance`` returns, besides the fields of ``PooledMean``.

    Attributes
    ----------
    ddof : int
        What was subtracted from the number of rows.
    variance : float or ndarray
        Of the shape of ``mean``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_variance(sv.Network.ring(3), [[1.0, 2.0], [6.0], []], ddof=0)
    >>> result.ddof, round(result.mean, 6), round(result.variance, 6)
    (0, 3.0, 4.666667)
    """

    ddof: Value[int] = Value()
    variance: Value[float | Array] = Value()

    title: ClassVar[str] = "Variance"

    def _heading(self) -> str:
        return f"{self.title} (N - {self.ddof})"

    @property
    def standard_deviation(self) -> float | Array:
        """The root of ``variance``."""
        return shaped(np.sqrt(np.maximum(self.variance, 0.0)), np.shape(self.variance))

    def _columns(self) -> dict[str, list[Any]]:
        spread = {"variance": self.variance, "standard_deviation": self.standard_deviation}
        return {**super()._columns(), **{name: np.ravel(values).tolist() for name, values in spread.items()}}

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_rows

        mean, spread = np.ravel(self.mean), np.ravel(self.standard_deviation)
        within = np.column_stack([mean - spread, mean + spread])
        return plot_rows(path, self.names, mean, within, self._facts(), "mean, and one standard deviation about it")


@dataclass(frozen=True, eq=False, repr=False)
class PooledCovariance(PooledMean):
    """What ``private_covariance`` returns, besides the fields of ``PooledMean``.

    Attributes
    ----------
    ddof : int
        What was subtracted from the number of rows.
    covariance : ndarray
        ``(d, d)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_covariance(sv.Network.ring(3), [[[0.0, 0.0]], [[1.0, 2.0]], [[2.0, 4.0]]])
    >>> result.observations, result.covariance.round(6).tolist()
    (3, [[1.0, 2.0], [2.0, 4.0]])
    """

    ddof: Value[int] = Value()
    covariance: Value[Array] = Value()

    title: ClassVar[str] = "Covariance"

    def _heading(self) -> str:
        return f"{self.title} (N - {self.ddof})"

    @property
    def correlation(self) -> Array:
        """``(d, d)``; NaN in the row and column of a variable that does not vary."""
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        spread = np.where(spread > 0, spread, np.nan)
        correlation = np.clip(self.covariance / np.outer(spread, spread), -1.0, 1.0)
        np.fill_diagonal(correlation, np.where(np.isnan(spread), np.nan, 1.0))
        return np.asarray(correlation)

    def _columns(self) -> dict[str, list[Any]]:
        covariances = {
            f"covariance with {name}": row.tolist() for name, row in zip(self.names, self.covariance, strict=True)
        }
        return {**super()._columns(), **covariances}

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_correlation

        return plot_correlation(path, self.names, self.correlation, f"Correlations: {self.observations} observations")


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnsAnalysis(Analysis):
    """An analysis of ``columns`` as they are: one by its name, whose answer is a number, or a list of several."""

    columns: str | tuple[str, ...] = ()  # type: ignore[assignment]

    has_tests: ClassVar[bool] = False
    gives: ClassVar[builtins.type[PooledMean]] = PooledMean
    of: ClassVar[str]  # what the sums are of, for people

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
    def parameters(self) -> int:
        return len(self.columns)

    @property
    def revealed(self) -> list[str]:
        return ["the number of rows", f"values of {', '.join(self.columns)}"]

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PooledMean:
        units, d = agreements.units(rows, self.units), len(self.columns)
        rounding = agreed_rounding(agreements, rows, range(d), units)
        own = [unless_beyond(self.terms, part, units, rounding) for part in rows]
        total = agreements.sum(own, of=self.of, counts=1, size=self.numbers)
        N, sums = int(total[0]), total[1 : 1 + d]
        self.check_count(N)
        self.check_means(N, sums, units, rounding)
        mean = np.array([float(unit * Fraction(int(value), N)) for unit, value in zip(units, sums, strict=True)])
        spread = self.spread(N, total, units, rounding)
        return self.gives(*agreements.made, N, shaped(mean, self.shape), self.names, *spread)

    @abstractmethod
    def terms(self, rows: Rows, units: Sequence[Fraction], rounding: Rounding | None) -> Whole:
        """What a party adds: its number of rows, its sums, and what else there is."""

    def check_count(self, N: int) -> None:
        """Refuse too few rows of all parties."""
        check_rows(N)

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

    def spread(self, N: int, total: Whole, units: Sequence[Fraction], rounding: Rounding | None) -> Sequence[Any]:
        """What the answer has besides means."""
        return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanAnalysis(ColumnsAnalysis):
    """``columns``."""

    type: ClassVar[str] = "mean"
    of: ClassVar[str] = "rows and values"

    @property
    def numbers(self) -> int:
        return 1 + len(self.columns)

    def terms(self, rows: Rows, units: Sequence[Fraction], rounding: Rounding | None) -> Whole:
        totals = rows.totals(lambda block: _beside_ones(whole(block, units)))
        if rounding is None:
            return totals
        return np.concatenate([totals[:1], rounding.sums(totals[None, 1:], totals[:1], range(len(units)))[0]])


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceAnalysis(ColumnsAnalysis):
    """``columns``; ``ddof``, what is subtracted from the number of rows."""

    ddof: int = 1

    type: ClassVar[str] = "variance"
    of: ClassVar[str] = "rows, values and squares"
    gives: ClassVar[builtins.type[PooledMean]] = PooledVariance

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ddof < 0:
            raise InvalidInput(f"ddof must be an integer >= 0, 1 for the unbiased estimate; got {self.ddof!r}.")

    @property
    def numbers(self) -> int:
        return 1 + 2 * len(self.columns)

    @property
    def revealed(self) -> list[str]:
        return [*super().revealed, f"squares of {', '.join(self.columns)}"]

    def terms(self, rows: Rows, units: Sequence[Fraction], rounding: Rounding | None) -> Whole:
        def of_block(block: Block) -> Int64:
            z = whole(block, units)
            return np.column_stack([_beside_ones(z), square_parts(z)])

        d, totals = len(units), rows.totals(of_block)
        n, sums, squares = totals[:1], totals[None, 1 : 1 + d], join_squares(totals[1 + d :])
        if rounding is not None:
            told = rounding.sums(sums, n, range(d))
            sums, squares = told, rounding.squares(squares[None], sums, told, n, range(d))[0]
        return np.concatenate([n, sums[0], squares])

    def check_count(self, N: int) -> None:
        super().check_count(N)
        if self.ddof >= N:
            raise Undetermined(
                f"ddof={self.ddof} needs more than {self.ddof} observations; the parties have {N} in all."
            )

    def spread(self, N: int, total: Whole, units: Sequence[Fraction], rounding: Rounding | None) -> Sequence[Any]:
        d = len(units)
        variance = np.empty(d)
        for j, (unit, own, square) in enumerate(zip(units, total[1 : 1 + d], total[1 + d :], strict=True)):
            gram = np.array([[N, own], [own, square]], object)
            check_squares(gram if rounding is None else rounding.widened(gram, [j]))
            variance[j] = float(max(self.moment(gram, 1, 1), Fraction(0)) * unit**2)
        return int(self.ddof), shaped(variance, self.shape)

    def moment(self, gram: Whole, j: int, k: int) -> Fraction:
        """``sum (x_j - mean)(x_k - mean) / (N - ddof)`` from sums of products of ``(1, columns)``."""
        N = int(gram[0, 0])
        product = N * int(gram[j, k]) - int(gram[0, j]) * int(gram[0, k])
        return Fraction(product, N * (N - self.ddof))


@dataclass(frozen=True, eq=False, kw_only=True)
class CovarianceAnalysis(VarianceAnalysis):
    """``columns``; ``ddof``, what is subtracted from the number of rows."""

    type: ClassVar[str] = "covariance"
    of: ClassVar[str] = "rows, values and products, pair by pair"
    gives: ClassVar[builtins.type[PooledMean]] = PooledCovariance

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

    @property
    def numbers(self) -> int:
        return math.comb(len(self.columns) + 2, 2)

    @property
    def parameters(self) -> int:
        return math.comb(len(self.columns) + 1, 2)

    @property
    def revealed(self) -> list[str]:
        names = ", ".join(self.columns)
        return ["the number of rows", f"values of {names}", f"products, pair by pair, of {names}"]

    def terms(self, rows: Rows, units: Sequence[Fraction], rounding: Rounding | None) -> Whole:
        def sides(block: Block) -> tuple[Int64, Int64]:
            z = _beside_ones(whole(block, units))
            return z, z

        d, gram = len(units), rows.grams(sides)
        gram = gram if rounding is None else rounding.gram(gram, range(d))
        return np.asarray(gram[np.triu_indices(d + 1)])

    def spread(self, N: int, total: Whole, units: Sequence[Fraction], rounding: Rounding | None) -> Sequence[Any]:
        d = len(units)
        half, gram, covariance = np.triu_indices(d + 1), np.empty((d + 1, d + 1), object), np.empty((d, d))
        gram[half] = gram.T[half] = total
        check_squares(gram if rounding is None else rounding.widened(gram, range(d)))
        for j, k in combinations_with_replacement(range(d), 2):
            moment = self.moment(gram, j + 1, k + 1)
            covariance[j, k] = covariance[k, j] = float(moment * units[j] * units[k])
        return int(self.ddof), covariance


def _beside_ones(z: Int64) -> Int64:
    return np.column_stack([np.ones(len(z), np.int64), z])


def shaped(values: Array, shape: tuple[int, ...]) -> float | Array:
    """A number where the shape is ``()``."""
    return values if shape else float(np.reshape(values, ()))
