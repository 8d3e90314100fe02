"""What a study can be asked about groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..analysis import Asking
from .cohort import DescribeAnalysis, Description, TableOne, TableOneAnalysis
from .comparison import Anova, AnovaAnalysis, Levene, LeveneAnalysis, TTest, TTestAnalysis
from .contingency import Crosstab, CrosstabAnalysis
from .quantiles import Quantiles, QuantilesAnalysis


class Groups(Asking):
    """Counts, tests and descriptions; what a method returns has an example of it."""

    def crosstab(self, rows: str, columns: str) -> Crosstab:
        """The counts of two categories or booleans against each other, exact, with the tests of Pearson, Yates, Fisher
        and the likelihood ratio.

        Parameters
        ----------
        rows, columns : str
            Whose levels are rows, and whose are columns.
        """
        return cast(Crosstab, self._ask(CrosstabAnalysis, columns=(rows, columns)))

    def t_test(
        self,
        column: str,
        *,
        by: str | None = None,
        levels: Sequence[str] | None = None,
        equal_var: bool = False,
        mu: float = 0.0,
        paired: str | None = None,
    ) -> TTest:
        """Whether two groups have one mean; without ``by``, whether the mean is ``mu``.

        Parameters
        ----------
        column : str
            A number, an integer or a date.
        by : str, optional
            A category or a boolean that groups rows.
        levels : sequence of str, optional
            Which two of its levels, where it has more; the difference is that of the first less the second.
        equal_var : bool
            Student's test, for groups of one variance; else Welch's.
        mu : float
            What the difference, or the mean of one group, is compared with.
        paired : str, optional
            Without ``by``: another column, which is subtracted in every row.
        """
        chosen = None if levels is None else tuple(levels)
        options = {"by": by, "levels": chosen, "equal_var": equal_var, "mu": mu, "paired": paired}
        return cast(TTest, self._ask(TTestAnalysis, column=column, **options))

    def anova(self, column: str, *, by: str, levels: Sequence[str] | None = None) -> Anova:
        """Whether groups have one mean: one-way analysis of variance.

        Parameters
        ----------
        column : str
            A number, an integer or a date.
        by : str
            A category or a boolean that groups rows.
        levels : sequence of str, optional
            Of these levels alone.
        """
        chosen = None if levels is None else tuple(levels)
        return cast(Anova, self._ask(AnovaAnalysis, column=column, by=by, levels=chosen))

    def levene(self, column: str, *, by: str, levels: Sequence[str] | None = None, center: str = "mean") -> Levene:
        """Whether groups have one variance: Levene's test about the mean.

        Parameters
        ----------
        column, by, levels
            As for ``anova``.
        center : {"mean"}
            About the median there is no test: it would need that of every group.
        """
        chosen = None if levels is None else tuple(levels)
        return cast(Levene, self._ask(LeveneAnalysis, column=column, by=by, levels=chosen, center=center))

    def quantiles(
        self,
        column: str,
        q: float | Sequence[float] = (0.25, 0.5, 0.75),
        *,
        resolution: float | None = None,
        by: str | None = None,
        ways: int = 16,
    ) -> Quantiles:
        """Quantiles of a column with a public range, to a stated resolution: the intervals that hold them, from counts.

        Parameters
        ----------
        column : str
            A number, an integer or a date with a range in the schema.
        q : float or sequence of float
            Shares, from 0 to 1.
        resolution : float, optional
            How long an interval is, in the units of the column. Default: a 2^20th of the range; 1 for integers and
            dates, which is exact. A coarser one takes fewer agreements, and shows less.
        by : str, optional
            A category or a boolean that groups rows.
        ways : int
            Into how many parts an interval is divided in each agreement.
        """
        options = {"q": q, "resolution": resolution, "by": by, "ways": ways}
        return cast(Quantiles, self._ask(QuantilesAnalysis, column=column, **options))

    def median(self, column: str, *, resolution: float | None = None, by: str | None = None) -> Quantiles:
        """The median, as ``quantiles(column, 0.5)``: of an even number of values the lower of the two in the middle.

        Parameters
        ----------
        column, resolution, by
            As for ``quantiles``.
        """
        return self.quantiles(column, 0.5, resolution=resolution, by=by)

    def describe(
        self, columns: Sequence[str] | None = None, *, quartiles: bool = True, steps: int = 2**16
    ) -> Description:
        """What columns look like: mean, deviation and quartiles of numbers, counts of the levels of categories; of the
        rows that have a value in all of these columns. The smallest and the largest value, a person's each, stay away.

        Parameters
        ----------
        columns : sequence of str, optional
            Default: all of the schema.
        quartiles : bool
            Whether to search for those of numbers that have a range.
        steps : int
            To which part of the range; integers and dates are not divided further than 1.
        """
        options = {"quartiles": quartiles, "steps": steps}
        return cast(Description, self._ask(DescribeAnalysis, columns=_listed(columns), **options))

    def table_one(
        self, *, by: str, columns: Sequence[str] | None = None, nonnormal: Sequence[str] = (), steps: int = 2**16
    ) -> TableOne:
        """The first table of a paper: columns by group, with tests and standardised mean differences; of the rows that
        have a value in all of these columns.

        Parameters
        ----------
        by : str
            A category or a boolean that groups rows.
        columns : sequence of str, optional
            Default: all of the schema.
        nonnormal : sequence of str
            Numbers that are told by median and quartiles, and not by mean and deviation.
        steps : int
            To which part of the range quartiles are; integers and dates are not divided further than 1.
        """
        options = {"columns": _listed(columns), "nonnormal": _listed(nonnormal), "steps": steps}
        return cast(TableOne, self._ask(TableOneAnalysis, by=by, **options))


def _listed(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)
