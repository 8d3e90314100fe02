"""Two categories against each other: exact counts, and tests whether they depend on each other (A. Agresti,
Categorical Data Analysis, 3rd ed., sections 3.2 and 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput
from ...network.labels import shortened
from ...network.pictures import BLUE, ORANGE, PALE, picture
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import CountsAnalysis, check_rows
from ..statistic import Value
from .columns import level_column, levels_of
from .finding import Finding, left_out, p_words
from .group_moments import row_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#F0E442", "#56B4E9", "#E69F00", PALE)  # Okabe and Ito
MOST_CELLS = 10_000
TIED = 1e-7  # tables as likely as the one that was seen, to rounding, are as extreme


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(Finding):
    """What ``Study.crosstab`` returns, besides the fields of ``Statistic``. Tests leave out rows and columns without
    counts, which say nothing; they are NaN where a single row or column is left.

    Attributes
    ----------
    row, column : str
        The two columns of the tables.
    row_levels, column_levels : tuple of str
        Their levels, in the order of the schema.
    counts : ndarray of int
        ``(row_levels, column_levels)``, exact.

    Examples
    --------
    >>> import sottovoce as sv
    >>> tables = [{"smoker": [True, True, False], "ill": [True, False, False]}, {"smoker": [False], "ill": [True]}]
    >>> study = sv.Study(sv.Network.from_edges(2, [(0, 1)]), tables, schema={"smoker": "boolean", "ill": "boolean"})
    >>> table = study.crosstab("smoker", "ill")
    >>> table.counts.tolist(), table.chi2, table.fisher_pvalue
    ([[1, 1], [1, 1]], 0.0, 1.0)
    """

    row: Value[str] = Value()
    column: Value[str] = Value()
    row_levels: Value[tuple[str, ...]] = Value()
    column_levels: Value[tuple[str, ...]] = Value()
    counts: Value[Integers] = Value()

    title: ClassVar[str] = "Crosstab"
    derived: ClassVar[tuple[str, ...]] = (
        "observations", "df", "chi2", "chi2_pvalue", "chi2_yates", "chi2_yates_pvalue", "g", "g_pvalue", "odds_ratio",
        "fisher_pvalue", "cramers_v",
    )  # fmt: skip

    @property
    def observations(self) -> int:
        """Rows of all parties."""
        return int(self.counts.sum())

    @property
    def expected(self) -> Array:
        """Counts that independent columns would have."""
        return expected_of(self.counts)

    @property
    def df(self) -> int:
        """Degrees of freedom."""
        return degrees_of_freedom(self.counts)

    @property
    def chi2(self) -> float:
        """Pearson's statistic."""
        return chi2_of(self.counts)

    @property
    def chi2_pvalue(self) -> float:
        """Of ``chi2``."""
        return chi2_pvalue(self.chi2, self.df)

    @property
    def chi2_yates(self) -> float | None:
        """Pearson's statistic with Yates' correction; None unless the table has two rows and two columns."""
        return chi2_of(self.counts, yates=True) if self._is_small else None

    @property
    def chi2_yates_pvalue(self) -> float | None:
        """Of ``chi2_yates``."""
        return None if self.chi2_yates is None else chi2_pvalue(self.chi2_yates, self.df)

    @property
    def g(self) -> float:
        """The likelihood ratio statistic ``2 sum O log(O/E)``."""
        from scipy.special import xlogy

        if not self.df:
            return float("nan")
        seen = without_empty(self.counts)
        return float(2 * xlogy(seen, seen / expected_of(seen)).sum())

    @property
    def g_pvalue(self) -> float:
        """Of ``g``."""
        return chi2_pvalue(self.g, self.df)

    @property
    def odds_ratio(self) -> float | None:
        """``ad/bc``, NaN where both are 0; None unless the table has two rows and two columns."""
        if not self._is_small:
            return None
        (a, b), (c, d) = self.counts.tolist()
        if b * c == 0:
            return float("inf") if a * d else float("nan")
        return float(a * d / (b * c))

    @property
    def fisher_pvalue(self) -> float | None:
        """Of Fisher's exact test, two-sided: the probability, given the margins, of tables no more likely than this
        one; None unless the table has two rows and two columns."""
        if not self._is_small:
            return None
        (a, b), (c, d) = self.counts.tolist()
        row, column, rest = a + b, a + c, b + d - (a + b)
        first = max(0, -rest)
        # From one table to the next, in which the first cell has one more. Likelihoods rise to a mode and fall.
        k = np.arange(first, min(row, column) + 0.0)
        ratio = (row - k) * (column - k) / ((k + 1) * (rest + k + 1))
        mode = int((ratio > 1).sum())
        below, above = np.cumprod(1 / ratio[:mode][::-1])[::-1], np.cumprod(ratio[mode:])
        weight = np.concatenate([below, [1.0], above])  # of tables, where that of the mode is 1
        own = weight[a - first]
        return float(min(1.0, weight[weight <= own * (1 + TIED)].sum() / weight.sum()))

    @property
    def cramers_v(self) -> float:
        """Strength of the dependence, from 0 to 1: ``sqrt(chi2 / (N min(rows - 1, columns - 1)))``."""
        if not self.df:
            return float("nan")
        return float(np.sqrt(self.chi2 / (self.observations * (min(without_empty(self.counts).shape) - 1))))

    @property
    def row_percentages(self) -> Array:
        """Of each row, how it divides into columns; NaN of an empty row."""
        return self._percentages(axis=1)

    @property
    def column_percentages(self) -> Array:
        """Of each column, how it divides into rows; NaN of an empty column."""
        return self._percentages(axis=0)

    def _percentages(self, axis: int) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray(100 * self.counts / self.counts.sum(axis=axis, keepdims=True))

    @property
    def _is_small(self) -> bool:
        return self.counts.shape == (2, 2)

    def _facts(self) -> str:
        return f"{self.row} by {self.column}, {self.observations} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        counts = zip(self.column_levels, self.counts.T.tolist(), strict=True)
        return {self.row: list(self.row_levels), **{f"{self.column} = {level}": column for level, column in counts}}

    def _body(self) -> dict[str, list[Any]]:
        rows, columns = self.counts.sum(axis=1).tolist(), self.counts.sum(axis=0).tolist()
        body = self._columns()
        for values, total in zip(list(body.values())[1:], columns, strict=True):
            values.append(total)
        body[self.row].append("all")
        return {**body, "all": [*rows, self.observations]}

    def _head(self) -> list[tuple[str, str]]:
        told = [("chi2", f"{self.chi2:.6g} on {self.df} degrees of freedom, p {p_words(self.chi2_pvalue)}")]
        if self.chi2_yates is not None:
            told.append(("chi2, Yates", f"{self.chi2_yates:.6g}, p {p_words(self.chi2_yates_pvalue)}"))
        told.append(("G", f"{self.g:.6g}, p {p_words(self.g_pvalue)}"))
        if self.odds_ratio is not None:
            told.append(("Fisher", f"odds ratio {self.odds_ratio:.6g}, p {p_words(self.fisher_pvalue)}"))
        return [*told, ("Cramer's V", f"{self.cramers_v:.4f}")]

    def _notes(self) -> list[str]:
        rows = left_out(f"levels of {self.row}", self.row_levels, self.counts.sum(axis=1))
        return rows + left_out(f"levels of {self.column}", self.column_levels, self.counts.sum(axis=0))

    def _picture(self, path: str | Path | None) -> Figure:
        """A bar per row, divided into parts; from the eighth on they share a colour."""
        from ..pictures import LONGEST, ROWS

        rows, parts, percentages = self.row_levels[:ROWS], self.column_levels, self.row_percentages[:ROWS]
        shown = [*percentages.T[: len(COLOURS) - 1]]
        names = [shortened(name, LONGEST) for name in parts[: len(COLOURS) - 1]]
        if len(parts) >= len(COLOURS):
            shown.append(percentages.T[len(COLOURS) - 1 :].sum(axis=0))
            names.append(parts[-1] if len(parts) == len(COLOURS) else "others")
        with picture(path, 7.4, 1.9 + 0.36 * len(rows)) as figure:
            axes = figure.subplots()
            left = np.zeros(len(rows))
            for values, name, colour in zip(shown, names, COLOURS, strict=False):
                width = np.nan_to_num(values)
                axes.barh(np.arange(len(rows)), width, left=left, color=colour, edgecolor="white", label=name)
                left += width
            axes.set_yticks(np.arange(len(rows)), [shortened(name, LONGEST) for name in rows], parse_math=False)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.set_xlim(0, 100)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
            axes.set_xlabel(f"{self.column}, percent", parse_math=False)
            for text in figure.legend(loc="outside right upper", frameon=False, fontsize=9).get_texts():
                text.set_parse_math(False)
            figure.suptitle(self._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
        return figure


@dataclass(frozen=True, eq=False, kw_only=True)
class CrosstabAnalysis(CountsAnalysis):
    """``columns``: the one whose levels are rows, and the one whose levels are columns."""

    columns: tuple[str, ...] = ()

    type: ClassVar[str] = "crosstab"
    gives = Crosstab

    def __post_init__(self) -> None:
        names = self.columns
        if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2 or names[0] == names[1]:
            raise InvalidInput(f"columns must be two different columns, rows first; got {names!r}.")
        object.__setattr__(self, "columns", tuple(level_column(self.schema, name, "columns").name for name in names))
        if np.prod(self._shape) > MOST_CELLS:
            raise InvalidInput(
                f"columns must have at most {MOST_CELLS:,} pairs of levels; got {np.prod(self._shape):,}."
            )

    @property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.columns)

    @property
    def _levels(self) -> list[tuple[str, ...]]:
        return [levels_of(self.schema[name]) for name in self.columns]

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(map(len, self._levels))

    def cells(self, rows: Rows) -> Integers:
        R, C = self._shape

        def of_block(block: Array) -> Integers:
            place = block[:, 0].astype(np.int64) * C + block[:, 1].astype(np.int64)
            return np.bincount(place, minlength=R * C)

        return row_counts(rows, of_block)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Crosstab:
        (row, column), (row_levels, column_levels) = self.columns, self._levels
        own = [self.cells(part).tolist() for part in rows]
        total = agreements.sum(own, of=f"rows by {row} and {column}", counts=True).astype(np.int64)
        check_rows(total)
        return Crosstab(*agreements.made, row, column, row_levels, column_levels, total.reshape(self._shape))

    @property
    def revealed(self) -> list[str]:
        return [f"the rows in each of {self.counts} cells of {self.columns[0]} by {self.columns[1]}"]

    @property
    def counts(self) -> int:
        return int(np.prod(self._shape))


def without_empty(counts: Integers) -> Integers:
    """The rows and columns that have counts: others say nothing about a dependence."""
    return np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])


def expected_of(counts: Integers) -> Array:
    """Counts that rows and columns would have if they did not depend on each other."""
    return np.outer(counts.sum(axis=1), counts.sum(axis=0)) / float(counts.sum())


def degrees_of_freedom(counts: Integers) -> int:
    """``(rows - 1)(columns - 1)`` of those that have counts."""
    rows, columns = without_empty(counts).shape
    return int(max(0, rows - 1) * max(0, columns - 1))


def chi2_of(counts: Integers, yates: bool = False) -> float:
    """Pearson's statistic; with Yates' correction counts are moved towards the expected ones, by half at most. NaN
    where a single row or column has counts."""
    if not degrees_of_freedom(counts):
        return float("nan")
    seen = without_empty(counts)
    expected = expected_of(seen)
    apart = np.abs(seen - expected)
    if yates:
        apart = apart - np.minimum(0.5, apart)
    return float((apart**2 / expected).sum())


def chi2_pvalue(statistic: float, df: float) -> float:
    """Of a statistic that has a chi-squared distribution; NaN of NaN."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic)) if df > 0 and statistic == statistic else float("nan")
