"""Cox's partial likelihood of the rows of one stratum, with its score and information (Cox, 1972; Efron, 1977).

With ``w = exp(x'beta)``, at every time ``k`` of ``d`` events, and for ``l = 0, ..., d - 1``:

    c_l = sum_{at risk} w - J_l sum_{events} w,    m_l = (sum_{at risk} w x - J_l sum_{events} w x) / c_l,

where ``J_l = 0`` (Breslow) or ``l / d`` (Efron). Then

    log-likelihood  sum_{events} x'beta - sum_{k,l} log c_l
    score           sum_{events} x - sum_{k,l} m_l
    information     sum_i h_i x_i x_i' - sum_{k,l} m_l m_l',
                    h_i = w_i (sum_{times up to i's} sum_l 1 / c_l - [i has the event] sum_l J_l / c_l),

so that rows cost ``n p^2``, and events ``d p^2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import ArrayRows, Int64, Rows
from ...errors import InvalidInput
from ...sums import Beyond, Whole

TIES = ("efron", "breslow")
FINEST = 64  # of a party, whose sums are one number: 2^-64 of a number about 1 is below its last digit
LOWEST = -700.0  # of x'beta below the largest: exp stays above 0

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Stratum:
    """Rows with one baseline, the latest first.

    Attributes
    ----------
    x : ndarray
        ``(n, p)``.
    offset : ndarray
        ``(n,)``, added to ``x'beta``.
    times : ndarray
        ``(K,)``, those of events, the latest first.
    at_risk : ndarray of int
        ``(K,)``: so many rows, the first ones, are at risk there.
    events : ndarray of int
        Of every event its row, by time.
    began : ndarray of int
        ``(K,)``, where the events of a time begin among ``events``.
    """

    x: Array
    offset: Array
    times: Array
    at_risk: Places
    events: Places
    began: Places

    @classmethod
    def of(cls, x: Array, time: Array, event: Array, offset: Array | None = None) -> Stratum:
        """Rows in any order."""
        offset = np.zeros(len(time)) if offset is None else offset
        # Rows of one time by all that they hold: sums are then the same in whatever order they were read.
        order = np.lexsort((*x.T, offset, event, -time))
        x, time, event, offset = x[order], time[order], event[order], offset[order]
        events = np.flatnonzero(event)
        falling, began = np.unique(-time[events], return_index=True)
        at_risk = np.searchsorted(-time, falling, side="right")
        return cls(x, offset, -falling, at_risk, events, began)

    @property
    def tied(self) -> Places:
        """``(K,)``, how many events a time has."""
        return np.diff(np.append(self.began, len(self.events)))

    def sums(self, beta: Array, ties: str) -> tuple[float, Array, Array]:
        """Log-likelihood, score and information."""
        p = len(beta)
        if not len(self.events):
            return 0.0, np.zeros(p), np.zeros((p, p))
        x, rows, d = self.x, self.events, self.tied
        eta = x @ beta + self.offset
        eta = np.maximum(eta - eta.max(), LOWEST)
        w = np.exp(eta)
        wx = w[:, None] * x
        at = np.repeat(np.arange(len(d)), d)  # of each event, its time
        J = shares(d, ties)
        last = self.at_risk[at] - 1
        c = np.cumsum(w)[last] - J * np.add.reduceat(w[rows], self.began)[at]
        m = np.cumsum(wx, axis=0)[last] - J[:, None] * np.add.reduceat(wx[rows], self.began)[at]
        m /= c[:, None]
        h = self._weights(c, J, at) * w
        loglik = float(eta[rows].sum() - np.log(c).sum())
        score = x[rows].sum(axis=0) - m.sum(axis=0)
        return loglik, score, (x * h[:, None]).T @ x - m.T @ m

    def integers(self, beta: Array, ties: str) -> Whole:
        """Log-likelihood, score and half of the information as multiples of ``2^-FINEST``: what a party adds."""
        loglik, score, information = self.sums(beta, ties)
        upper = information[np.triu_indices(len(beta))]
        return multiples(np.concatenate([[loglik], score, upper]), FINEST)

    def _weights(self, c: Array, J: Array, at: Places) -> Array:
        """``h / w`` of every row."""
        hazard = np.add.reduceat(1 / c, self.began)
        later = np.append(np.cumsum(hazard[::-1])[::-1], 0.0)  # the latest first: from a time back to the first one
        first = np.searchsorted(self.at_risk, np.arange(len(self.x)), side="right")  # latest time that a row sees
        weights = later[first]
        weights[self.events] -= np.add.reduceat(J / c, self.began)[at]
        return np.asarray(weights)


def shares(tied: Places, ties: str) -> Array:
    """``J`` of every event."""
    if ties == "breslow":
        return np.zeros(int(tied.sum()))
    rank = np.arange(int(tied.sum())) - np.repeat(np.cumsum(tied) - tied, tied)
    return np.asarray(rank / np.repeat(tied, tied))


def in_memory(rows: Rows) -> Array:
    """All rows of a party: a risk set needs them by time, which no single pass over blocks can do.

    Raises
    ------
    InvalidInput
        Where the blocks do not come to this process.
    """
    if isinstance(rows, ArrayRows):
        return rows.array
    blocks = [np.empty((0, rows.width))]

    def keep(block: Array) -> Int64:
        blocks.append(block.copy())
        return np.zeros((1, 1), np.int64)

    rows.totals(keep)
    held = np.concatenate(blocks)
    if len(held) != len(rows):
        raise InvalidInput(
            "a Cox model needs the rows of a party in its own memory, sorted by time, and this table is summed "
            "elsewhere. Give it as a file or a frame, of the columns in use."
        )
    return held


def multiples(values: Array, bits: int) -> Whole:
    """The nearest multiples of ``2^-bits``, as integers of any size."""
    if not np.isfinite(values).all():
        raise Beyond("a sum is not finite.")
    return np.array([round(Fraction(value) * (1 << bits)) for value in values.tolist()], object)
