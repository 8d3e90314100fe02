"""A Cox model as the local parties fit it, from rows to the answer that they hold.

By party, each has a baseline of its own: log-likelihood, score and information of its stratum are what is summed. With
one baseline for all, sums over the risk sets at the points of a public grid are. In turn the parties agree on

    rows and events, or how many leave at each point      integers, which refuse what cannot be fitted
    means and squares of the columns                      which are then standardised
    the sums at the estimates so far                      Newton's method (likelihood.maximise)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...costs.base import Array
from ...data.rows import ArrayRows, Rows
from ...errors import NotConverged, Undetermined
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import Integers, ModularMask
from ..agreements import Agreements
from ..analysis import check_rows
from ..likelihood.columns import Columns, agreed_columns
from ..likelihood.maximise import Maximum, maximise
from ..survival.grid import departures
from .cox_fit import CoxFit
from .cox_grid import Binned, Leaving, OnGrid, Pooled, refuse_scarce
from .cox_sums import Stratum, in_memory

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

    ``unit`` brings the columns to size 1, ``offset_unit`` the offset; ``points`` are those of the grid of one baseline
    for all, or None; ``formula`` and ``schema`` as they were given, the schema as JSON.
    """

    names: tuple[str, ...]
    time: str
    event: str
    ties: str
    points: tuple[float, ...] | None
    min_departures: int
    unit: Array
    offset_unit: float
    mask: GaussianMask
    counting: ModularMask
    formula: str = ""
    schema: str = ""


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


def cox_program(agreements: Agreements, rows: Sequence[Rows], model: CoxModel) -> CoxFit:
    """The part of the local parties."""
    held = [Held.of(part, len(model.names)) for part in rows]
    try:
        if model.points is None:
            return _by_party(agreements, rows, held, model)
        return _on_grid(agreements, rows, held, model, model.points)
    except NotConverged:
        return CoxFit(*agreements.made)


def _by_party(agreements: Agreements, parts: Sequence[Rows], held: Sequence[Held], model: CoxModel) -> CoxFit:
    counted = np.array([stratum_counts(own.time, own.event) for own in held])
    rows, events, told = agreements.total(counted, model.counting, of="rows, events, and events among others").tolist()
    _refuse_counts(model, rows, events)
    if not told:
        raise Undetermined(
            f"no event ({model.event!r}) happened while another row of the same party was at risk. Use "
            'baseline="grid", which compares rows of all parties.'
        )
    columns, means, offsets = _columns(agreements, parts, model, rows)
    strata = [Stratum.of(_standard(own, columns), own.time, own.event, own.offset) for own in held]

    def part(stratum: Stratum) -> Any:
        return lambda beta: stratum.packed(beta, model.ties)

    start = np.zeros((len(held), len(model.names)))
    try:
        found = maximise(
            agreements, [part(own) for own in strata], start, model.names, model.mask, events, infinite=INFINITE
        )
    except Undetermined as error:
        told = str(error)
        raise Undetermined(told + WITHIN if told.startswith(("column ", "the columns ")) else told) from None
    return _fit(agreements, model, columns, means[0], offsets[0], found, rows, events)


def _on_grid(
    agreements: Agreements, parts: Sequence[Rows], held: Sequence[Held], model: CoxModel, points: tuple[float, ...]
) -> CoxFit:
    counted = [departures(ArrayRows(np.column_stack([own.time, own.event])), points).ravel() for own in held]
    total = agreements.total(np.array(counted), model.counting, of="events and censorings by point in time")
    censored, happened = total.reshape(-1, 2).T
    leaving = Leaving(censored, happened, model.ties == "efron")
    rows, events = int(total.sum()), int(leaving.events.sum())
    _refuse_counts(model, rows, events)
    refuse_scarce(leaving, points, model.min_departures)
    columns, means, offsets = _columns(agreements, parts, model, rows)
    binned = [
        Binned.of(_standard(own, columns), own.time, own.event, own.offset - offset, points, leaving)
        for own, offset in zip(held, offsets, strict=True)
    ]
    pooled = Pooled(leaving, model.ties, rows)
    start, local = np.zeros((len(held), len(model.names))), [OnGrid(own, pooled) for own in binned]
    found = maximise(
        agreements, [own.sums for own in local], start, model.names, model.mask, rows,
        infinite=INFINITE, of=f"weighted sums and products of {len(model.names)} columns over each of "
        f"{len(leaving.shown)} risk sets", of_sums=[own.packed for own in local],
    )  # fmt: skip
    return _fit(
        agreements, model, columns, means[0], offsets[0], found, rows, events,
        times=np.asarray(points)[leaving.shown],
        hazard=pooled.cumulative_hazard(found.sums[0], len(model.names), local[0].shift),
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


def _columns(
    agreements: Agreements, rows: Sequence[Rows], model: CoxModel, observations: int
) -> tuple[Columns, Array, Array]:
    """About their means, as if there were an intercept, which the baseline stands for; as each local party holds them,
    the means; and the mean offset, of which only differences count, where there is one."""
    p = len(model.names)
    units = np.append(model.unit, model.offset_unit)

    def values(block: Array) -> Array:
        own = np.column_stack([block[:, :p], block[:, p + 2 :]])
        return np.asarray(own / units[: own.shape[1]])

    (columns, *_), means = agreed_columns(
        agreements, rows, observations, model.mask, model.names, model.unit, intercept=True, also=values
    )
    return columns, means[:, :p] * model.unit, means[:, p:].sum(axis=1) * model.offset_unit


def _standard(own: Held, columns: Columns) -> Array:
    return columns.matrix(own.x)[:, 1:]


def _fit(
    agreements: Agreements,
    model: CoxModel,
    columns: Columns,
    means: Array,
    offset: float,
    found: Maximum,
    rows: int,
    events: int,
    times: Array | None = None,
    hazard: Array | None = None,
) -> CoxFit:
    """In the units of the data. Objective, score and information were those per event."""
    params = found.theta[0] / columns.deviation
    g, H = found.first_score[0], found.first_information[0]
    return CoxFit(
        *agreements.made,
        terms=model.names,
        params=params,
        covariance=np.linalg.inv(found.information[0]) / events / np.outer(columns.deviation, columns.deviation),
        nobs=rows,
        time=model.time,
        event=model.event,
        formula=model.formula,
        schema=model.schema,
        events=events,
        ties=model.ties,
        baseline="party" if model.points is None else "grid",
        llf=float(events * found.objective[0]),
        llf_null=float(events * found.first[0]),
        score_statistic=float(events * (g @ np.linalg.solve(H, g))),
        means=means,
        offset=float(offset),
        times=times,
        baseline_cumulative_hazard=None if hazard is None else hazard * np.exp((means - columns.centre) @ params),
        steps=found.steps,
    )
