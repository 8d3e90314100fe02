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
* **beyond**: this party's sums at the point are larger than an agreement carries, or none. It sends zeros instead, and
  everybody halves the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import PeerError, Undetermined
from ...pdmm.masks import GaussianMask
from ..agreements import Agreements, resolution, votable
from ..settled import majority
from .climb import REACH, Climb, packed, unpacked

__all__ = ["MOST", "REACH", "Maximum", "Sums", "maximise", "numbers", "packed", "refuse", "unpacked"]

Sums = Callable[[Array], Array]  # of a party's rows at some parameters: ``packed(objective, score, information)``
Of = Callable[[Array, Array], Array]  # of agreed sums and the parameters: the same

MOST = 60  # agreements


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


def numbers(k: int) -> int:
    """How many travel in one agreement, votes included."""
    return 1 + k + k * (k + 1) // 2 + 2 + 2 * k + 1


def of_objective(k: int) -> float:
    """What the objective adds to the mean square of the numbers of an agreement: score and information are of size 1,
    but an objective per event is some 10 or 20 where parties are few and events rare."""
    return 20.0**2 / numbers(k)


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
    of: str = "",
    of_sums: Sequence[Of] | None = None,
) -> Maximum:
    """Climb a concave objective, or one that Fisher scoring climbs.

    Parameters
    ----------
    parts : sequence of callables
        For each local party its sums at given parameters, ``packed``. Where there is no objective they may be anything
        that is larger than an agreement carries, or not finite: such a point is never taken, unless it is the start.
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
    of : str, optional
        What the sums are of, for people. Default: objective, score and information.
    of_sums : sequence of callables, optional
        Where the objective is not a sum over rows itself: for each local party what makes ``packed`` numbers of the
        agreed sums, divided by ``size``, and the parameters there. An objective of NaN counts as one that fell.

    Returns
    -------
    Maximum

    Raises
    ------
    Undetermined
        Parameters that the rows do not tell, by name; the same at every party.
    NotConverged
        From an agreement.
    PeerError
        Votes that end the climb too early.
    """
    n, share = agreements.parties, agreements.parties / size
    climbs = [Climb(point, agreements.tol, resolution(mask), reach) for point in start]
    largest = votable(agreements, mask)
    taken, votes = count(), np.zeros(1)

    def agree() -> tuple[Array, Array]:
        """Sums at the points where the parties are, and the votes that they brought: integers."""
        if next(taken) == MOST:
            raise Undetermined(_endless(beyond=bool(votes[-1])))
        own = [_sent(share * part(climb.point), climb, largest) for part, climb in zip(parts, climbs, strict=True)]
        what = of or f"objective, score and information of {len(names)} parameters"
        width = climbs[0].votes.size + 1
        agreed = agreements.mean(np.array(own), mask, degree=0, of=what, iterate=True, votes=width)
        return agreed[:, :-width], np.rint(n * agreed[0, -width:])

    sums, votes = agree()
    if votes[-1]:
        raise Undetermined(
            "the sums at the start are larger than an agreement carries. Bring columns and weights to size 1: give "
            "their ranges, or scale=."
        )

    def packs() -> list[Array]:
        """Objective, score and information of the sums, as each local party has them."""
        if of_sums is None:
            return list(sums)
        return [pack(own, climb.point) for pack, own, climb in zip(of_sums, sums, climbs, strict=True)]

    k = start.shape[1]
    begun = [unpacked(own, k) for own in packs()]
    for steps in count(2):
        for climb, own in zip(climbs, packs(), strict=True):
            climb.hear(own, beyond=bool(votes[-1]))
        sums, votes = agree()
        halve = votes[1]
        if 0 < halve < n:
            for climb in climbs:
                climb.overrule(bool(majority(agreements, halve)))
            sums, votes = agree()
        refuse(majority(agreements, votes[2:-1]), names, begun=steps > 2, infinite=infinite)
        if majority(agreements, votes[0]) and not votes[-1]:
            break
    if not all(climb.is_top(own) for climb, own in zip(climbs, packs(), strict=True)):
        raise PeerError(
            "the votes say that the maximum is found, and the sums that it is not: a party has not kept to the "
            "protocol. Agree on a new run."
        )
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


def _endless(*, beyond: bool) -> str:
    if beyond:
        return (
            f"there is no maximum after {MOST} steps where sums are no larger than the mask hides. Use a larger "
            "variance, merge levels that few rows have, or take another link."
        )
    return f"there is no maximum after {MOST} steps. Drop columns that tell little, merge levels, or take another link."


def _sent(sums: Array, climb: Climb, largest: float) -> Array:
    """What a party contributes: sums, its votes, and whether the sums are beyond what can be sent."""
    beyond = not bool((np.abs(sums) <= largest).all())  # NaN is beyond as well
    return np.concatenate([np.zeros_like(sums) if beyond else sums, climb.votes, [float(beyond)]])


def refuse(flags: npt.NDArray[np.bool_], names: Sequence[str], *, begun: bool, infinite: str) -> None:
    """The same sentence everywhere. Before the first step a parameter may have no information, or hang on others; later
    it can only have lost it on the way to infinity."""
    k = len(names)
    flat, bound = flags[:k], flags[k:]
    if not (flat.any() or bound.any()):
        return
    those = [name for name, flag in zip(names, flat if flat.any() else bound, strict=True) if flag]
    # The intercept of centred columns goes along with any of them.
    listed = ", ".join(repr(name) for name in those if name != "Intercept" or len(those) == 1)
    if begun:
        raise Undetermined(f"the estimate of {listed} is infinite, to the precision of the agreement{infinite}")
    if flat.any():
        subject = f"the columns {listed} do" if flat.sum() > 1 else f"column {listed} does"
        raise Undetermined(
            f"{subject} not vary over the rows of all parties, to the precision of the agreement: a "
            "constant, or a level that no row has. Drop it, or merge the level with another."
        )
    raise Undetermined(
        f"the columns {listed} are linearly dependent over the rows of all parties, to the precision of the agreement. "
        "Drop one of them; of a category, merge a level that no row has (its reference may be one)."
    )
