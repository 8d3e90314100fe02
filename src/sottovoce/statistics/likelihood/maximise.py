"""Newton's method on private sums: the parties agree on objective, score and information, step by step.

A party may not branch on what was agreed on: parties hold it to about ``tol``, and two of them could go apart. So every
decision is a vote. Votes are 0 or 1 and ride along with the next agreement; their sums are rounded to integers, which
are the same everywhere:

* **last**: the step just taken is the last. Whether a party takes this or "go on", the next sums are at the same point,
  so nothing is lost where they differ: the majority has it.
* **halve**: the objective fell, and half of the step is tried. Where they differ, the sums that came along are at
  different points: they are dropped, and everybody does as the majority says.
* **flat**, **infinite**: per parameter, that the information does not tell it. If the majority has found one, all
  refuse with the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.masks import GaussianMask
from ..agreements import Agreements, resolution

Sums = Callable[[Array], Array]  # of a party's rows at some parameters: ``packed(objective, score, information)``
Of = Callable[[Array, Array], Array]  # of agreed sums and the parameters: the same

MOST = 60  # agreements
SMALL = 1e-12  # Newton's decrement per unit of information, after which one step is left: it squares the error
REACH = 50.0  # of a parameter, per deviation of its column, on a logarithmic scale: beyond it counts as infinite
STRIDE = 0.1  # of the reach, what a step may move a parameter: exp stays finite
RIGHT = 1e-2  # refuse information that is not known to two digits
HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the climb ended, as each local party holds it.

    Attributes
    ----------
    theta : ndarray
        ``(local, k)``, the parameters.
    objective, score, information : ndarray
        There, summed over all rows and divided by ``size``: ``(local,)``, ``(local, k)``, ``(local, k, k)``.
    first : ndarray
        ``(local,)``, the objective at the start.
    first_score, first_information : ndarray
        Likewise, for a score test.
    sums : ndarray
        ``(local, ...)``, what was agreed on at the end, divided by ``size``.
    steps : int
        Points at which sums were agreed on.
    """

    theta: Array
    objective: Array
    score: Array
    information: Array
    first: Array
    first_score: Array
    first_information: Array
    sums: Array
    steps: int


def packed(objective: float, score: Array, information: Array) -> Array:
    """In one vector, half of the information: ``1 + k + k(k+1)/2`` numbers."""
    return np.concatenate([[objective], score, information[np.triu_indices(len(score))]])


def unpacked(sums: Array, k: int) -> tuple[float, Array, Array]:
    """Of ``packed``."""
    information, upper = np.empty((k, k)), np.triu_indices(k)
    information[upper] = sums[1 + k : 1 + k + len(upper[0])]
    information.T[upper] = information[upper]
    return float(sums[0]), sums[1 : 1 + k], information


def numbers(k: int) -> int:
    """How many travel in one agreement, votes included."""
    return 1 + k + k * (k + 1) // 2 + 2 + 2 * k


def maximise(
    agreements: Agreements,
    parts: Sequence[Sums],
    start: Array,
    names: Sequence[str],
    mask: GaussianMask,
    size: float,
    *,
    reach: float = REACH,
    infinite: str = "",
    of_sums: Of = lambda sums, _: sums,
) -> Maximum:
    """Climb a concave objective, or one that Fisher scoring climbs.

    Parameters
    ----------
    parts : sequence of callables
        For each local party its sums at given parameters, ``packed``.
    start : ndarray
        ``(local, k)``.
    names : sequence of str
        Of the parameters, for sentences.
    size : float
        What sums over all rows are divided by so that the information is of size 1: the number of rows, or of events.
        It is the same at every party: an agreed integer.
    reach : float
        How far a parameter may be from 0; ``inf`` where it has units of the data.
    infinite : str
        What it means if a parameter grows without bound, as the end of a sentence.
    of_sums : callable
        Makes ``packed`` numbers of the agreed sums, divided by ``size``, and the parameters there, where the objective
        is not a sum over rows itself.

    Returns
    -------
    Maximum

    Raises
    ------
    InvalidInput
        Parameters that the rows do not tell, by name; the same at every party.
    NotConverged
        From an agreement.
    """
    n, share = agreements.parties, agreements.parties / size
    climbs = [_Climb(point, 10 * agreements.tol, resolution(mask), reach) for point in start]
    taken = count()

    def agree() -> tuple[Array, Array]:
        """Sums at the points where the parties are, and the votes that they brought: integers."""
        if next(taken) == MOST:
            raise InvalidInput(
                f"there is no maximum after {MOST} steps. Drop columns that tell little, or merge levels."
            )
        own = [np.append(share * part(climb.point), climb.votes) for part, climb in zip(parts, climbs, strict=True)]
        of = f"objective, score and information of {len(names)} parameters"
        agreed = agreements.mean(np.array(own), mask, degree=0, of=of, iterate=True)
        width = climbs[0].votes.size
        return agreed[:, :-width], np.rint(n * agreed[0, -width:])

    def packs() -> list[Array]:
        """Objective, score and information of the sums, as each local party has them."""
        return [of_sums(own, climb.point) for own, climb in zip(sums, climbs, strict=True)]

    k = start.shape[1]
    sums, _ = agree()
    begun = [unpacked(own, k) for own in packs()]
    for steps in count(2):
        for climb, own in zip(climbs, packs(), strict=True):
            climb.hear(own)
        sums, votes = agree()
        halve = votes[1]
        if 0 < halve < n:
            for climb in climbs:
                climb.overrule(2 * halve > n)
            sums, votes = agree()
        _refuse(votes[2:] * 2 > n, names, begun=steps > 2, infinite=infinite)
        if votes[0] * 2 > n:
            break
    ended = [unpacked(own, k) for own in packs()]
    agreements.shown[-1] = replace(agreements.shown[-1], iterate=False)
    return Maximum(
        np.array([climb.point for climb in climbs]),
        np.array([f for f, _, _ in ended]),
        np.array([g for _, g, _ in ended]),
        np.array([H for _, _, H in ended]),
        np.array([f for f, _, _ in begun]),
        np.array([g for _, g, _ in begun]),
        np.array([H for _, _, H in begun]),
        sums,
        steps,
    )


class _Climb:
    """One party on its way: the last point that was good, the step from there, and the point that is tried."""

    def __init__(self, start: Array, relative: float, absolute: float, reach: float) -> None:
        k = len(start)
        self.relative, self.absolute, self.reach = relative, absolute, reach
        self.point, self.votes = start, np.zeros(2 + 2 * k)
        self.good: tuple[float, Array, Array] | None = None  # objective, point, step
        self.halved = 0

    def hear(self, sums: Array) -> None:
        """What was agreed on at the point, and where to go from there."""
        self._heard = unpacked(sums, len(self.point)), self.point, self.good, self.halved
        f, *_ = self._heard[0]
        fell = self.good is not None and not f >= self.good[0] - self._error(sums) - 1e-8 * abs(f)
        self._go(fell and self.halved < HALVINGS)

    def overrule(self, halve: bool) -> None:
        """Others have another opinion on whether the objective fell."""
        _, self.point, self.good, self.halved = self._heard
        self._go(halve)

    def _go(self, halve: bool) -> None:
        (f, g, H), here, _, _ = self._heard
        self.votes = np.zeros_like(self.votes)
        if halve and self.good is not None:
            self.halved += 1
            _, point, step = self.good
            self.point, self.votes[1] = point + step / 2**self.halved, 1.0
            return
        flat, infinite = self._untold(H)
        step = _solved(H, g)
        longest = float(np.abs(step).max(initial=0.0))
        cut = longest > STRIDE * self.reach
        step = step * (STRIDE * self.reach / longest) if cut else step
        self.votes[0] = float(not cut and abs(float(g @ step)) <= SMALL)
        self.votes[2:] = np.concatenate([flat, np.maximum(infinite, np.abs(here) > self.reach)])
        self.good, self.point, self.halved = (f, here, step), here + step, 0

    def _error(self, sums: Array) -> float:
        """What an agreement leaves open of a number."""
        return self.relative * float(np.abs(sums).max(initial=0.0)) + self.absolute

    def _untold(self, H: Array) -> tuple[Array, Array]:
        """Per parameter whether the information has nothing on it, and whether it hangs on others: to the precision of
        the agreement."""
        k = len(H)
        error, size = self._error(H), np.diag(H)
        flat = size * RIGHT <= error
        if flat.any() or not k:
            return flat.astype(float), np.zeros(k)
        values, vectors = np.linalg.eigh(H / np.sqrt(np.outer(size, size)))
        if values[0] * RIGHT > error * float((1 / size).sum()):
            return np.zeros(k), np.zeros(k)
        share = np.abs(vectors[:, 0])
        return np.zeros(k), (share > 0.1 * share.max()).astype(float)


def _solved(H: Array, g: Array) -> Array:
    try:
        step = np.linalg.solve(H, g)
    except np.linalg.LinAlgError:  # far from where opinions differ: everybody flags it
        return np.zeros_like(g)
    return np.asarray(step, dtype=np.float64) if np.isfinite(step).all() else np.zeros_like(g)


def _refuse(flags: npt.NDArray[np.bool_], names: Sequence[str], *, begun: bool, infinite: str) -> None:
    """The same sentence everywhere. Before the first step a parameter may have no information, or hang on others; later
    it can only have lost it on the way to infinity."""
    k = len(names)
    flat, bound = flags[:k], flags[k:]
    if not (flat.any() or bound.any()):
        return
    those = [repr(name) for name, flag in zip(names, flat if flat.any() else bound, strict=True) if flag]
    listed = ", ".join(those)
    if begun:
        raise InvalidInput(f"the estimate of {listed} is infinite, to the precision of the agreement{infinite}")
    if flat.any():
        raise InvalidInput(
            f"column {listed} does not vary over the rows of all parties, to the precision of the agreement: a "
            "constant, or a level that no row has. Drop it, or merge the level with another."
        )
    raise InvalidInput(
        f"the columns {listed} are linearly dependent over the rows of all parties, to the precision of the agreement. "
        "Drop one of them; of a category, merge a level that no row has (its reference may be one)."
    )
