"""What every statistic carries: what was shown on the way to it, and its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

import numpy as np

from ..errors import InvalidInput, NotConverged, Unsupported, is_number
from ..files.frames import to_frame
from ..files.html_table import html_table
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.modular_mask import ModularMask
from ..pdmm.result import Status
from ..sums import Traffic
from .fewer_digits import Digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..privacy.answers.report import Report
    from .agreements import Shown
    from .disclosure import Disclosure

T = TypeVar("T")
SHOWN = 50  # rows in a notebook


class Value(Generic[T]):
    """A field of a ``Statistic`` that is there once it has an answer. Asked for earlier, it says why not."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, statistic: None, owner: type) -> Self: ...
    @overload
    def __get__(self, statistic: Statistic, owner: type) -> T: ...
    def __get__(self, statistic: Statistic | None, owner: type) -> Self | T:
        if statistic is None:  # also where a dataclass looks for the default: no value
            return self
        if self.name in vars(statistic):
            return cast(T, vars(statistic)[self.name])
        raise NotConverged(f"{self.name} is not known; the answer here has the status {statistic.status.value}.")

    def __repr__(self) -> str:  # as a default, in signatures
        return "not known"

    def __set__(self, statistic: Statistic, value: T) -> None:
        if value is not self:
            vars(statistic)[self.name] = value


@dataclass(frozen=True, eq=False, repr=False)
class Statistic:
    """What every statistic carries: what was shown on the way to it.

    Attributes
    ----------
    status : Status
        ``CONVERGED``; or what the result file of a party says that has no answer. Asking for a value raises
        ``NotConverged`` then.
    parties : int
        How many there are.
    dropped : dict, optional
        Where rows with missing values were left out (``missing="drop"``): under ``"rows"`` how many, of all parties,
        and by column in how many rows it was missing. Else None.
    empty_levels : dict, optional
        Where levels that no row has were left out (``empty_levels="drop"``): by category which. Else None.
    digits : {"full", "statistical"}
        Whether sums have all their digits, or each party rounded its own to a hundredth of a standard error.
    shown : tuple of Shown
        What each agreement was on. Empty in what is read from a file.
    ledger : str, optional
        What the parties' ledgers of earlier answers say of this one, where they keep one.
    network : Network, optional
        Of a simulation; a party knows its neighbours alone.
    traffic : Traffic, optional
        Of a simulation: how many agreements there were, and what they sent.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_mean(sv.Network.ring(3), [1.0, 2.0, 6.0])
    >>> result
    PooledMean(converged, x: 3 observations of 3 parties)
    >>> result.traffic
    Traffic(agreements=1, messages=4, bytes=384)
    """

    status: Status
    parties: int
    dropped: dict[str, int] | None = None
    empty_levels: dict[str, tuple[str, ...]] | None = None
    digits: Digits = "full"
    shown: tuple[Shown, ...] = ()
    ledger: str | None = None
    network: Network | None = None
    traffic: Traffic | None = None

    def audit(self, **arguments: Any) -> tuple[Report, ...]:
        """What the sums gave away, with the arguments of ``privacy.audit`` besides ``mask`` and ``noise``: over one
        honest component the total, and the procedure adds nothing."""
        from ..privacy.audit import audit

        if self.network is None:
            raise Unsupported(
                "a party of a network does not know all of it, so it cannot audit a run. What leaks depends on the "
                "network: use privacy.audit(sv.averaging(network, np.zeros(n)), mask=sv.ModularMask())."
            )
        # What is given away is that of any number: one of variance 1 at each party stands for all. Each thing that is
        # said has a pad of its own on it, so taps on open channels read no more than on encrypted ones.
        problem = averaging(self.network, np.zeros((self.network.n, 1)))
        channels = arguments.get("channels", "open")
        behind_pads = {"channels": "encrypted"} if channels == "open" else {}
        report = audit(problem, mask=ModularMask(), **({"prior": 1.0} | arguments | behind_pads))
        return (replace(report, mask="uniform pads on the ring of the sums", channels=channels),)

    def audit_total(self, **arguments: Any) -> Report:
        """What all agreements together gave away, at most: ``privacy.total`` of this statistic alone."""
        from ..privacy.answers.several_agreements import total

        return total(self, **arguments)

    @property
    def disclosure(self) -> Disclosure:
        """What the answer gives away: which sums were shown, of which groups, what the steps on the way add, and small
        counts. At a party, which knows its neighbours alone, the groups stay open: see ``disclosed``."""
        return self.disclosed()

    def disclosed(self, *, network: Network | None = None, min_cell: int = 5) -> Disclosure:
        """The ``disclosure``, on a ``network`` that a party of it does not know by itself, and with the counts below
        ``min_cell`` as small ones."""
        from .disclosure import disclosure_of

        return disclosure_of(self, network=network, min_cell=min_cell)

    def small_cells(self, min_cell: int = 5) -> dict[str, tuple[int, ...]]:
        """The agreed counts of rows from 1 to ``min_cell - 1``, by what they are of."""
        from .disclosure import small_cells

        return small_cells(self.shown, min_cell)

    def _model_size(self) -> tuple[int, int, int] | None:
        """Of a model: its parameters, how many numbers of a row it is made of, at least, and its rows; else None."""
        return None

    @property
    def _values(self) -> dict[str, Any]:
        common = {field.name for field in fields(Statistic)}
        return {name: value for name, value in vars(self).items() if name not in common}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        left_out: dict[str, Any] = {} if self.dropped is None else {"dropped": dict(self.dropped)}
        if self.empty_levels is not None:
            left_out["empty_levels"] = {name: list(levels) for name, levels in self.empty_levels.items()}
        if self.digits != "full":
            left_out["digits"] = self.digits
        values = self._values | (self._derived() if self.status is Status.CONVERGED else {})
        return {"status": self.status.value, **left_out, **{name: plain(value) for name, value in values.items()}}

    def _derived(self) -> dict[str, Any]:
        """What follows from the values, and is in ``to_dict`` too."""
        return {}

    def data_notes(self) -> str | None:
        """How many rows were left out for missing values, and in which columns; which levels have no rows; how finely
        sums were told. None where there is nothing to say."""
        notes = []
        if self.dropped is not None:
            columns = {name: count for name, count in self.dropped.items() if name != "rows" and count}
            where = f": {', '.join(f'{name} {count}' for name, count in columns.items())}" if columns else ""
            rows = self.dropped["rows"]
            notes.append(f"{rows} {'row' if rows == 1 else 'rows'} dropped for missing values{where}")
        if self.empty_levels:
            levels = (f"{name} {', '.join(levels)}" for name, levels in self.empty_levels.items())
            notes.append(f"levels without rows left out: {'; '.join(levels)}")
        if self.digits != "full":
            notes.append("sums to a hundredth of a standard error")
        return "; ".join(notes) or None

    def summary(self) -> str:
        """A table for people."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The values as a frame, of pandas if it is installed, else of polars or pyarrow."""
        self._need("a frame")
        return to_frame(self._columns())

    def plot(self, path: str | Path | None = None) -> Figure:
        """A picture of the values, saved where a path is given (``.png``, ``.pdf``, ``.svg``). It needs the extra
        ``plot``; a notebook shows it."""
        self._need("a picture")
        return self._picture(path)

    # What a statistic tells, in one place for frames, notebooks and people

    def _columns(self) -> dict[str, list[Any]]:
        """The values as columns of one length."""
        raise NotImplementedError

    def _facts(self) -> str:
        """What the values are of, in a few words."""
        raise NotImplementedError

    def _picture(self, path: str | Path | None) -> Figure:
        raise NotImplementedError

    def _need(self, what: str) -> None:
        if self.status is not Status.CONVERGED:
            raise NotConverged(f"there is nothing for {what}: the answer here has the status {self.status.value}.")

    def _repr_html_(self) -> str:
        if self.status is not Status.CONVERGED:
            return html_table([], caption=repr(self))
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        return html_table(rows[:SHOWN], header=list(columns), caption=self._caption(len(rows)))

    def _caption(self, rows: int) -> str:
        shown = f"the first {SHOWN} of {rows} rows" if rows > SHOWN else None
        return "; ".join(filter(None, [self._facts(), self.data_notes(), shown]))

    def __repr__(self) -> str:
        facts = f", {self._facts()}" if self.status is Status.CONVERGED else ""
        return f"{type(self).__name__}({self.status.value}{facts})"


def plain(value: Any) -> Any:
    """For JSON, which knows neither arrays nor NaN."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_alpha(alpha: float) -> float:
    """Of an interval that holds with probability ``1 - alpha``."""
    if not (is_number(alpha) and 0 < alpha < 1):
        raise InvalidInput(f"alpha must lie between 0 and 1, 0.05 for 95 %; got {alpha!r}.")
    return float(alpha)


def normal_reach(alpha: float) -> float:
    """How many standard errors an interval reaches to both sides that holds with probability ``1 - alpha``."""
    from scipy.special import ndtri

    return float(ndtri(1 - check_alpha(alpha) / 2))


def plain_table(columns: Mapping[str, Sequence[Any]], *, texts: int) -> list[str]:
    """Lines: a header, and the rows below it. The first ``texts`` columns are aligned to the left, numbers to the
    right.

    >>> plain_table({"column": ["age", "crp"], "mean": [61.5, 3.0]}, texts=1)
    ['column  mean', 'age     61.5', 'crp        3']
    """

    def cell(entry: Any) -> str:
        return "" if entry is None else f"{entry:.9g}" if isinstance(entry, float) else str(entry)

    rows = [list(columns), *([cell(entry) for entry in row] for row in zip(*columns.values(), strict=True))]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    sides = ["<" if k < texts else ">" for k in range(len(widths))]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]
