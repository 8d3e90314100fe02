"""One party's way up: what it does with the sums that were agreed on, and what it votes for."""

from __future__ import annotations

import numpy as np

from ...costs.base import Array

SMALL = 1e-12  # Newton's decrement per unit of information, after which one step may be the last: it squares the error
FINE = 1e-20  # what the decrement shall be after it: Fisher scoring only divides the error
SLOW = 0.5  # what the decrement is multiplied by in a step that gains nothing
REACH = 50.0  # of a parameter, per deviation of its column, on a logarithmic scale: beyond it counts as infinite
STRIDE = 0.1  # of the reach, what a step may move a parameter: exp stays finite
RIGHT = 1e-2  # refuse information that is not known to two digits
HALVINGS = 30


def packed(objective: float, score: Array, information: Array) -> Array:
    """In one vector, half of the information: ``1 + k + k(k+1)/2`` numbers."""
    return np.concatenate([[objective], score, information[np.triu_indices(len(score))]])


def unpacked(sums: Array, k: int) -> tuple[float, Array, Array]:
    """Of ``packed``."""
    information, upper = np.empty((k, k)), np.triu_indices(k)
    information[upper] = sums[1 + k : 1 + k + len(upper[0])]
    information.T[upper] = information[upper]
    return float(sums[0]), sums[1 : 1 + k], information


class Climb:
    """One party on its way: the last point that was good, the step from there, and the point that is tried."""

    def __init__(self, start: Array, tol: float, absolute: float, reach: float) -> None:
        k = len(start)
        self.tol, self.absolute, self.reach = tol, absolute, reach
        self.point, self.votes = start, np.zeros(2 + 2 * k)
        self.good: tuple[float, Array, Array] | None = None  # objective, point, step
        self.decrement = float("inf")  # there
        self.halved = 0

    def hear(self, sums: Array, *, beyond: bool) -> None:
        """What was agreed on at the point, and where to go from there."""
        self._heard = unpacked(sums, len(self.point)), self.point, self.good, self.decrement, self.halved
        f, *_ = self._heard[0]
        fell = self.good is not None and not f >= self.good[0] - _error(sums, self.tol, self.absolute) - 1e-8 * abs(f)
        self._go(beyond or (fell and self.halved < HALVINGS))

    def overrule(self, halve: bool) -> None:
        """Others have another opinion on whether the objective fell."""
        _, self.point, self.good, self.decrement, self.halved = self._heard
        self._go(halve)

    def _go(self, halve: bool) -> None:
        (f, g, H), here, *_ = self._heard
        self.votes = np.zeros_like(self.votes)
        if halve and self.good is not None:
            self.halved += 1
            _, point, step = self.good
            self.point, self.votes[1] = point + step / 2**self.halved, 1.0
            return
        flat, infinite = untold(H, self.tol, self.absolute)
        step = _solved(H, g)
        longest = float(np.abs(step).max(initial=0.0))
        cut = longest > STRIDE * self.reach
        step = step * (STRIDE * self.reach / longest) if cut else step
        self.votes[0] = float(not cut and self._is_last(abs(float(g @ step)), H))
        self.votes[2:] = np.concatenate([flat, np.maximum(infinite, np.abs(here) > self.reach)])
        self.good, self.point, self.halved = (f, here, step), here + step, 0

    def _is_last(self, decrement: float, H: Array) -> bool:
        """Whether the step leaves nothing that could be told: by the rate of the steps before, or because they get no
        shorter, and are what agreements leave open."""
        rate = min(1.0, decrement / self.decrement) if 0 < self.decrement < np.inf else 1.0
        self.decrement = decrement
        unknown = self._unknown(H)
        return (decrement <= SMALL and decrement * rate <= FINE) or (decrement <= unknown and rate > SLOW)

    def _unknown(self, H: Array) -> float:
        """What agreements leave open of the decrement."""
        open_ = 3 * self.tol * float(np.abs(H).max(initial=0.0)) + self.absolute
        return 4 * open_**2 * float(np.trace(_inverse(H)))

    def is_top(self, sums: Array) -> bool:
        """Whether the point where the others say that it ends may be the maximum. After a last step the decrement is
        far below ``SMALL``, or what agreements leave open: no two honest parties can differ on it."""
        _, g, H = unpacked(sums, len(self.point))
        return abs(float(g @ _solved(H, g))) <= max(SMALL, 100 * len(g) * self._unknown(H))


def untold(H: Array, tol: float, absolute: float) -> tuple[Array, Array]:
    """Per parameter whether the information has nothing on it, and whether it hangs on others: to the precision of an
    agreement, 0 or 1."""
    k = len(H)
    error, size = _error(H, tol, absolute), np.diag(H)
    flat = size * RIGHT <= error
    if flat.any() or not k:
        return flat.astype(float), np.zeros(k)
    values, vectors = np.linalg.eigh(H / np.sqrt(np.outer(size, size)))
    if values[0] * RIGHT > error * float((1 / size).sum()):
        return np.zeros(k), np.zeros(k)
    share = np.abs(vectors[:, 0])
    return np.zeros(k), (share > 0.1 * share.max()).astype(float)


def _error(sums: Array, tol: float, absolute: float) -> float:
    """What an agreement leaves open of a number."""
    return 10 * tol * float(np.abs(sums).max(initial=0.0)) + absolute


def _solved(H: Array, g: Array) -> Array:
    try:
        step = np.linalg.solve(H, g)
    except np.linalg.LinAlgError:  # far from where opinions differ: everybody flags it
        return np.zeros_like(g)
    return np.asarray(step, dtype=np.float64) if np.isfinite(step).all() else np.zeros_like(g)


def _inverse(H: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(H))
    except np.linalg.LinAlgError:
        return np.zeros_like(H)
