"""Newton's method on exact sums: objective, score and information of all parties, step by step.

Everybody holds the same totals, to the bit, and decides on them with ``numerics/fixed_order``: the same next point, the
same end and the same sentence everywhere, and nothing to vote on. A step after which the objective fell, or at which
some party objects as its terms are ``Beyond``, is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...costs.base import Array
from ...errors import Undetermined
from ...numerics import fixed_order
from ...sums import Whole
from ..agreements import Agreements, Objected, unless_beyond
from ..fewer_digits import ClimbDigits, rounded
from .climb import REACH, Climb

__all__ = ["MOST", "REACH", "Maximum", "Read", "Sums", "maximise"]

Sums = Callable[[Array], Whole]  # of one party's rows at parameters (k,): integers. It may raise ``Beyond``.
Read = Callable[[Whole, Array], tuple[float, Array, Array]]  # of totals and parameters: objective, score, information

MOST = 60  # agreements


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the climb ended, the same at every party.

    Attributes
    ----------
    theta : ndarray
        ``(k,)``, the parameters.
    objective, score, information : float, ndarray, ndarray
        There, of all rows: ``(k,)`` and ``(k, k)``.
    first, first_score, first_information : float, ndarray, ndarray
        At the first point at which sums were agreed on, for a score test.
    total : Whole
        The totals at the end.
    steps : int
        Points at which sums were agreed on.
    """

    theta: Array
    objective: float
    score: Array
    information: Array
    first: float
    first_score: Array
    first_information: Array
    total: Whole
    steps: int


def maximise(
    agreements: Agreements,
    parts: Sequence[Sums],
    start: Array,
    names: Sequence[str],
    read: Read,
    *,
    size: int,
    reach: float = REACH,
    infinite: str = "",
    of: str = "",
    rows: int | None = None,
    ahead: Array | None = None,
    before: Callable[[Whole], float] | None = None,
    named: Array | None = None,
    digits: ClimbDigits | None = None,
) -> Maximum:
    """Climb a concave objective, or one that Fisher scoring climbs.

    Parameters
    ----------
    parts : sequence of callables
        For each local party its integers at given parameters. Where there is no objective they may raise ``Beyond``:
        such a point is never taken, unless it is the start.
    start : ndarray
        ``(k,)``.
    names : sequence of str
        Of the parameters, for sentences.
    read : callable
        Of totals and the parameters there: objective, score ``(k,)`` and information ``(k, k)``, each rounded once. An
        objective of NaN counts as one that fell.
    size : int
        How many integers a party sums up.
    reach : float
        How far a parameter may be from 0; ``inf`` where it has units of the data.
    infinite : str
        What it means if a parameter grows without bound, as the end of a sentence.
    of : str, optional
        What the sums are of, for people. Default: objective, score and information.
    rows : int, optional
        Of an objective whose unit nobody knows, such as half of a sum of squares: how many rows it is of. Steps are
        then measured by what it is a row.
    ahead : ndarray, optional
        A first step that public numbers tell: no sums are needed at the start.
    before : callable, optional
        With ``ahead``: the objective at the start, as the totals of the first point tell.
    named : ndarray, optional
        ``(k, k)``, what makes of the parameters those that the names are of. Default: they are.
    digits : ClimbDigits, optional
        How finely sums are told; None with all digits.

    Returns
    -------
    Maximum

    Raises
    ------
    Undetermined
        Parameters that the rows do not tell, by name; the same at every party.
    """
    climb = Climb(start, names, reach, infinite, rows, ahead, named, digits)
    of = of or f"objective, score and information of {len(names)} parameters"
    steps, total, first = 0, None, None
    information = None if digits is None else digits.first
    for _ in range(MOST):
        own = [unless_beyond(lambda part=part: part(climb.point)) for part in parts]  # type: ignore[misc]
        if digits is not None and information is not None:
            own = [rounded(part, digits.steps(information)) for part in own]
        try:
            total = agreements.sum(own, of=of, iterate=True, size=size)
        except Objected:
            climb.object()
            continue
        steps += 1
        there = read(total, climb.point)
        if first is None:
            first = there
            if before is not None:
                climb.height = before(total)
        if climb.hear(*there):
            break
        information = np.diag(there[2])
    else:
        raise Undetermined(
            f"there is no maximum after {MOST} steps. Drop columns that tell little, merge levels, or take another "
            "link."
        )
    assert total is not None
    assert first is not None
    agreements.shown[-1] = replace(agreements.shown[-1], iterate=False)
    return Maximum(climb.point, *there, *first, total, steps)


def covariance(information: Array) -> Array:
    """The inverse of the information at a maximum, symmetric to the bit."""
    L, _ = fixed_order.cholesky(information)
    return np.asarray(fixed_order.inverse(L))
