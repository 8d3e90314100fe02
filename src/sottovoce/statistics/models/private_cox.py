"""Cox's model of arrays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...costs.base import as_floats
from ...data.formula.factors import spelled
from ...data.number_columns import NumberColumns
from ...data.rows import ArrayRows
from ...data.schema import Column, Schema
from ...errors import InvalidInput
from ...files.frames import by_name, in_order, read_columns
from ...network import Network
from ...pdmm.shards import whose
from ..gone import refuse_options
from ..shards import Shards, column_names, of_party, one_per_party
from ..study import Study
from ..survival.grid import check_times
from .cox import CoxFit

RESPONSE = ("time", "event")


def private_cox(
    network: Network,
    shards: Shards,
    *,
    ties: str = "efron",
    baseline: str = "party",
    grid: Sequence[float] | None = None,
    min_departures: int | None = None,
    names: Sequence[str] | None = None,
    **gone: Any,
) -> CoxFit:
    """Cox's proportional hazards of the pooled rows of shards ``(X_i, time_i, event_i)``.

    Revealed, of each honest component: its numbers of rows and events, its sums and squares of the columns, and at
    every step of Newton's method its log-likelihood, score and information; with one baseline for all parties, its
    events and censorings at every point of the grid, and at every step its sums over each risk set.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of triples, or mapping
        ``(X_i, time_i, event_i)`` of every party, in the order of the nodes or by their names: columns, times from 0
        on, and 1 for an event or 0 for a censored time. The columns of frames are matched by name.
    ties : {"efron", "breslow"}
        What is made of events at the same time.
    baseline : {"party", "grid"}
        Whether every party has a baseline of its own, a stratified model, or all have one, on a public grid of times.
    grid : sequence of float, optional
        Its points. A time counts at the first that is not before it, and one beyond the last is censored there.
    min_departures : int, optional
        A grid is refused where sums over fewer rows could be told apart; 5 unless told.
    names : sequence of str, optional
        Of the columns of arrays.
    **gone
        Options of older versions get a sentence.

    Returns
    -------
    CoxFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, no events, columns whose hazard ratios the rows do not tell, or a grid that
        would show single rows.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> rng = np.random.default_rng(0)
    >>> shards = [(x := rng.normal(size=(60, 1)), rng.exponential(np.exp(-x[:, 0])), np.ones(60)) for _ in range(3)]
    >>> fit = sv.private_cox(sv.Network.ring(3), shards, names=["dose"])
    >>> fit.terms, fit.params.round(2).tolist()
    (('dose',), [1.03])
    """
    refuse_options(gone)
    rows, frame_names = _read(network, shards)
    columns = column_names(frame_names, names, rows[0].width - 2)
    if twice := [name for name in RESPONSE if name in columns]:
        raise InvalidInput(f"a column of X is called {twice[0]!r}, as the response is. Rename it.")
    schema = Schema(
        [*(Column(name, "number") for name in columns), Column("time", "number"), Column("event", "boolean")]
    )
    tables = [NumberColumns(dict(zip(schema, np.ascontiguousarray(part.array.T), strict=True))) for part in rows]
    formula = f"time, event ~ {' + '.join(map(spelled, columns))}"
    study = Study(network, tables, schema=schema)
    fit = study.cox(formula, ties=ties, baseline=baseline, grid=grid, min_departures=min_departures)
    return replace(fit, formula="", schema="")  # new rows are arrays, too


def _read(network: Network, shards: Shards) -> tuple[list[ArrayRows], tuple[str, ...] | None]:
    """Rows ``[X_i, time_i, event_i]`` of every party, and the names of columns that have some."""
    parties, given = whose(network, "party"), one_per_party(network, shards)
    for who, own in zip(parties, given, strict=True):
        if not isinstance(own, Sequence) or len(own) != 3:
            raise InvalidInput(f"{who}: its shard must be (X, time, event), columns, times and events.")
    found = [read_columns(own[0], who) for who, own in zip(parties, given, strict=True)]
    names = by_name(found, parties)
    tables = [own[0] for own in given] if names is None else list(in_order(found, names))
    rows = []
    for who, X, (_, time, event) in zip(parties, tables, given, strict=True):
        x = of_party(who, as_floats, X, "X")
        y = [of_party(who, as_floats, value, name) for value, name in ((time, "time"), (event, "event"))]
        if x.ndim != 2 or x.shape[1] == 0 or any(value.shape != (len(x),) for value in y):
            raise InvalidInput(f"{who}: X must be a matrix, and time and event have an entry for each of its rows.")
        rows.append(ArrayRows(np.column_stack([x, *y])))
        if not np.isfinite(rows[-1].array).all():
            raise InvalidInput(f"{who}: its shard has NaN or inf. Remove or impute the missing values first.")
        if rows[-1].width != rows[0].width:
            raise InvalidInput(
                f"parties must hold the same columns; {parties[0]} has {rows[0].width - 2}, {who} {x.shape[1]}."
            )
        try:
            check_times(rows[-1], "time", "event", at=x.shape[1])
        except InvalidInput as error:
            raise InvalidInput(f"{who}: {error}") from None
    return rows, names
