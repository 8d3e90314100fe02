"""Kinks: a party whose ``x_i`` stays put while it is pulled sits at a kink of its cost (theory: Public gradients).

``|x - s_i|`` holds ``x_i = s_i`` exactly, bit for bit, as long as the neighbours pull with between -1 and 1 (eq. 2). A
value that is held while something new came in is therefore data, and no pad blurs it.

* *Over open channels* ``dx_i`` and ``dgrad f_i`` between any two wakes are public (``recorded_transcript``): a kink is
  where ``dx_i = 0`` and ``dgrad f_i != 0``. What is missing is one common shift of all ``x``: the two messages of an
  edge add up to ``2 c A_ij (x_i - x_j)``, free of its pads, and a corrupt node knows its own ``x_j``.
* *Over encrypted channels* a corrupt neighbour ``j`` knows ``x_i`` at each wake, and what it wrote itself: a kink is
  where ``dx_i = 0`` and ``dz_{i|j} != 0``. At the end of a run all ``x`` stand still while ``z`` may move on (in
  ``Psi_perp``), so that a value which is also the coalition's own last ``x`` tells nothing. Nor does one that ``x_i``
  creeps up to: a kink is reached at once, a balance between neighbours only in the limit. At ``theta = 1`` pads swing
  for ever, and balances can be reached at once too: nothing is claimed there.

Coordinates are judged one by one, so this is for costs that have kinks in coordinates: absolute deviations (medians),
at the data; boxes, at their bounds; hinges of one feature, where the margin ``y a x`` is 1. (The kink of an L1 penalty
is at 0, which tells nothing, and the corners of ``Huber`` are none: its gradient is continuous.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...costs import AbsoluteDeviation, Box, Hinge
from ...costs.base import Array
from ...errors import Unsupported
from ...pdmm.masks import Mask
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from ...pdmm.settings import positive_integer
from ..adversary import Coalition
from .recorded_transcript import EPS, C, RecordedTranscript, gradient_differences, moves, overhear

WAKES = 60  # of each node
SLACK = 16  # roundings by which a value that is held may seem to move
NEWS = 1e6  # times that, by which the pull on it must have changed
APART = 1e5  # times that, by which it must differ from the coalition's own last x, and is reached at once


@dataclass(frozen=True, eq=False)
class RecoveredKinks:
    """Where the ``x`` of each node was held. Made by ``kink_attack``.

    Attributes
    ----------
    values : ndarray
        ``(n, d)``: where each coordinate of a node was held, the last such value; ``nan`` where it never was.
    shifted : bool
        Whether all values are off by one common unknown vector: nobody is corrupt.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(4), [sv.AbsoluteDeviation(float(s)) for s in (1, 2, 3, 9)])
    >>> sv.privacy.research.kink_attack(problem, mask=sv.GaussianMask(100.0), seed=1, c=0.5).shifted
    True
    """

    values: Array
    shifted: bool = False

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """The nodes of which something was read; a single value up to an unknown shift is nothing."""
        read = np.isfinite(self.values) & (not self.shifted or np.isfinite(self.values).sum(axis=0) > 1)
        return np.asarray(read.any(axis=1))

    def errors(self, problem: Problem) -> Array:
        """How far every value is from the nearest kink of its cost, the common shift taken off; ``nan`` if none."""
        off = np.full(self.values.shape, np.nan)
        for i, a in np.argwhere(np.isfinite(self.values)):
            at = kinks_of(problem, int(i))[a] - self.values[i, a]
            off[i, a] = at[np.argmin(np.abs(at))] if len(at) else np.inf
        if self.shifted and self.found.any():
            off = off - np.nanmedian(off, axis=0)
        return np.asarray(np.abs(off))

    def sentence(self, problem: Problem) -> str:
        """What was read, in units of data."""
        nodes = np.flatnonzero(self.found)
        if not len(nodes):
            return f"of {len(self.values)} parties none was seen to stay at a kink of its cost while it was pulled"
        name = problem.network.name
        values, first, common = self.values, nodes[0], ""
        if self.shifted:  # differences are what is known
            values, common = values - values[first], f" less that of party {name(first)}"
            nodes = nodes[1:]
        told = [f"{kind_of(problem, i)} of party {name(i)}{common}, {_number(values[i])}" for i in nodes[:3]]
        more = f"; and so for {len(nodes) - 3} more" if len(nodes) > 3 else ""
        return f"read exactly: {'; '.join(told)}{more}"


def _number(values: Array) -> str:
    told = [f"{v:.6g}" if np.isfinite(v) else "?" for v in values]
    return told[0] if len(told) == 1 else f"({', '.join(told)})"


def has_kinks(problem: Problem) -> bool:
    """Whether some party's cost has kinks in coordinates that are data, and every edge says ``x_i = x_j``."""
    return problem.consensus and any(
        isinstance(cost, AbsoluteDeviation | Box) or (isinstance(cost, Hinge) and cost.dim == 1)
        for _, cost in problem.groups
    )


def kind_of(problem: Problem, i: int) -> str:
    """What a kink of this party's cost is."""
    cost = problem.cost(int(i))
    return "the bound" if isinstance(cost, Box) else "the margin 1/(y a)" if isinstance(cost, Hinge) else "the value"


def kinks_of(problem: Problem, i: int) -> list[Array]:
    """Where the cost of a party has kinks, coordinate by coordinate: the truth, with which an attack is compared."""
    cost = problem.cost(i)
    if isinstance(cost, AbsoluteDeviation):
        return list(cost.s[0][:, None])
    if isinstance(cost, Box):
        return list(np.stack([cost.lower[0], cost.upper[0]], axis=1))
    if isinstance(cost, Hinge) and cost.dim == 1:
        rows = cost.A[:, 0]
        return [1 / rows[rows != 0]]
    return [np.zeros(0)] * cost.dim


def kink_attack(
    problem: Problem,
    *,
    mask: Mask,
    corrupt: Collection[int] = (),
    taps: bool = True,
    wakes: int = WAKES,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredKinks:
    """The values at which parties are held: of a median, their data.

    Parameters
    ----------
    problem
        Network, and costs with kinks or boxes.
    mask
        Of the run.
    corrupt
        The nodes that collude.
    taps
        True: over open channels, of all. False: of corrupt nodes' neighbours, from their own edges alone.
    wakes
        Of each node, that are listened to.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredKinks
        Data, where ``found``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(4), [sv.AbsoluteDeviation(float(s)) for s in (1, 2, 3, 9)])
    >>> found = sv.privacy.research.kink_attack(problem, mask=sv.GaussianMask(100.0), corrupt={0}, seed=1, c=0.5)
    >>> bool(found.found.any()), found.shifted
    (True, False)
    """
    if not has_kinks(problem):
        raise Unsupported(f"this attack is for consensus on costs with kinks, such as medians; got {problem!r}.")
    members = Coalition(corrupt).on(problem.network)
    positive_integer(wakes, "wakes")
    transcript, pads = overhear(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    if taps:
        return kinks_in_traffic(problem, transcript, pads, members.corrupt)
    return kinks_on_edges(problem, transcript, pads, [members.corrupt])


def kinks_in_traffic(
    problem: Problem, transcript: RecordedTranscript, pads: Array, corrupt: Collection[int]
) -> RecoveredKinks:
    """From every message; of the pads only those of corrupt nodes' edges are used, and with nobody corrupt none."""
    n, d = problem.network.n, problem.dim
    values, first = np.full((n, d), np.nan), _first_x(problem, transcript, pads, corrupt)
    for i in _suspects(problem, corrupt):
        r, D = transcript.heard[i]
        if len(r):
            x, gradient = (np.vstack([np.zeros(d), part]) for part in gradient_differences(transcript, i))
            size = SLACK * EPS * max(float(np.abs(r).max()), float(np.abs(D).max()))
            values[i] = first[i] + _held(x, gradient, size / (2 * transcript.along[i].min()), size * len(r[0]) / d)
    return RecoveredKinks(values, shifted=not corrupt)


def kinks_on_edges(
    problem: Problem, transcript: RecordedTranscript, pads: Array, coalitions: Iterable[Collection[int]]
) -> RecoveredKinks:
    """From the own edges of corrupt nodes; of several coalitions each value by the first that gets it."""
    values = np.full((problem.network.n, problem.dim), np.nan)
    if transcript.theta == 1:
        return RecoveredKinks(values)
    for corrupt in coalitions:
        around = {j: problem.network.around(j).tolist() for j in corrupt}
        known = [_known_x(problem, transcript, pads, j, around[j]) for j in corrupt]
        own = [x[-1] for x in known if x is not None]
        for i in _suspects(problem, corrupt):
            view = transcript.on_edges(i, corrupt)
            x = _known_x(problem, transcript, pads, i, corrupt)
            if view is None or x is None or np.isfinite(values[i]).all():
                continue
            off_x, off_z = (SLACK * rounding for rounding in view.rounding)
            held = _held(x, view.pull, off_x, off_z)
            away = np.abs(x - held)
            held[((away > off_x) & (away <= APART * off_x)).any(axis=0)] = np.nan
            at_rest = np.abs(held - np.reshape(own, (-1, problem.dim))).min(axis=0, initial=np.inf) <= APART * off_x
            values[i] = np.where(at_rest, np.nan, held)
    return RecoveredKinks(values)


def _suspects(problem: Problem, corrupt: Collection[int]) -> list[int]:
    """The honest nodes whose costs, of a public family, have kinks."""
    return [i for i in range(problem.network.n) if i not in corrupt and any(len(at) for at in kinks_of(problem, i))]


def _held(x: Array, pull: Array, off_x: float, off_pull: float) -> Array:
    """For each coordinate the value at which ``x`` was, at two wakes or more, while the pull changed most; or nan."""
    held = np.full(x.shape[1], np.nan)
    for a in range(x.shape[1]):
        order = np.argsort(x[:, a], kind="stable")
        most = NEWS * off_pull
        for group in np.split(order, np.flatnonzero(np.diff(x[order, a]) > off_x) + 1):
            if np.ptp(x[group, a]) <= off_x and np.ptp(pull[group, a]) > most:
                held[a], most = float(np.mean(x[group, a])), float(np.ptp(pull[group, a]))
    return held


def _known_x(
    problem: Problem, transcript: RecordedTranscript, pads: Array, i: int, ends: Collection[int]
) -> Array | None:
    """``x_i`` at each of its wakes, as those who know the pads of its edges to ``ends`` know it (eq. 3)."""
    rows = transcript.rows(i, ends)
    if not rows.any():
        return None
    held = slice(problem.rows[problem.network.indptr[i]], problem.rows[problem.network.indptr[i + 1]])
    e = (pads - pads[problem.P])[held]
    r, D = transcript.heard[i]
    return moves(transcript.blocks[i][rows], transcript.along[i][rows], (r - D - e)[:, rows], i)


def _first_x(problem: Problem, transcript: RecordedTranscript, pads: Array, corrupt: Collection[int]) -> Array:
    """``x`` of every node at its first wake: from a corrupt neighbour, else from edge to edge, else up to one shift."""
    network, d = problem.network, problem.dim
    first = np.full((network.n, d), np.nan)

    def said_first(i: int, j: int) -> Array:
        rows, (r, D) = transcript.rows(i, [j]), transcript.heard[i]
        return np.asarray((r[0] - D[0])[rows])

    woken = [i for i in range(network.n) if len(transcript.heard[i].r)]
    for i in woken:
        known = _known_x(problem, transcript, pads, i, network.around(i).tolist() if i in corrupt else corrupt)
        if known is not None:
            first[i] = known[0]
    if not corrupt and woken:
        first[woken[0]] = 0.0
    reached = [i for i in woken if np.isfinite(first[i]).all()]
    for i in reached:  # grows while it is walked
        for j in network.around(i).tolist():
            if j in woken and j not in reached:
                # e_ij + 2 c A_ij x_i, and the same of j, with -e_ij and -A_ij.
                total = said_first(i, j) + said_first(j, i)
                rows = transcript.rows(i, [j])
                apart = moves(transcript.blocks[i][rows], transcript.along[i][rows], total[None], i)[0]
                first[j] = first[i] - apart
                reached.append(j)
    return first
