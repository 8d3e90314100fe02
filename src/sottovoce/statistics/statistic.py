"""What every statistic carries: how its runs ended, what they agreed on, and its values once they converged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

import numpy as np

from ..errors import InvalidInput, NotConverged, Unsupported, is_number
from ..files.frames import to_frame
from ..files.html_table import html_table
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.problem import Problem
from ..pdmm.result import Result, Status
from ..sums import Traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..privacy.answers.report import Report
    from .agreements import Shown
    from .disclosure import Disclosure

T = TypeVar("T")
SHOWN = 50  # rows in a notebook


class Value(Generic[T]):
    """A field of a ``Statistic`` that is there once all its runs have converged. Asked for earlier, it says why not."""

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
        if not statistic.runs:  # as in what is read from a file
            raise NotConverged(f"{self.name} is not known; the answer here has the status {statistic.status.value}.")
        run = statistic.runs[-1]
        raise NotConverged(
            f"{self.name} is not known: run {len(statistic.runs)} ended as {run.status.value} after {run.iterations} "
            f"iterations, with residual {run.residual:.1e}. Raise max_iter, or tol."
        )

    def __repr__(self) -> str:  # as a default, in signatures
        return "not known"

    def __set__(self, statistic: Statistic, value: T) -> None:
        if value is not self:
            vars(statistic)[self.name] = value


@dataclass(frozen=True, eq=False, repr=False)
class Statistic:
    """What every statistic carries: how its runs ended, and what they agreed on.

    Attributes
    ----------
    status : Status
        ``CONVERGED`` if every run is. Otherwise the values are not there, and asking for one raises ``NotConverged``.
    parties : int
        How many there are.
    runs, problems, masks : tuple
        ``problems[k]`` was solved under ``masks[k]`` and came to ``runs[k]``: each is an averaging problem, so an audit
        of it says what it reveals. An agreement on very many numbers is played in blocks of them, and ``runs[k]`` is
        about the longest; ``z`` is not kept. At a party of a network ``runs`` are what it saw of them, and
        ``problems``, which hold everybody's contributions, are empty.
    dropped : dict, optional
        Where rows with missing values were left out (``missing="drop"``): under ``"rows"`` how many, of all parties,
        and by column in how many rows it was missing. Else None.
    shown : tuple of Shown
        What each agreement was on. Empty in what is read from a file.
    network : Network, optional
        Of a simulation; a party knows its neighbours alone.
    traffic : Traffic, optional
        Of a simulation: how many agreements on exact sums there were, and what they sent.
    ledger : str, optional
        What the parties' ledgers of earlier answers say of this one, where they keep one.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_mean(sv.Network.ring(3), [1.0, 2.0, 6.0], max_iter=1)
    >>> result
    PooledMean(max_iter)
    >>> result.mean
    Traceback (most recent call last):
    sottovoce.errors.NotConverged: mean is not known: run 1 ended as max_iter ...
    """

    status: Status
    parties: int
    runs: tuple[Result, ...]
    problems: tuple[Problem, ...]
    masks: tuple[GaussianMask | ModularMask, ...]
    dropped: dict[str, int] | None = None
    shown: tuple[Shown, ...] = ()
    ledger: str | None = None
    network: Network | None = None
    traffic: Traffic | None = None

    def audit(self, *, priors: Sequence[float | None] | None = None, **arguments: Any) -> tuple[Report, ...]:
        """What each agreement gave away: one report per run, with the arguments of ``privacy.audit`` besides ``mask``
        and ``noise``.

        The secrets are what a party contributes; over one honest component their sum is all that is disclosed. Without
        ``prior`` each agreement takes its own from what was contributed, or from ``priors``, one for each; ``c``,
        ``theta`` and ``overlay`` are those of its run unless given. ``audit_total`` adds the reports up.
        """
        from ..privacy.audit import audit

        if self.network is not None and not self.runs:
            return (_of_exact_sums(self.network, arguments),)
        if not self.problems:
            raise Unsupported(
                "a party of a network holds no contributions but its own, so it cannot audit a run. What leaks depends "
                "on the network and the mask: use privacy.audit(sv.averaging(network, np.zeros(n)), mask=...)."
            )
        if arguments.get("noise") is not None:
            raise Unsupported("the agreements of a statistic were on exact numbers: leave noise out.")
        given = [None] * len(self.runs) if priors is None else priors
        if len(given) != len(self.runs):
            raise InvalidInput(f"priors must have one for each of {len(self.runs)} agreements; got {len(given)}.")
        own = [arguments if prior is None else {**arguments, "prior": prior} for prior in given]
        votes = [shown.is_public for shown in self.shown] or [False] * len(self.runs)
        own = [{**of, "prior": 1.0} if public else of for of, public in zip(own, votes, strict=True)]
        played = zip(self.runs, self.problems, self.masks, votes, own, strict=True)
        return tuple(
            audit(_secrets_of(problem, mask, public), mask=mask, **_as(run, of))
            for run, problem, mask, public, of in played
        )

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
        dropped = {} if self.dropped is None else {"dropped": dict(self.dropped)}
        return {"status": self.status.value, **dropped, **{name: plain(value) for name, value in self._values.items()}}

    def dropped_words(self) -> str | None:
        """How many rows were left out for missing values, and in which columns; None where none could be."""
        if self.dropped is None:
            return None
        columns = {name: count for name, count in self.dropped.items() if name != "rows" and count}
        where = f": {', '.join(f'{name} {count}' for name, count in columns.items())}" if columns else ""
        rows = self.dropped["rows"]
        return f"{rows} {'row' if rows == 1 else 'rows'} dropped for missing values{where}"

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
            raise NotConverged(f"there is nothing for {what}: run {len(self.runs)} ended as {self.status.value}.")

    def _repr_html_(self) -> str:
        if self.status is not Status.CONVERGED:
            return html_table([], caption=repr(self))
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        return html_table(rows[:SHOWN], header=list(columns), caption=self._caption(len(rows)))

    def _caption(self, rows: int) -> str:
        shown = f"the first {SHOWN} of {rows} rows" if rows > SHOWN else None
        return "; ".join(filter(None, [self._facts(), self.dropped_words(), shown]))

    def __repr__(self) -> str:
        facts = f", {self._facts()}" if self.status is Status.CONVERGED else ""
        return f"{type(self).__name__}({self.status.value}{facts})"


def _as(run: Result, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an audit of this run; ``c`` is that of its overlay, and of no other."""
    own = {"overlay": run.overlay, "c": run.c, "theta": run.theta}
    return arguments if "overlay" in arguments else own | arguments


def _of_exact_sums(network: Network, arguments: dict[str, Any]) -> Report:
    """What sums under uniform pads give away: the totals of honest components, whatever they are of. The procedure adds
    nothing to them; of a number of variance 1 at each party the floor is that of any number."""
    from ..privacy.audit import audit

    problem = averaging(network, np.zeros((network.n, 1)))
    report = audit(problem, mask=ModularMask(), **({"prior": 1.0} | arguments))
    return replace(report, mask="uniform pads on the ring of the sums")


def _secrets_of(problem: Problem, mask: GaussianMask | ModularMask, public: bool) -> Problem:
    """What was agreed on, without the public number that rides along behind Gaussian pads (``Agreements.mean``). Votes
    follow from what everybody knows: there is nothing to hide in them, however large their numbers are."""
    form = problem.quadratic
    assert form is not None
    if public:
        return averaging(problem.network, np.zeros_like(form.q))
    return averaging(problem.network, -form.q[:, :-1] / 2) if isinstance(mask, GaussianMask) else problem


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
