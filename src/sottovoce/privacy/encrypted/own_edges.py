"""Encrypted channels: what a coalition learns from its own edges, exactly where that is known, else between two bounds.

Its view is part of what open channels show, so two facts decide most cases without any rounding:

* Ranks modulo a prime (``run_modulo_prime``). Where the view has the rank of the open one it *is* the open one, and
  the closed form holds. With ``theta = 1`` and one node awake at a time the first wake on an edge overwrites one of
  its pads unread: then a whole transcript is at most the open one with pads of twice the variance on edges with
  messages (theory: Encrypted channels), and equal to it where the rank is.
* Where the directions that were not seen are simple fractions (symmetric parts of a network, say), they are known.

Else the functionals are taken as floats. Those that are not faint are a lower bound, and all there is if their number
is the rank; open channels are an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...costs.base import Array
from ...pdmm.overlay import Overlay
from ...pdmm.penalties import Penalty
from ...pdmm.progress import tell
from ...pdmm.schedules import Schedule
from ..methods.closed_form import OpenView
from ..methods.elimination import Elimination, Heard
from ..methods.leaks import Leaks, Viewed
from ..methods.secrets_and_prior import Secrets
from ..methods.unseen_directions import Unseen
from .behind_pads import BehindPads, is_even
from .prime_field import PRIMES, Span, kernel
from .run_modulo_prime import FieldRun

FAINT = 1e-6  # functionals of unit unknowns above this are right to 1e-10 in direction
ROUNDS = 1_000  # in which a whole transcript must have shown all
CHECK = 1e-9  # nats, and relative: by which rounding may exceed a bound
PATIENCE = 5  # rounds without anything new, before it is asked whether anything new can come
SAME = "closed form: the coalition's edges show all that open channels would"
HALF = "closed form: one pad of every edge is overwritten unread"
UNSEEN = "linear-Gaussian, ranks modulo a prime"
BETWEEN = "from what is not faint on the coalition's edges to what open channels show"


@dataclass(frozen=True, eq=False)
class Between:
    """A view that shows at least what ``low`` does, and at most what ``high`` does; ``certain`` if ``low`` is all."""

    low: Unseen
    high: OpenView | Elimination
    certain: bool

    def leaks(self, variance: float) -> Leaks:
        """What is seen for certain, or the upper ends with the lower ones beside them.

        The latter also where a certain view would show more than open channels do: then something is wrong with it.
        """
        high, low = self.high.leaks(variance), self.low.leaks(variance)
        pairs = [(getattr(low, name), getattr(high, name)) for name in ("leakage", "floor", "excess")]
        honest = np.setdiff1d(np.arange(self.low.secrets.n), list(self.low.corrupt))
        # A number that is no number is wrong, too.
        if self.certain and all((less <= more + CHECK * (1 + more))[honest].all() for less, more in pairs):
            return low
        leakage, floor, excess = (np.minimum(less, more) for less, more in pairs)
        return replace(high, least=Leaks(leakage, floor, excess, np.maximum(low.std, high.std)))


@dataclass(frozen=True, eq=False)
class EncryptedRun:
    """How a run goes, and who in it is corrupt."""

    secrets: Secrets
    schedule: Schedule
    corrupt: frozenset[int]
    theta: float
    c: Penalty
    seed: int
    overlay: Overlay | None = None
    factor: Array | None = None  # of pads that are not independent, see ``Unseen``; no columns where there are none

    @property
    def masked(self) -> bool:
        return self.factor is None or self.factor.shape[1] > 0

    def modulo(self, p: int) -> FieldRun:
        """The run over a prime field, before its first iteration."""
        how = {"theta": self.theta, "c": self.c, "seed": self.seed, "masked": self.masked, "overlay": self.overlay}
        return FieldRun(self.secrets, self.schedule, corrupt=self.corrupt, p=p, **how)  # type: ignore[arg-type]

    def view(self, iterations: int | None) -> Viewed:
        """What is seen of so many iterations, or of an endless run: a view, its method, and what its numbers are."""
        run = self.modulo(PRIMES[0])
        settled = True
        if iterations is None:
            settled = self.play_out(run)
        else:
            run.play(iterations)

        def functionals() -> Array:
            tell("once more, in floats")
            return loud(self, run.iteration)

        def learned(p: int) -> Span:
            tell("once more, modulo another prime")
            twin = self.modulo(p)
            twin.play(run.iteration)
            return twin.learned

        half = iterations is None and overwrites(self.schedule, self.theta)
        return decided(self, run, settled, half, functionals, learned)

    def play_out(self, run: FieldRun) -> bool:
        """Play until nothing new can come; whether that is certain."""
        network = run.problem.network
        a_round, most = self.schedule.round(network), run.opened(np.ones(network.n, dtype=bool))
        if overwrites(self.schedule, self.theta):
            most -= len(run.pads)
        at_once = self.schedule.mu(network) == 1
        wait, last = PATIENCE, 0
        for played in range(1, ROUNDS + 1):
            before = run.learned.rank
            run.play(a_round)
            tell(f"{run.learned.rank:,} of {most:,} numbers that the coalition's edges may show")
            if run.learned.rank == most:
                return True
            if run.learned.rank > before or not run.woken[run.honest].all():
                last = played
            elif at_once:
                return True  # one map moves the state: what it does not show at once it never shows
            elif played - last >= wait and not self.schedule.late:
                if run.shown():
                    return True
                wait, last = 2 * wait, played
        return False


def overwrites(schedule: Schedule, theta: float) -> bool:
    """Whether the first wake on an edge replaces one of its pads before anybody has read it
    (theory: Encrypted channels)."""
    return theta == 1 and schedule.one_at_a_time


def decided(
    how: EncryptedRun,
    run: FieldRun,
    settled: bool,
    half: bool,
    functionals: Callable[[], Array],
    learned: Callable[[int], Span],
) -> Viewed:
    """The view of a run that has been played modulo a prime: as a closed form, as directions, or between two bounds.

    ``functionals`` are those that were seen, as floats; ``learned`` is what they span modulo another prime.
    """
    rank, most, correlated = run.learned.rank, run.opened(run.woken), how.masked and how.factor is not None
    high: OpenView | Elimination
    if correlated:  # no closed form
        high = Elimination(
            how.secrets, how.schedule, corrupt=how.corrupt, sees_all=True, theta=how.theta, c=how.c, seed=how.seed,
            pads=how.factor, overlay=how.overlay,
        )  # fmt: skip
        high.play(run.iteration)
    else:
        # Where the coalition knows every x, c cancels.
        c = 1.0 if run.woken[run.honest].all() else how.c
        high = OpenView(how.secrets, how.corrupt, run.woken, c, overlay=how.overlay, unread=half and how.masked)
        if high.unread:
            most -= len(run.pads)
        if rank == most:
            return Viewed(high, HALF if high.unread else SAME, "exact")

    def bounds(directions: Array, certain: bool) -> Between:
        who = how.secrets, how.corrupt
        if how.masked and not correlated and is_even(how.secrets):
            low: Unseen = BehindPads(*who, run.against(directions), run.woken, edges=run.hidden)
        else:
            low = Unseen(*who, run.directions(directions), run.woken, how.factor if correlated else None)
        return Between(low, high, certain)

    if settled and (simple := kernel(run.learned, map(learned, PRIMES[1:]))) is not None:
        return Viewed(bounds(simple, True), UNSEEN, "exact")
    _, sizes, right = np.linalg.svd(functionals())
    taken = int((sizes > FAINT).sum())
    certain = settled and taken == rank
    view = bounds(right[taken:].T, certain)
    return Viewed(view, UNSEEN, "exact") if certain else Viewed(view, BETWEEN, "between")


def loud(how: EncryptedRun, iterations: int) -> Array:
    """The functionals that the coalition's edges carry in so many iterations, as floats, with the same columns."""
    run = how.modulo(PRIMES[0])
    q, start = run.q.astype(np.float64), run.start.astype(np.float64)
    heard = Heard(run.problem, how.schedule, start, q, theta=how.theta, c=how.c, seed=how.seed)
    found, count = [np.zeros((0, q.shape[1]))], 0
    for played in range(1, iterations + 1):
        heard.advance(1)
        rows, y = heard.sent
        visible = run.seen[rows]
        found.append(y[visible])  # whose pads the coalition knows
        count += len(found[-1])
        if count > 4 * q.shape[1] or (played == iterations and count > q.shape[1]):
            found = [np.asarray(np.linalg.qr(np.vstack(found), mode="r"))]
            count = len(found[0])
    return np.vstack(found)
