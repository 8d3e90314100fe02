"""Logistic regression with one row per party: the row itself, from public traffic (theory: Public gradients).

``f_i(x) = log(1 + exp(-m)) + ridge ||x||^2`` with the margin ``m = a'x``, ``a`` the row times its label, has the
gradient ``-a / (1 + exp(m)) + 2 ridge x``. Traffic shows ``dx`` and ``dgrad`` between wakes (``recorded_transcript``),
the ridge is public, and so

    dgrad - 2 ridge dx = -a (p(m_1 + a'dx) - p(m_1)),      p(m) = 1/(1 + exp(m))

lies on one line, the direction ``u`` of ``a``. Along it two numbers are unknown, ``|a|`` and the margin ``m_1`` at the
first wake, and every further wake is an equation for them. Parties with more than one row do not fit: the attacker
sees that, and says nothing of them.

``(a, m_1)`` and ``(-a, -m_1)`` differ by a linear term, which pads hide: an eavesdropper has the row up to its sign. (A
corrupt node besides would know ``x_1``, hence the sign of ``a'x_1 = m_1``, and with it the label.)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.special import expit

from ...costs import Logistic
from ...costs.base import Array
from ...errors import Unsupported
from ...pdmm.masks import Mask
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from .recorded_transcript import EPS, C, RecordedTranscript, gradient_differences, overhear

WAKES = 40  # of each node
LINE = 1e-7  # second singular value over the first, above which differences are not on a line
LENGTHS, MARGINS = np.linspace(-5, 7, 25), np.linspace(-12, 12, 25)  # ln |a| and m_1: where the fit starts
POINTS = 6  # different differences that are needed: two numbers, and a check; far out, all look alike
FITS = 1e-9  # misfit, of the largest difference, above which two numbers do not explain a party
SLACK = 30.0  # roundings that a difference may be off
SAID = 1e6  # times that, which differences must reach to be used: then chance explains nothing to FITS


@dataclass(frozen=True, eq=False)
class RecoveredRows:
    """The row of each party that has one. Made by ``row_attack``.

    Attributes
    ----------
    rows : ndarray
        ``(n, d)``, each up to its sign; ``nan`` where traffic is not that of one row.
    misfits : ndarray
        What the attacker sees of its own error, relative to the largest difference of gradients; ``nan`` where ``rows``
        is.

    Examples
    --------
    >>> import numpy as np
    >>> RecoveredRows(np.array([[1.0, 2.0], [np.nan, np.nan]]), np.zeros(2)).found.tolist()
    [True, False]
    """

    rows: Array
    misfits: Array

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """The parties whose row is known."""
        return np.asarray(np.isfinite(self.rows).all(axis=1))

    def errors(self, problem: Problem) -> Array:
        """Distance from the true row, or from its negative, relative to its size; ``inf`` for who has several rows."""
        off = np.full(len(self.rows), np.nan)
        for i in np.flatnonzero(self.found):
            cost = problem.cost(int(i))
            a = cost.A[0] if isinstance(cost, Logistic) and cost.rows[0] == 1 else np.zeros(cost.dim)
            nearest = min(np.linalg.norm(self.rows[i] - a), np.linalg.norm(self.rows[i] + a))
            off[i] = nearest / np.linalg.norm(a) if a.any() else np.inf
        return off

    def sentence(self, problem: Problem) -> str:
        """What was read, in units of data."""
        nodes = np.flatnonzero(self.found)
        name = problem.network.name
        some = "; ".join(
            f"({', '.join(f'{v:.6g}' for v in self.rows[i])}) of party {name(i)}, to {self.misfits[i]:.0e}"
            for i in nodes[:3]
        )
        more = f"; and those of {len(nodes) - 3} more parties" if len(nodes) > 3 else ""
        return f"the rows of {len(nodes)} parties, up to their signs: {some}{more}"


def row_attack(
    problem: Problem,
    *,
    mask: Mask,
    wakes: int = WAKES,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredRows:
    """The row of every party that has one, in a logistic regression over open channels.

    Parameters
    ----------
    problem
        Network, and logistic costs.
    mask
        Of the run.
    wakes
        Of each node, that are listened to.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredRows
        Up to their signs.

    Raises
    ------
    Unsupported
        For other costs.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> rng = np.random.default_rng(1)
    >>> shards = [(rng.normal(size=(1, 2)), np.array([1.0 - 2 * (i % 2)])) for i in range(4)]
    >>> problem = sv.logistic(sv.Network.ring(4), shards, ridge=0.5)
    >>> found = sv.privacy.research.row_attack(problem, mask=sv.GaussianMask(1.0), seed=1, c=0.5)
    >>> bool(np.nanmax(found.errors(problem)) < 1e-4)
    True
    """
    if not is_logistic(problem):
        raise Unsupported(f"this attack is for logistic regression; got {problem!r}. Use gradient_attack.")
    transcript, _ = overhear(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    return rows_in_traffic(problem, transcript)


def is_logistic(problem: Problem) -> bool:
    """Whether every cost is logistic, and every edge says ``x_i = x_j``."""
    return problem.consensus and all(isinstance(cost, Logistic) for _, cost in problem.groups)


def rows_in_traffic(problem: Problem, transcript: RecordedTranscript, corrupt: Collection[int] = ()) -> RecoveredRows:
    """The same from a recorded run, but for corrupt nodes' own; of the problem only the public ridges are used."""
    n, d = problem.network.n, problem.dim
    rows, misfits = np.full((n, d), np.nan), np.full(n, np.nan)
    for i in sorted(set(range(n)) - set(corrupt)):
        cost = problem.cost(i)
        assert isinstance(cost, Logistic)
        dx, gradient = gradient_differences(transcript, i)
        r, D = transcript.heard[i]
        rounding = EPS * max(float(np.abs(r).max(initial=0.0)), float(np.abs(D).max(initial=0.0))) * len(r.T)
        found = _row(dx, gradient - 2 * float(cost.ridge[0]) * dx, rounding)
        if found is not None:
            rows[i], misfits[i] = found
    return RecoveredRows(rows, misfits)


def _row(dx: Array, bent: Array, rounding: float) -> tuple[Array, float] | None:
    """``a`` and the misfit, from ``bent = -a (p(m_1 + a'dx) - p(m_1))``, a wake a row; None where that cannot be."""
    size = float(np.abs(bent).max(initial=0.0))
    if not len(dx) or size <= SAID * SLACK * rounding:
        return None
    _, strengths, directions = np.linalg.svd(bent, full_matrices=False)
    if len(strengths) > 1 and strengths[1] > LINE * strengths[0]:
        return None
    u = directions[0]
    s, h = dx @ u, bent @ u
    if len(np.unique(np.round(h / size, 6))) < POINTS:
        return None

    def misfit(p: Array) -> Array:
        length, margin = np.exp(min(p[0], 50.0)), p[1]  # a step of the fit may go astray
        return np.asarray((h + length * (expit(-margin - length * s) - expit(-margin))) / size)

    def cost(p: Array) -> float:
        return float(misfit(p) @ misfit(p))

    # The fit has several minima: one start for each length, the most promising first, until one explains everything.
    starts = [min((np.array([length, margin]) for margin in MARGINS), key=cost) for length in LENGTHS]
    for start in sorted(starts, key=cost):
        fit = least_squares(misfit, start, method="lm", xtol=EPS, ftol=EPS, gtol=EPS, max_nfev=300).x
        off = float(np.abs(misfit(fit)).max())
        if off <= FITS + SLACK * rounding / size:
            return np.exp(fit[0]) * u, off
    return None
