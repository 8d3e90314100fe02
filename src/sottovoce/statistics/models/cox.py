"""Cox's model of tables, from rows to the answer that the local parties hold.

By party, each has a baseline of its own: log-likelihood, score and information of its stratum are what is summed. With
one baseline for all, sums over the risk sets at the points of a public grid are. In turn the parties agree on

    rows and events, or how many leave at each point; products of columns      which refuse what cannot be fitted
    the sums at the estimates so far                                           Newton's method (likelihood.maximise)
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...data.formula import Formula
from ...data.rows import ArrayRows, Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined, Unsupported
from ...numerics import fixed_order
from ...numerics.symmetric import symmetric
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements
from ..analysis import Analysis, check_rows
from ..fewer_digits import Index, agreed_rounding, climb_digits
from ..fit import Fit
from ..likelihood.columns import Columns, columns_of, counted_products, products_of
from ..likelihood.fixed_point import values
from ..likelihood.maximise import MOST, Maximum, covariance, maximise
from ..new_rows import linear_prediction, schema_text
from ..statistic import Statistic, Value
from ..survival.grid import check_times, departures, read_event, read_grid, read_time
from . import special
from .cox_sums import FINEST, TIES, Binned, Departures, OnGrid, Stratum, in_memory, refuse_scarce

BASELINES = ("party", "grid")
FEWEST = 5  # departures at a point, unless told otherwise
INFINITE = (
    ": of those at risk, it is always the highest, or always the lowest, who have the event (a monotone likelihood). "
    "Drop the column, or merge the level with another."
)
WITHIN = (
    " With a baseline for each party only what differs between rows of one party counts: a column that is the same for "
    'all rows of each party needs baseline="grid".'
)

Standard = tuple[Array, Array, Array, Array]  # of a party standardised columns, times, events and offsets


@dataclass(frozen=True, eq=False, repr=False)
class CoxFit(Fit):
    """What ``Study.cox`` and ``private_cox`` return, besides the fields of ``Fit``: log hazard ratios.

    Attributes
    ----------
    time, event : str
        The columns that are explained.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    events : int
        Of all parties.
    ties, baseline : str
        As asked for.
    llf, llf_null : float
        The partial log-likelihood at the estimates, and with all of them 0.
    score_statistic : float
        Of the test that all are 0, from score and information there: of one 0/1 column without ties, the log-rank test.
    means : ndarray
        Of the columns, over all rows.
    offset : float
        Likewise, of the offset; 0 without.
    times, baseline_cumulative_hazard : ndarray or None
        With one baseline for all parties: the points of its grid that have events, and the hazard summed up to there
        for a row that has the means, of the offset too (Breslow's estimate). With a baseline for each party nobody sees
        those of others.
    steps : int
        Points at which score and information were agreed on.

    Examples
    --------
    >>> import sottovoce as sv
    >>> treated = [[[0.0], [1.0], [0.0], [1.0]], [[1.0], [0.0], [1.0]], [[0.0], [1.0], [0.0]]]
    >>> times, events = [[1, 4, 3, 6], [5, 2, 1], [4, 3, 2]], [[1, 1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> shards = list(zip(treated, times, events))
    >>> fit = sv.private_cox(sv.Network.ring(3), shards, names=["treated"])
    >>> fit.params.round(4).tolist(), fit.bse.round(4).tolist(), fit.events
    ([-0.8469], [0.8865], 8)
    """

    time: Value[str] = Value()
    event: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    events: Value[int] = Value()
    ties: Value[str] = Value()
    baseline: Value[str] = Value()
    llf: Value[float] = Value()
    llf_null: Value[float] = Value()
    score_statistic: Value[float] = Value()
    means: Value[Array] = Value()
    offset: Value[float] = Value()
    times: Value[Array | None] = Value()
    baseline_cumulative_hazard: Value[Array | None] = Value()
    steps: Value[int] = Value()

    title: ClassVar[str] = "Cox Proportional Hazards"
    ratio: ClassVar[str | None] = "hazard ratio"

    @property
    def df_model(self) -> int:
        """How many parameters there are."""
        return len(self.terms)

    @property
    def aic(self) -> float:
        """``2 df_model - 2 llf``, of the partial likelihood."""
        return 2 * self.df_model - 2 * self.llf

    @property
    def llr(self) -> float:
        """The statistic of the likelihood-ratio test that all parameters are 0."""
        return 2 * (self.llf - self.llf_null)

    @property
    def llr_pvalue(self) -> float:
        """The p-value of that test."""
        return self._p_value(self.llr)

    @property
    def wald_statistic(self) -> float:
        """The statistic of Wald's test that all parameters are 0."""
        return float(self.params @ np.linalg.solve(self.covariance, self.params))

    @property
    def wald_pvalue(self) -> float:
        """The p-value of that test."""
        return self._p_value(self.wald_statistic)

    @property
    def score_pvalue(self) -> float:
        """The p-value of the score test."""
        return self._p_value(self.score_statistic)

    def _p_value(self, statistic: float) -> float:
        return float(special.chdtrc(self.df_model, statistic))

    def predict(self, table: Any) -> Array:
        """Hazard ratios ``exp(x'params)`` of new rows to one of zeros: of a table with the columns that the formula
        reads, in any form that a party's table may have, or an array or a frame of the columns, where the model was
        made from arrays; offsets are added to ``x'params``."""
        return np.exp(self._eta(table))

    def _eta(self, table: Any) -> Array:
        return linear_prediction(self.formula, self.schema, self.terms, self.params, table)

    def survival(self, table: Any, times: npt.ArrayLike) -> Array:
        """How likely rows like these are to be free of the event, ``(rows, times)``; with one baseline for all parties.

        Raises
        ------
        Unsupported
            With a baseline for each party, which nobody but that party sees.
        InvalidInput
            Times below 0.
        """
        if self.times is None or self.baseline_cumulative_hazard is None:
            raise Unsupported(
                'every party has a baseline of its own here, and shows it to nobody. Use baseline="grid".'
            )
        at = np.atleast_1d(as_floats(times, "times"))
        if at.ndim != 1 or not (at >= 0).all():
            raise InvalidInput(f"times must be numbers from 0 on; got {times!r}.")
        hazard = np.append(0.0, self.baseline_cumulative_hazard)[np.searchsorted(self.times, at, side="right")]
        ratio = np.exp(self._eta(table) - self.means @ self.params - self.offset)
        return np.exp(-np.outer(ratio, hazard))

    def _facts(self) -> str:
        return (
            f"{self.event} by {self.time}, {len(self.terms)} terms: {self.events} events in {self.nobs} observations "
            f"of {self.parties} parties"
        )

    def _head(self) -> list[tuple[str, str]]:
        tests = {"LR": (self.llr, self.llr_pvalue), "Wald": (self.wald_statistic, self.wald_pvalue)}
        tests["Score"] = self.score_statistic, self.score_pvalue
        df = self.df_model
        return [
            ("Dep. Variable", self.time), ("Status", self.event), ("Ties", self.ties.capitalize()),
            ("Baseline", "one for each party" if self.baseline == "party" else "one, on a grid"),
            ("No. Observations", f"{self.nobs:,}"), ("No. Events", f"{self.events:,}"), ("Parties", f"{self.parties}"),
            ("Log-Likelihood", f"{self.llf:.4f}"), ("LL-Null", f"{self.llf_null:.4f}"),
            *((f"{name} chi2({df})", f"{value:.4f} (p = {p:.3g})") for name, (value, p) in tests.items()),
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        found = super().to_dict()
        if "llf" not in found:
            return found
        names = ("llr", "llr_pvalue", "wald_statistic", "wald_pvalue", "score_pvalue", "aic")
        return {**found, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, eq=False, kw_only=True)
class CoxAnalysis(Analysis):
    """What ``Study.cox`` asks for. Rows are columns, time, event, and an offset where there is one."""

    formula: str
    ties: str = "efron"
    baseline: str = "party"
    grid: tuple[float, ...] | int | None = None
    min_departures: int | None = None

    type: ClassVar[str] = "cox"
    gives: ClassVar[builtins.type[Statistic]] = CoxFit

    def __post_init__(self) -> None:
        response = self.selection.design.response
        if len(response) != 2 or any(name not in self.schema for name in response):
            raise InvalidInput(
                'formula must have two columns before ~, a time and an event, as in "days, death ~ age"; got '
                f"{self.formula!r}."
            )
        time = read_time(self.schema, response[0], "formula")
        read_event(self.schema, response[1], "formula")
        if not self.selection.intercept:
            raise InvalidInput("formula must not drop the intercept: the baseline stands for it. Leave out 0 and -1.")
        if not self.selection.slopes:
            raise InvalidInput("formula must have a column after ~. For the survival of all rows use kaplan_meier.")
        self._check_options()
        if self.baseline == "grid":
            points = read_grid(time, self.grid)
            if self.grid is not None and not isinstance(self.grid, int | np.integer):
                object.__setattr__(self, "grid", points)

    def _check_options(self) -> None:
        if self.ties not in TIES:
            raise InvalidInput(f"ties must be one of {', '.join(TIES)}; got {self.ties!r}.")
        if self.baseline not in BASELINES:
            raise InvalidInput(f"baseline must be one of {', '.join(BASELINES)}; got {self.baseline!r}.")
        fewest = self.min_departures
        for key, value in (("grid", self.grid), ("min_departures", fewest)):
            if self.baseline == "party" and value is not None:
                raise InvalidInput(f'{key} has no meaning for baseline "party"; got {value!r}. Leave it out.')
        if fewest is not None and (not isinstance(fewest, int | np.integer) or isinstance(fewest, bool) or fewest < 1):
            raise InvalidInput(f"min_departures must be an integer >= 1; got {fewest!r}.")

    @property
    def takes_fewer_digits(self) -> bool:
        return self.baseline == "party"  # risk sets may be small

    @cached_property
    def selection(self) -> ModelColumns:
        try:
            return ModelColumns(Formula(self.formula).design(self.schema))
        except InvalidInput as error:
            said = str(error)
            raise InvalidInput(said if said.startswith("formula") else f"formula: {said}") from None

    @cached_property
    def points(self) -> tuple[float, ...] | None:
        """The points of the grid of one baseline for all parties."""
        time = self.schema[self.selection.design.response[0]]
        return read_grid(time, self.grid) if self.baseline == "grid" else None

    @property
    def revealed(self) -> list[str]:
        p = len(self.selection.slopes)
        time, event = self.selection.design.response
        first = (
            f"the number of rows, of events ({event}), and of events while others of the party are at risk"
            if self.points is None
            else f"the events ({event}) and the censorings at each of {len(self.points):,} points of {time}"
        )
        steps = (
            f"log-likelihood, score and information of {p} parameters, at every step"
            if self.points is None
            else f"at every step and point with events: weights of those at risk, and with them {p} columns and their "
            "products" + ("; the same of the events there" if self.ties == "efron" else "")
        )
        return [first, f"sums and squares of {p} columns", steps]

    @property
    def stages(self) -> int:
        return 1 + MOST

    @property
    def numbers(self) -> int:
        p, first = self.parameters, self._first[0] + products_of(len(self._measured))
        if self.points is None:
            return first + MOST * products_of(p)
        sets = (1 + (self.ties == "efron")) * len(self.points)
        return first + MOST * (p + 1 + sets * products_of(p))

    @property
    def parameters(self) -> int:
        return len(self.selection.slopes)

    def check(self, rows: Rows, parties: int) -> None:
        time, event = self.selection.design.response
        check_times(rows, time, event, at=len(self.selection.slopes))

    def cells(self, rows: Rows) -> Integers:
        return np.empty(0, np.int64) if self.points is None else self._counted(rows)

    def _counted(self, rows: Rows) -> Integers:
        """Counts of one party: rows, events, and events while somebody else is at risk; on a grid, censorings and
        events at each point."""
        time, event = in_memory(rows)[:, self.parameters : self.parameters + 2].T
        if self.points is not None:
            return departures(ArrayRows(np.column_stack([time, event])), self.points).ravel()
        latest = np.sort(time)[-2] if len(time) > 1 else -np.inf
        return np.array([len(time), event.sum(), (event * (time <= latest)).sum()]).astype(np.int64)

    @property
    def _first(self) -> tuple[int, str]:
        """How many counts these are, and what is agreed on first."""
        if self.points is None:
            return 3, "rows, events, and events among others; products of columns"
        return 2 * len(self.points), "events and censorings by point in time; products of columns"

    @property
    def _measured(self) -> tuple[int, ...]:
        """Places of the columns, and of the offset where there is one."""
        p = self.parameters
        return (*range(p), *([p + 2] if len(self.selection.columns) > p + 2 else []))

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> CoxFit:
        p, held = self.parameters, [ArrayRows(in_memory(part)) for part in rows]
        units = agreements.units(rows, self.units)
        rounding = agreed_rounding(agreements, rows, self._measured, units)
        width, of = self._first
        counts, gram = counted_products(
            agreements, held, self._counted, self._measured, units, rounding, counts=width, of=of
        )  # fmt: skip
        leaving = None if self.points is None else Departures(counts[::2], counts[1::2], self.ties == "efron")
        N, events = counts[:2].tolist() if leaving is None else (int(counts.sum()), int(leaving.events.sum()))
        self._refuse_counts(N, events, counts, leaving)
        # About their means, as if there were an intercept, which the baseline stands for.
        columns = columns_of(gram, self.selection.slopes, units, intercept=True, rounding=rounding)
        if not columns.names:
            raise Undetermined("no column of the formula varies over the rows of all parties.")
        offset = float(units[p + 2] * Fraction(int(gram[0, p + 1]), N)) if len(gram) > p + 1 else 0.0
        standard = [_standard(part.array, columns, p) for part in held]
        times = hazard = None
        if leaving is None or self.points is None:
            ended = self._climb_by_party(agreements, standard, columns, N, events)
        else:
            grid = OnGrid(leaving, self.ties)
            binned = [Binned.of(x, time, event, own - offset, self.points, leaving) for x, time, event, own in standard]
            ended = _climb_on_grid(agreements, binned, columns, grid)
            times = np.asarray(self.points)[leaving.shown]
            hazard = grid.cumulative_hazard(ended.total, len(columns.names))
        score = fixed_order.forward(fixed_order.cholesky(ended.first_information)[0], ended.first_score)
        of_slopes = columns.slopes(columns.slopes(covariance(ended.information)).T)
        time, event = self.selection.design.response
        return CoxFit(
            *agreements.made, terms=columns.names, params=columns.slopes(ended.theta) / columns.deviation, nobs=N,
            covariance=(of_slopes + of_slopes.T) / 2 / np.outer(columns.deviation, columns.deviation),
            time=time, event=event, formula=self.formula, schema=schema_text(self.schema, self.selection.needs),
            aliased=columns.aliased, events=events, ties=self.ties, baseline=self.baseline, llf=ended.objective,
            llf_null=ended.first, score_statistic=float(fixed_order.total(score * score)), means=columns.centre,
            offset=offset, times=times, baseline_cumulative_hazard=hazard, steps=ended.steps,
        )  # fmt: skip

    def _refuse_counts(self, rows: int, events: int, counts: Integers, leaving: Departures | None) -> None:
        name = self.selection.design.response[1]
        check_rows(rows)
        if not events:
            raise Undetermined(
                f"no row of any party has an event: {name!r} is 0 in all {rows:,}"
                + (", as far as the grid reaches." if self.points else ".")
                + " A Cox model needs some."
            )
        if leaving is not None and self.points is not None:
            refuse_scarce(leaving, self.points, self.min_departures or FEWEST)
        elif not counts[2]:
            raise Undetermined(
                f"no event ({name!r}) happened while another row of the same party was at risk. Use "
                'baseline="grid", which compares rows of all parties.'
            )

    def _climb_by_party(
        self, agreements: Agreements, parts: Sequence[Standard], columns: Columns, rows: int, events: int
    ) -> Maximum:
        """The maximum with a baseline for each: a party adds log-likelihood, score and information of its stratum."""
        # A stratum knows differences alone, and of a constant there are none.
        strata = [Stratum.of(x - x[:1] if len(x) else x, time, event, own) for x, time, event, own in parts]
        k = len(columns.names)
        indices: list[Index] = [(), *((i,) for i in range(k)), *combinations_with_replacement(range(k), 2)]

        def read(total: Whole, _: Array) -> tuple[float, Array, Array]:
            found = values(total, FINEST)
            return float(found[0]), found[1 : 1 + k], symmetric(found[1 + k :], k)

        try:
            return maximise(
                agreements, [partial(own.integers, ties=self.ties) for own in strata], np.zeros(k), columns.names, read,
                size=len(indices), infinite=INFINITE, named=columns.unmixed.T[1:, 1:],
                digits=climb_digits(agreements, indices, [FINEST] * len(indices), rows, np.full(k, float(events))),
            )  # fmt: skip
        except Undetermined as error:
            why = str(error)
            raise Undetermined(why + WITHIN if why.startswith(("column ", "the columns ")) else why) from None


def _climb_on_grid(agreements: Agreements, parts: Sequence[Binned], columns: Columns, grid: OnGrid) -> Maximum:
    """The maximum with one baseline for all: a party adds sums of those who leave at each point."""
    k = len(columns.names)
    return maximise(
        agreements, [lambda beta, own=own: own.integers(beta, grid.shift(beta)) for own in parts],  # type: ignore[misc]
        np.zeros(k), columns.names, grid.read, size=grid.leaving.width(k), infinite=INFINITE,
        named=columns.unmixed.T[1:, 1:],
        of=f"weighted sums and products of {k} columns over each of {len(grid.leaving.shown)} risk sets",
    )  # fmt: skip


def _standard(array: Array, columns: Columns, p: int) -> Standard:
    offset = array[:, p + 2] if array.shape[1] > p + 2 else np.zeros(len(array))
    return columns.matrix(array)[:, 1:], array[:, p], array[:, p + 1], offset
