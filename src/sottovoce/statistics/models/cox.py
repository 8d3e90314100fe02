"""Cox's model of tables."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...data.formula import Formula
from ...data.rows import Rows
from ...data.schema import Column
from ...data.selection import ModelColumns
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis
from ..likelihood.maximise import MOST
from ..new_rows import schema_text
from ..statistic import Statistic
from ..survival.grid import check_times, read_event, read_grid, read_time
from .cox_fit import CoxFit
from .cox_program import CoxModel, Held, cox_program
from .cox_sums import TIES

BASELINES = ("party", "grid")
FEWEST = 5  # departures at a point, unless told otherwise


@dataclass(frozen=True, eq=False, kw_only=True)
class CoxAnalysis(Analysis):
    """``Study.cox``."""

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
        check_options(self.ties, self.baseline, self.grid, self.min_departures)
        if self.baseline == "grid":
            points = read_grid(time, self.grid)
            if self.grid is not None and not isinstance(self.grid, int | np.integer):
                object.__setattr__(self, "grid", points)

    @property
    def takes_fewer_digits(self) -> bool:
        return self.baseline == "party"  # risk sets may be small

    @cached_property
    def selection(self) -> ModelColumns:
        """What is taken of a row."""
        try:
            return ModelColumns(Formula(self.formula).design(self.schema))
        except InvalidInput as error:
            said = str(error)
            raise InvalidInput(said if said.startswith("formula") else f"formula: {said}") from None

    @cached_property
    def points(self) -> tuple[float, ...] | None:
        """Of the grid of one baseline for all parties."""
        return read_grid(self._time, self.grid) if self.baseline == "grid" else None

    @property
    def _time(self) -> Column:
        return self.schema[self.selection.design.response[0]]

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
        p, q = len(self.selection.slopes), len(self.selection.columns) - 2
        first = (q + 1) * (q + 2) // 2
        if self.points is None:
            return 3 + first + MOST * (1 + p + p * (p + 1) // 2)
        sets = (1 + (self.ties == "efron")) * len(self.points)
        return 2 * len(self.points) + first + MOST * (p + 1 + sets * (1 + p + p * (p + 1) // 2))

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return len(self.selection.slopes)

    def check(self, rows: Rows, parties: int) -> None:
        time, event = self.selection.design.response
        check_times(rows, time, event, at=len(self.selection.slopes))

    def cells(self, rows: Rows) -> Integers:
        return np.empty(0, np.int64) if self.points is None else Held.of(rows, self.parameters).counts(self.points)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> CoxFit:
        time, event = self.selection.design.response
        model = CoxModel(
            names=self.selection.slopes,
            time=time,
            event=event,
            ties=self.ties,
            points=self.points,
            min_departures=self.min_departures or FEWEST,
            units=self.units,
            formula=self.formula,
            schema=schema_text(self.schema, self.selection.needs),
        )
        return cox_program(agreements, rows, model)


def check_options(ties: Any, baseline: Any, grid: Any, min_departures: Any) -> None:
    """Of tables and of arrays."""
    if ties not in TIES:
        raise InvalidInput(f"ties must be one of {', '.join(TIES)}; got {ties!r}.")
    if baseline not in BASELINES:
        raise InvalidInput(f"baseline must be one of {', '.join(BASELINES)}; got {baseline!r}.")
    for key, value in (("grid", grid), ("min_departures", min_departures)):
        if baseline == "party" and value is not None:
            raise InvalidInput(f'{key} has no meaning for baseline "party"; got {value!r}. Leave it out.')
    if min_departures is not None and (
        not isinstance(min_departures, int | np.integer) or isinstance(min_departures, bool) or min_departures < 1
    ):
        raise InvalidInput(f"min_departures must be an integer >= 1; got {min_departures!r}.")
