"""A Cox model as the local parties fit it, from rows to the answer that they hold.

By party, each has a baseline of its own: log-likelihood, score and information of its stratum are what is summed. With
one baseline for all, sums over the risk sets at the points of a public grid are. In turn the parties agree on

    rows and events, or how many leave at each point; products of columns      which refuse what cannot be fitted
    the sums at the estimates so far                                           Newton's method (likelihood.maximise)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from ...costs.base import Array
from ...data.rows import ArrayRows, Rows
from ...errors import Undetermined
from ...numerics import fixed_order
from ...pdmm.modular_mask import Integers
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import check_rows
from ..fewer_digits import Index, Rounding, agreed_rounding, climb_digits
from ..likelihood.columns import Columns, columns_of, own_products, square
from ..likelihood.maximise import Maximum, covariance, maximise
from ..survival.grid import departures
from .cox_fit import CoxFit
from .cox_grid import Binned, Leaving, OnGrid, Pooled, refuse_scarce
from .cox_sums import FINEST, Stratum, in_memory
from .level_model import as_floats

INFINITE = (
    ": of those at risk, it is always the highest, or always the lowest, who have the event (a monotone likelihood). "
    "Drop the column, or merge the level with another."
)
WITHIN = (
    " With a baseline for each party only what differs between rows of one party counts: a column that is the same for "
    'all rows of each party needs baseline="grid".'
)


@dataclass(frozen=True, eq=False)
class CoxModel:
    """What is fitted, the same at all parties. Rows are columns, time, event, and an offset where there is one.

    ``points`` are those of the grid of one baseline for all, or None; ``units`` of the columns of the rows, as far as
    the schema tells; ``formula`` and ``schema`` as they were given, the schema as JSON.
    """

    names: tuple[str, ...]
    time: str
    event: str
    ties: str
    points: tuple[float, ...] | None
    min_departures: int
    units: tuple[Fraction | None, ...]
    formula: str = ""
    schema: str = ""

    @property
    def measured(self) -> tuple[int, ...]:
        """Places of the columns, and of the offset where there is one."""
        p = len(self.names)
        return (*range(p), *([p + 2] if len(self.units) > p + 2 else []))


@dataclass(frozen=True, eq=False)
class Held:
    """The rows of a local party."""

    x: Array
    time: Array
    event: Array
    offset: Array

    @classmethod
    def of(cls, rows: Rows, p: int) -> Held:
        """All of them, in memory."""
        array = in_memory(rows)
        offset = array[:, p + 2] if array.shape[1] > p + 2 else np.zeros(len(array))
        return cls(array[:, :p], array[:, p], array[:, p + 1], offset)

    def counts(self, points: tuple[float, ...] | None) -> Integers:
        """Rows, events, and events while others are at risk; on a grid, censorings and events at each point."""
        if points is None:
            return stratum_counts(self.time, self.event)
        return departures(ArrayRows(np.column_stack([self.time, self.event])), points).ravel()


@dataclass(frozen=True, eq=False)
class Cohort:
    """What is known of all rows: standardised ``columns``, their ``means``, and the mean ``offset``."""

    rows: int
    events: int
    columns: Columns
    means: Array
    offset: float


def cox_program(agreements: Agreements, rows: Sequence[Rows], model: CoxModel) -> CoxFit:
    """The part of the local parties."""
    p, points = len(model.names), model.points
    held, units = [Held.of(part, p) for part in rows], agreements.units(rows, model.units)
    width = 3 if points is None else 2 * len(points)
    rounding = agreed_rounding(agreements, rows, model.measured, units)

    def own(part: Rows, of_party: Held) -> Whole:
        products = own_products(part, model.measured, units, rounding=rounding)
        return np.concatenate([of_party.counts(points).astype(object), products])

    shares = [
        unless_beyond(lambda part=part, of_party=of_party: own(part, of_party))  # type: ignore[misc]
        for part, of_party in zip(rows, held, strict=True)
    ]
    of = "rows, events, and events among others" if points is None else "events and censorings by point in time"
    measured = len(model.measured)
    size = width + (measured + 1) * (measured + 2) // 2
    total = agreements.sum(shares, of=f"{of}; products of columns", counts=width, size=size)
    counts, gram = total[:width].astype(np.int64), square(total[width:], 1 + measured)
    if points is None:
        return _by_party(agreements, held, model, counts, gram, units, rounding)
    return _on_grid(agreements, held, model, points, counts, gram, units)


def _cohort(
    model: CoxModel, gram: Whole, units: Sequence[Fraction], rows: int, events: int, rounding: Rounding | None = None
) -> Cohort:
    """Columns are about their means, as if there were an intercept, which the baseline stands for."""
    p = len(model.names)
    columns = columns_of(gram[: p + 1, : p + 1], model.names, units, intercept=True, rounding=rounding)
    if not columns.names:
        raise Undetermined("no column of the formula varies over the rows of all parties.")
    means = [float(units[j] * Fraction(int(gram[0, j + 1]), rows)) for j in columns.places]
    offset = float(units[p + 2] * Fraction(int(gram[0, p + 1]), rows)) if len(gram) > p + 1 else 0.0
    return Cohort(rows, events, columns, np.array(means), offset)


def _by_party(
    agreements: Agreements, held: Sequence[Held], model: CoxModel, counts: Integers, gram: Whole,
    units: Sequence[Fraction], rounding: Rounding | None,
) -> CoxFit:  # fmt: skip
    rows, events, among_others = counts.tolist()
    _refuse_counts(model, rows, events)
    if not among_others:
        raise Undetermined(
            f"no event ({model.event!r}) happened while another row of the same party was at risk. Use "
            'baseline="grid", which compares rows of all parties.'
        )
    cohort = _cohort(model, gram, units, rows, events, rounding)
    strata = [Stratum.of(_within(_standard(own, cohort)), own.time, own.event, own.offset) for own in held]
    k = len(cohort.columns.names)
    indices: list[Index] = [(), *((i,) for i in range(k)), *combinations_with_replacement(range(k), 2)]
    digits = climb_digits(agreements, indices, [FINEST] * len(indices), rows, np.full(k, float(events)))

    def read(total: Whole, _: Array) -> tuple[float, Array, Array]:
        values = as_floats(total, FINEST)
        return float(values[0]), values[1 : 1 + k], as_floats(square(total[1 + k :], k), FINEST)

    try:
        ended = maximise(
            agreements, [lambda beta, own=own: own.integers(beta, model.ties) for own in strata],  # type: ignore[misc]
            np.zeros(k), cohort.columns.names, read, size=1 + k + k * (k + 1) // 2, infinite=INFINITE,
            digits=digits, named=cohort.columns.unmixed.T[1:, 1:],
        )  # fmt: skip
    except Undetermined as error:
        why = str(error)
        raise Undetermined(why + WITHIN if why.startswith(("column ", "the columns ")) else why) from None
    return _fit(agreements, model, cohort, ended)


def _on_grid(
    agreements: Agreements, held: Sequence[Held], model: CoxModel, points: tuple[float, ...], counts: Integers,
    gram: Whole, units: Sequence[Fraction],
) -> CoxFit:  # fmt: skip
    censored, happened = counts.reshape(-1, 2).T
    leaving = Leaving(censored, happened, model.ties == "efron")
    rows, events = int(counts.sum()), int(leaving.events.sum())
    _refuse_counts(model, rows, events)
    refuse_scarce(leaving, points, model.min_departures)
    cohort = _cohort(model, gram, units, rows, events)
    binned = [
        Binned.of(_standard(own, cohort), own.time, own.event, own.offset - cohort.offset, points, leaving)
        for own in held
    ]
    grid, k = OnGrid(Pooled(leaving, model.ties)), len(cohort.columns.names)
    ended = maximise(
        agreements, [lambda beta, own=own: own.integers(beta, grid.shift(beta)) for own in binned],  # type: ignore[misc]
        np.zeros(k), cohort.columns.names, grid.read, size=leaving.width(k), infinite=INFINITE,
        of=f"weighted sums and products of {k} columns over each of {len(leaving.shown)} risk sets",
        named=cohort.columns.unmixed.T[1:, 1:],
    )  # fmt: skip
    return _fit(
        agreements, model, cohort, ended, times=np.asarray(points)[leaving.shown],
        hazard=grid.cumulative_hazard(ended.total, ended.theta),
    )  # fmt: skip


def stratum_counts(time: Array, event: Array) -> Integers:
    """Rows, events, and events that happen while somebody else is at risk, of one party."""
    latest = np.sort(time)[-2] if len(time) > 1 else -np.inf
    return np.array([len(time), event.sum(), (event * (time <= latest)).sum()]).astype(np.int64)


def _refuse_counts(model: CoxModel, rows: int, events: int) -> None:
    check_rows(rows)
    if not events:
        raise Undetermined(
            f"no row of any party has an event: {model.event!r} is 0 in all {rows:,}"
            + (", as far as the grid reaches." if model.points else ".")
            + " A Cox model needs some."
        )


def _within(x: Array) -> Array:
    """Columns less those of the first row: a stratum knows differences alone, and of a constant there are none."""
    return np.asarray(x - x[:1]) if len(x) else x


def _standard(own: Held, cohort: Cohort) -> Array:
    return cohort.columns.matrix(own.x)[:, 1:]


def _fit(
    agreements: Agreements, model: CoxModel, cohort: Cohort, ended: Maximum, times: Array | None = None,
    hazard: Array | None = None,
) -> CoxFit:  # fmt: skip
    """In the units of the data."""
    columns = cohort.columns
    params = columns.slopes(ended.theta) / columns.deviation
    of_slopes = columns.slopes(columns.slopes(covariance(ended.information)).T)
    lower, _ = fixed_order.cholesky(ended.first_information)
    score = fixed_order.forward(lower, ended.first_score)
    return CoxFit(
        *agreements.made,
        terms=columns.names,
        params=params,
        covariance=(of_slopes + of_slopes.T) / 2 / np.outer(columns.deviation, columns.deviation),
        nobs=cohort.rows,
        time=model.time,
        event=model.event,
        formula=model.formula,
        schema=model.schema,
        aliased=columns.aliased,
        events=cohort.events,
        ties=model.ties,
        baseline="party" if model.points is None else "grid",
        llf=ended.objective,
        llf_null=ended.first,
        score_statistic=float(fixed_order.total(score * score)),
        means=cohort.means,
        offset=cohort.offset,
        times=times,
        baseline_cumulative_hazard=None
        if hazard is None
        else hazard * np.exp((cohort.means - columns.centre) @ params),
        steps=ended.steps,
    )
