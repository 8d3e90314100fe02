"""The log-rank test and its weighted kin (Mantel, 1966; Tarone and Ware, 1977), of counts at the points of a grid.

At every point, with ``d`` events among ``n`` at risk, of which ``n_j`` are in group ``j``, and a weight ``w``:

    O_j - E_j = sum w (d_j - d n_j / n) = sum_k F_jk,    F_jk = sum w (d_j n_k - d_k n_j) / n,
    V_jk      = L_j [j = k] - L_jk,    L_jk = sum w^2 d (n - d) / (n - 1) n_j n_k / n^2,    L_j = sum_k L_jk,

summed over points and strata; ``(O - E)' V^- (O - E)`` has a chi-squared distribution if the groups are alike. ``V`` is
the Laplacian of a graph whose edges weigh ``L``: its rank is the number of groups less that of the parts of the graph.
``L`` is a sum of positive terms, and 0 only where all of them are; so rounding hides no link, and makes none.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput, Undetermined
from ...pdmm.modular_mask import Integers
from ...pdmm.result import Status
from ..statistic import Statistic, Value
from .curves import at_risk, share
from .grid import TimeToEvent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTINGS = ("logrank", "wilcoxon", "tarone-ware", "peto", "fleming-harrington")
# S and 1 - S are 2^-40 or more, of as many rows, where they are not 0: weights of the tenth power, squared, do not
# vanish in float64, so a link is 0 only where no event counts.
MOST_POWER = 10


@dataclass(frozen=True, eq=False, repr=False)
class LogRank(Statistic):
    """What ``Study.log_rank`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    time, event, by : str
        The columns.
    strata : str or None
        Within whose levels the groups are compared.
    weighting : str
        Which events count how much.
    groups : tuple of str
        That are compared.
    nobs, events : ndarray of int
        Rows and events of every group.
    observed, expected : ndarray
        Weighted events of every group, and how many there would be if all groups were alike.
    covariance : ndarray
        Of ``observed - expected``.
    statistic : float
        Of chi squared.
    df : int
        Its degrees of freedom: one less than there are groups at risk.
    pvalue : float
        Of the test that all groups are alike.

    Examples
    --------
    >>> import sottovoce as sv
    >>> arm = {"type": "category", "levels": ["a", "b"]}
    >>> schema = sv.Schema({"days": {"type": "integer", "range": (0, 9)}, "death": "boolean", "arm": arm})
    >>> tables = [
    ...     {"days": [2, 5], "death": [True, True], "arm": ["a", "b"]},
    ...     {"days": [3], "death": [True], "arm": ["a"]},
    ...     {"days": [9], "death": [False], "arm": ["b"]},
    ... ]
    >>> test = sv.Study(sv.Network.ring(3), tables, schema=schema).log_rank("days", "death", by="arm")
    >>> test.observed.tolist(), test.expected.round(4).tolist(), round(test.pvalue, 4)
    ([2.0, 1.0], [0.8333, 2.1667], 0.0896)
    """

    time: Value[str] = Value()
    event: Value[str] = Value()
    by: Value[str] = Value()
    strata: Value[str | None] = Value()
    weighting: Value[str] = Value()
    groups: Value[tuple[str, ...]] = Value()
    nobs: Value[Integers] = Value()
    events: Value[Integers] = Value()
    observed: Value[Array] = Value()
    expected: Value[Array] = Value()
    covariance: Value[Array] = Value()
    statistic: Value[float] = Value()
    df: Value[int] = Value()
    pvalue: Value[float] = Value()

    def summary(self) -> str:
        """The test, and a line per group."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no test to report."
        width = max(5, *(len(group) for group in self.groups))
        lines = [self._facts(), f"{'':{width}}  {'n':>8}  {'events':>8}  {'observed':>12}  {'expected':>12}"]
        for k, group in enumerate(self.groups):
            weighed = f"{self.observed[k]:>12.6g}  {self.expected[k]:>12.6g}"
            lines.append(f"{group:{width}}  {self.nobs[k]:>8}  {self.events[k]:>8}  {weighed}")
        return "\n".join(lines)

    def _columns(self) -> dict[str, list[Any]]:
        names = ("nobs", "events", "observed", "expected")
        return {self.by: list(self.groups), **{name: getattr(self, name).tolist() for name in names}}

    def _facts(self) -> str:
        within = f" within {self.strata}" if self.strata else ""
        test = "log-rank" if self.weighting == "logrank" else self.weighting
        return (
            f"{test} test of {self.event} by {self.by}{within}: chi2({self.df}) = {self.statistic:.4f}, "
            f"p = {self.pvalue:.4g}; {int(self.events.sum())} events in {int(self.nobs.sum())} observations of "
            f"{self.parties} parties"
        )

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        ratio = np.divide(self.observed, self.expected, out=np.full(len(self.groups), np.nan), where=self.expected > 0)
        return plot_rows(path, self.groups, ratio, None, self._facts(), "observed / expected")


@dataclass(frozen=True, eq=False, kw_only=True)
class LogRankAnalysis(TimeToEvent):
    """``Study.log_rank``. ``rho`` and ``gamma`` are the powers of Fleming's and Harrington's weights."""

    strata: str | None = None
    weighting: str = "logrank"
    rho: float | None = None
    gamma: float | None = None

    type: ClassVar[str] = "log_rank"
    gives: ClassVar[builtins.type[Statistic]] = LogRank

    def __post_init__(self) -> None:
        if self.by is None:
            raise InvalidInput("by must be the column of the groups that are compared.")
        if self.weighting not in WEIGHTINGS:
            raise InvalidInput(f"weighting must be one of {', '.join(WEIGHTINGS)}; got {self.weighting!r}.")
        given = {key: power for key, power in (("rho", self.rho), ("gamma", self.gamma)) if power is not None}
        for key, power in given.items():
            if self.weighting != "fleming-harrington":
                raise InvalidInput(
                    f"{key} has no meaning for weighting {self.weighting!r}; got {power!r}. Leave it out."
                )
            if not 0 <= power <= MOST_POWER:
                raise InvalidInput(f"{key} must be a number from 0 to {MOST_POWER}; got {power!r}.")
        super().__post_init__()

    @property
    def _grouping(self) -> dict[str, str]:
        strata = {} if self.strata is None else {"strata": self.strata}
        return {**strata, **super()._grouping}

    def answer(self, counts: Integers) -> dict[str, Any]:
        from scipy.special import chdtrc

        counts = counts if self.strata else counts[None]  # (strata, groups, points, 2)
        if not counts[..., 1].any():
            raise Undetermined(
                f"no row of any party has an event: {self.event!r} is 0 in all {int(counts.sum()):,}. There is nothing "
                "to compare."
            )
        risk, events = at_risk(counts.sum(axis=-1)), counts[..., 1]
        n, d = risk.sum(axis=1), events.sum(axis=1)
        w = self._weights(n, d)
        flow, link = _pairs(risk, events, w)
        statistic, df = _compared(flow, link)
        if not df:
            raise Undetermined(
                f"no event that counts happened while two groups of {self.by!r} were at risk and somebody stayed: "
                "there is nothing to compare."
            )
        part = share(risk, np.broadcast_to(n[:, None], risk.shape))
        asked = ("time", "event", "by", "strata", "weighting", "groups")
        return {name: getattr(self, name) for name in asked} | {
            "nobs": counts.sum(axis=(0, 2, 3)),
            "events": events.sum(axis=(0, 2)),
            "observed": np.einsum("sk,sjk->j", w, events),
            "expected": np.einsum("sk,sjk->j", w * d, part),
            "covariance": np.diag(link.sum(axis=1)) - link,
            "statistic": statistic,
            "df": df,
            "pvalue": float(chdtrc(df, statistic)),
        }

    def _weights(self, n: Integers, d: Integers) -> Array:
        if self.weighting == "wilcoxon":
            return n.astype(np.float64)
        if self.weighting == "tarone-ware":
            return np.sqrt(n)
        if self.weighting == "peto":
            return np.asarray(np.cumprod(1 - d / (n + 1), axis=1))
        if self.weighting == "fleming-harrington":
            before = np.cumprod(1 - share(d, n), axis=1)
            before = np.column_stack([np.ones(len(n)), before[:, :-1]])
            rho = 1.0 if self.rho is None else self.rho
            return np.asarray(before**rho * (1 - before) ** (self.gamma or 0.0))
        return np.ones(n.shape)


def _pairs(risk: Integers, events: Integers, w: Array) -> tuple[Array, Array]:
    """``F`` and ``L`` of groups at risk and with events, ``(strata, groups, points)``; 0 on the diagonals."""
    at, happened, groups = risk.astype(np.float64), events.astype(np.float64), risk.shape[1]
    n, d = at.sum(axis=1), happened.sum(axis=1)
    per = share(w, n)
    f = share(per**2 * d * (n - d), n - 1)
    flow, link = np.zeros((groups, groups)), np.zeros((groups, groups))
    for j in range(groups):
        one = slice(j, j + 1)
        flow[j] = np.einsum("sk,slk->l", per, happened[:, one] * at - happened * at[:, one])
        link[j] = np.einsum("sk,slk->l", f, at[:, one] * at)
        link[j, j] = 0.0
    return flow, link


def _compared(flow: Array, link: Array) -> tuple[float, int]:
    """``(O - E)' V^- (O - E)`` and the rank of ``V``: groups are taken out one by one, and the rest keeps what went by
    way of them. A group that is linked with none of those before it is the last of its part."""
    flow, link = flow.copy(), link.copy()
    statistic, df = 0.0, 0
    for j in reversed(range(1, len(link))):
        strength = link[j, :j].sum()
        if strength > 0:
            part = link[j, :j] / strength
            statistic += float(flow[j, :j].sum() ** 2 / strength)
            df += 1
            link[:j, :j] += np.outer(part, link[j, :j])
            through = np.outer(flow[:j, j], part)
            flow[:j, :j] += through - through.T
    return statistic, df
