"""What every statistic carries: its values, what was shown on the way to them, and what that gives away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
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
from .agreements import Shown
from .fewer_digits import Digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..privacy.answers.report import Report

T = TypeVar("T")
SHOWN = 50  # rows in a notebook
MIN_CELL = 5  # 3, 5, 10 and 11 are all in use
ROWS_PER_PARAMETER = 10
LISTED = 8  # small counts, before a sentence says how many there are
BEFORE_ANYBODY = "a secure sum shows a small total to the parties before anybody can suppress it"


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

    def disclosed(self, *, network: Network | None = None, min_cell: int = MIN_CELL) -> Disclosure:
        """The ``disclosure``, on a ``network`` that a party of it does not know by itself, and with the counts below
        ``min_cell`` as small ones."""
        network = self.network if network is None else network
        iterates = sum(each.numbers for each in self.shown if each.iterate)
        parameters = rows = determined = None
        excess, size = iterates, self._model_size()
        if size is not None:
            parameters, covariates, rows = map(int, size)
            reals = sum(each.numbers - len(each.counts or ()) for each in self.shown)
            if covariates and reals:  # by counting: see algorithmic_excess
                determined, excess = reals // covariates, min(iterates, rows * covariates)
        group = None if network is None else smallest_group(network)
        small = self.small_cells(min_cell)
        of_model = excess, parameters, rows, determined
        return Disclosure(self.parties, self.shown, group, iterates, *of_model, min_cell, small, self.ledger)

    def small_cells(self, min_cell: int = MIN_CELL) -> dict[str, tuple[int, ...]]:
        """The agreed counts of rows from 1 to ``min_cell - 1``, by what they are of. Nobody is in a cell of 0."""
        if isinstance(min_cell, bool) or not isinstance(min_cell, int) or min_cell < 1:
            raise InvalidInput(f"min_cell must be an integer >= 1, such as 5; got {min_cell!r}.")
        found: dict[str, tuple[int, ...]] = {}
        for each in self.shown:
            if small := tuple(count for count in each.counts or () if 0 < count < min_cell):
                found[each.of] = found.get(each.of, ()) + small
        return found

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


@dataclass(frozen=True)
class Disclosure:
    """What the agreements of a statistic showed: every number is a sum over each group of honest parties that corrupt
    ones leave together, and over all parties if nobody is corrupt.

    Attributes
    ----------
    parties : int
        How many there are.
    shown : tuple of Shown
        What each agreement was on: ``of`` what, how many ``numbers``, ``counts`` where some count rows, and whether it
        was an ``iterate``, a step on the way. Empty in what is read from a file.
    group : int or None
        How many parties the smallest group has that one corrupt party leaves; None where the network is not known.
    iterates : int
        How many of the numbers were of steps on the way to the answer.
    excess : int
        The algorithmic excess: how many numbers of the rows the iterates tell beyond the answer, at most.
    parameters, rows : int or None
        Of a model, and of all parties.
    determined_rows : int or None
        Of a model: rows of a group so small may follow from what was shown, covariate by covariate; by counting, those
        of no larger one do. None where no covariate is a number.
    min_cell : int
        Counts below are small.
    small_cells : dict
        The agreed counts from 1 to ``min_cell - 1``, by what they are of.
    ledger : str or None
        What a party's own ledger of earlier answers says of this one, where it has one.

    Examples
    --------
    >>> import sottovoce as sv
    >>> counted = sv.private_histogram(sv.Network.ring(4), [[1.0], [1.5, 7.0], [2.5], [2.0]], bins=[0, 5, 10])
    >>> found = counted.disclosure
    >>> found.group, found.excess, found.small_cells
    (3, 0, {'rows in each bin': (4, 1)})
    """

    parties: int
    shown: tuple[Shown, ...]
    group: int | None = None
    iterates: int = 0
    excess: int = 0
    parameters: int | None = None
    rows: int | None = None
    determined_rows: int | None = None
    min_cell: int = MIN_CELL
    small_cells: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ledger: str | None = None

    @property
    def reals(self) -> int:
        """How many other sums were shown."""
        return sum(each.numbers - len(each.counts or ()) for each in self.shown)

    @property
    def counts(self) -> int:
        """How many exact counts of rows were shown."""
        return sum(len(each.counts or ()) for each in self.shown)

    @property
    def enough_rows(self) -> bool | None:
        """Whether a model has ten rows per parameter, of all parties together; a group's own are a matter of policy."""
        if self.parameters is None or self.rows is None:
            return None
        return self.rows >= ROWS_PER_PARAMETER * self.parameters

    def summary(self) -> str:
        """One paragraph in plain words."""
        if not self.shown:
            return "What was shown is not known here: no agreement is recorded."
        told = [self._sums(), self._groups(), self._on_the_way(), self._of_a_model()]
        if self.small_cells:
            small = "; ".join(f"{of}: {_listed(counts)}" for of, counts in self.small_cells.items())
            told.append(f"Counts below {self.min_cell} ({small}): {BEFORE_ANYBODY}.")
        if self.ledger is not None:
            told.append(f"The ledger: {self.ledger.rstrip('.')}.")
        return " ".join(filter(None, told))

    def _sums(self) -> str:
        kinds = [_many(self.reals, "real number")] * (self.reals > 0)
        kinds += [_many(self.counts, "exact count")] * (self.counts > 0)
        return f"{_many(len(self.shown), 'agreement')} showed {' and '.join(kinds) or 'nothing'}."

    def _groups(self) -> str:
        each = "Each is a sum over every group of honest parties"
        if self.group is None:
            return f"{each}; how small one can be depends on the network, which is not known here."
        if self.group == 1:
            return f"{each}, and one corrupt party can leave a single party alone, whose own sums it learns then."
        return f"{each}; one corrupt party leaves no group below {self.group} of {self.parties} parties."

    def _on_the_way(self) -> str:
        if not self.iterates:
            return "None of them is of a step on the way to the answer: there is no algorithmic excess."
        return (
            f"{_many(self.iterates, 'number')} of them {'is' if self.iterates == 1 else 'are'} of steps on the way to "
            f"the answer, which tell up to {_many(self.excess, 'number')} of the rows beyond it (algorithmic excess)."
        )

    def _of_a_model(self) -> str:
        if self.parameters is None or self.rows is None:
            return ""
        rows, few = f"{self.rows:,} rows for {_many(self.parameters, 'parameter')}", ROWS_PER_PARAMETER
        verdict = f"{rows} are {few} or more of each." if self.enough_rows else f"{rows} are fewer than {few} of each."
        if self.determined_rows is None:
            return verdict
        return (
            f"The covariates of a group of up to {_many(self.determined_rows, 'row')} may follow from them; there are "
            f"too few numbers to determine those of a larger one. {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words, for JSON: the fields above, ``shown`` without its counts, which are in the
        answer, ``enough_rows``, and under ``words`` the summary."""
        shown = [
            {"of": each.of, "numbers": each.numbers, "counts": len(each.counts or ()), "iterate": each.iterate}
            for each in self.shown
        ]
        small = {of: list(counts) for of, counts in self.small_cells.items()}
        names = ("parties", "group", "iterates", "excess", "parameters", "rows", "determined_rows", "enough_rows")
        told = {name: getattr(self, name) for name in names}
        return {
            "shown": shown, **told, "min_cell": self.min_cell, "small_cells": small, "ledger": self.ledger,
            "words": self.summary(),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        rows = [
            (each.of, each.numbers, len(each.counts or ()) or "", "on the way" if each.iterate else "")
            for each in self.shown
        ]
        header = ("sums of", "numbers", "of which count rows", "step") if rows else None
        return f"<p>{escape(self.summary())}</p>\n{html_table(rows, header)}"


def smallest_group(network: Network) -> int | None:
    """How many parties the smallest group has that one corrupt party leaves; None for a network without consensus."""
    from ..privacy.adversary import Worst
    from ..privacy.exposure import exposure

    try:
        found = exposure(network, Worst(1))
        if found.articulation and not any(found.group):  # the smaller part of what it cuts is at most half
            found = exposure(network, Worst(1), largest=max(1, network.n // 2))
    except Unsupported:
        return None
    return min((size for size in found.group if size is not None), default=network.n - 1)


def _many(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def _listed(counts: tuple[int, ...]) -> str:
    if len(counts) <= LISTED:
        return ", ".join(map(str, counts))
    return f"{len(counts):,} of them, from {min(counts)} to {max(counts)}"


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
