"""One private agreement after another: what every statistic is made of."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..costs.base import Array
from ..data.rows import Rows
from ..errors import InvalidInput, NotConverged, PeerError, Undetermined
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.hiding import is_hidden, said
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import Integers, ModularMask, check_seed
from ..pdmm.overlay import AskedOverlay, settled_overlay
from ..pdmm.penalties import AskedPenalty
from ..pdmm.problem import Problem
from ..pdmm.recorders import Recorder
from ..pdmm.result import Result, Status
from ..pdmm.schedules import Schedule
from ..pdmm.solve import solve
from ..sums import Beyond, NeededUnits, Ring, Traffic, Whole, summed

DEFAULT_MASK = GaussianMask(variance=1e8)
BLOCK = 2**20  # numbers on the half-edges that are averaged at a time: some 100 MB, in the copies that a run makes


UNIT = Fraction(1, 10**9)  # on the network, of a column that has neither unit nor range
COUNTS, NUMBERS = Ring(64), Ring(256)  # of 2^40 rows at 2^16 parties; terms below 2^62, and products of three
Masks = tuple[GaussianMask | ModularMask, ...]


@dataclass(frozen=True)
class Shown:
    """What one agreement showed, summed up over every honest component.

    Attributes
    ----------
    of : str
        What the sums are of.
    numbers : int
        How many sums, without votes.
    counts : tuple of int, optional
        The totals over all parties of those that count rows.
    iterate : bool
        Whether it is a step on the way to the answer, and not the answer itself.
    votes : int
        How many other numbers rode along that tell nothing of the rows: votes on what to do next, and numbers that
        follow from the sums before.
    """

    of: str
    numbers: int
    counts: tuple[int, ...] | None = None
    iterate: bool = False
    votes: int = 0

    @property
    def is_public(self) -> bool:
        """Whether it tells nothing of the rows that was not known before."""
        return not self.numbers


Made = tuple[
    Status,
    int,
    tuple[Result, ...],
    tuple[Problem, ...],
    Masks,
    dict[str, int] | None,
    tuple[Shown, ...],
    str | None,
    Network | None,
    Traffic | None,
]


class Objected(Undetermined):
    """Some party could not contribute: all parties end, or take a shorter step, and nobody learns whose rows it was."""

    def __init__(self) -> None:
        super().__init__(
            "the rows of some party lead to numbers that are not finite, or larger than exact sums hold. Look for "
            "outliers, give columns narrower ranges, or take another model."
        )


class Agreements(ABC):
    """The agreements of one statistic among ``parties``, as a program sees them that holds the rows of the ``local``
    ones: all of them in a simulation, a single one in a network. Every agreement has pads of its own: a pad used twice
    is no pad.

    ``local``: what those parties are called, a number or a name each. ``tol``: an agreed mean is right to about
    ``3 tol`` times the largest contribution, or to ``resolution(mask)`` where that is larger. In a network
    contributions below 1 count as 1: parties that measured against their own numbers would show how large those are.
    """

    def __init__(self, parties: int, local: Sequence[int | str], tol: float) -> None:
        self.parties, self.local, self.tol = parties, local, tol
        self.problems: list[Problem] = []  # stays empty where nobody holds all contributions
        self.masks: list[GaussianMask | ModularMask] = []
        self.runs: list[Result] = []
        self.dropped: dict[str, int] | None = None  # what missing values cost, once that is agreed on
        self.shown: list[Shown] = []
        self.ledger: str | None = None  # what the ledgers of the local parties say of this release
        self.network: Network | None = None  # where somebody knows all of it
        self.traffic: Traffic | None = None  # of exact sums, where somebody sees all of it

    @property
    def made(self) -> Made:
        """The common fields of a ``Statistic``."""
        played = tuple(self.runs), tuple(self.problems), tuple(self.masks)
        status = self.runs[-1].status if self.runs else Status.CONVERGED
        ended = self.dropped, tuple(self.shown), self.ledger, self.network, self.traffic
        return status, self.parties, *played, *ended

    @abstractmethod
    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        """The sums ``(k,)`` over all parties of the integers of the local ones: exact, and equal at every party.
        ``rows_counted``: how many of them, the first ones, are counts of rows."""

    @abstractmethod
    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        """Public units of the columns of the rows, where some were declared for none."""

    def sum(
        self,
        own: Sequence[Whole | Sequence[int] | None],
        *,
        of: str,
        counts: bool | int = False,
        iterate: bool = False,
        size: int = 0,
    ) -> Whole:
        """Sums over all parties, exact and equal at every party to the bit.

        Parameters
        ----------
        own : sequence
            For each local party its integers ``(k,)``; None of a party that objects, as its terms are ``Beyond``.
        of : str
            What the sums are of, for people.
        counts : bool or int
            Whether all of them count rows; or how many do, the first ones.
        iterate : bool
            Whether they are of a step on the way to the answer.
        size : int
            ``k``, for a network's only local party, which sends as many numbers as the others where it objects.

        Raises
        ------
        Objected
            Some party objects. An objection rides along as one more number, 0 or uniform on the ring: its total tells
            whether somebody objects, and nothing of who or of how many.
        """
        ring = COUNTS if counts is True else NUMBERS
        k = next((len(integers) for integers in own if integers is not None), size)
        sent = [_with_objection(integers, k, ring, self.parties) for integers in own]
        counted = k if counts is True else int(counts)
        total = self.add_up(sent, ring, counted)
        if total[-1]:
            raise Objected
        total = total[:-1]
        if any(total[:counted] < 0):
            raise PeerError("a count of rows of all parties is negative: a party has not kept to the protocol.")
        self.shown.append(Shown(of, k, tuple(total[:counted].tolist()) if counted else None, iterate))
        return total

    @abstractmethod
    def agree(self, contributions: Array, mask: GaussianMask | ModularMask) -> Result:
        """One run of private averaging on ``(local, p)`` numbers, whole ones under a ``ModularMask``. ``x`` of the
        result is ``(local, p)``, the mean over all parties as each local one holds it; exact, ``sum / n`` rounded to
        float64, under a ``ModularMask``. A run that did not converge says so in its status, and raises nothing."""

    def mean(
        self,
        contributions: Array,
        mask: GaussianMask,
        degree: int = 1,
        *,
        of: str = "",
        iterate: bool = False,
        votes: int = 0,
    ) -> Array:
        """The mean over the parties of ``(local, p)`` real numbers: a row is what a local party holds at the end.
        ``degree``: 1 for sums of values, 2 for sums of squares and products, which may be larger, and 0 for what a
        model makes of them, which is as large as the mask hides. ``of``, ``iterate``, ``votes``: see ``Shown``."""
        q = 2 * np.abs(contributions).max(axis=1, initial=0.0)
        is_hidden(float(q.max()), mask, f"party {self.local[int(q.argmax())]}", stacklevel=5)
        # A public number rides along: against it the residual is measured where the contributions are smaller than
        # what rounding resolves to tol (the residuals of a perfect fit), and could not converge against themselves.
        floor = resolution(mask) / (3 * self.tol) if self.tol else 1.0
        agreed = self._agreed(np.column_stack([contributions, np.full(len(contributions), floor)]), mask)[:, :-1]
        self.shown.append(Shown(of, contributions.shape[1] - votes, None, iterate, votes))
        return agreed

    def mean_together(self, contributions: Array, mask: GaussianMask, *, of: str, votes: int = 0) -> Array:
        """``mean`` of what a model makes of values, where no public number says how large that can be: a party whose
        numbers are larger than an agreement carries sends zeros and a vote, and all refuse with one sentence. One that
        refused alone would show whose they are."""
        largest = votable(self, mask)
        beyond = ~(np.abs(contributions) <= largest).all(axis=1, keepdims=True)  # NaN is beyond as well
        own = np.column_stack([np.where(beyond, 0.0, contributions), beyond])
        agreed = self.mean(own, mask, degree=0, of=of, votes=votes + 1)
        if np.rint(self.parties * agreed[0, -1]):
            raise Undetermined(
                f"the {of} of a party are larger than an agreement carries: some rows are far from what the model says "
                "of them. Look for outliers, or use a larger variance of the mask."
            )
        return agreed[:, :-1]

    def total(
        self,
        counts: Integers,
        mask: ModularMask,
        *,
        of_rows: bool = True,
        of: str = "",
        iterate: bool = False,
        votes: int = 0,
    ) -> Integers:
        """The exact sums ``(p,)`` over the parties of ``(local, p)`` counts. ``of_rows``: whether they count all rows
        of a party, once or more. ``of``, ``iterate``: see ``Shown``; the last ``votes`` of them count no rows."""
        means = self._agreed(counts.astype(np.float64), mask)
        total = np.asarray(np.rint(self.parties * means[0]), dtype=np.int64)
        cells = total[: len(total) - votes]
        self.shown.append(Shown(of, len(cells), tuple(cells.tolist()), iterate, votes))
        return total

    def _agreed(self, contributions: Array, mask: GaussianMask | ModularMask) -> Array:
        run = self.agree(contributions, mask)
        self.masks.append(mask)
        self.runs.append(run)
        if run.status is not Status.CONVERGED:
            raise NotConverged(f"run {len(self.runs)} ended as {run.status.value}.")
        return np.asarray(run.x)


def unless_beyond(compute: Callable[[], Whole]) -> Whole | None:
    """What a party computes of its rows, or None where a number is beyond what integers hold: it objects."""
    try:
        return compute()
    except Beyond:
        return None


def _with_objection(integers: Whole | Sequence[int] | None, k: int, ring: Ring, parties: int) -> Whole:
    """What a party sends: its integers and 0, or in their place zeros and a number that is uniform on the ring."""
    sent = np.zeros(k + 1, object)
    reach = ring.largest // parties
    if integers is None or any(abs(value) > reach for value in integers):
        sent[k] = int.from_bytes(os.urandom(ring.bits // 8), "little")
    else:
        sent[:k] = integers
    return sent


@dataclass(frozen=True)
class Simulation:
    """Where and how the runs of a statistic are played: what ``sv.solve`` is told of every one of them."""

    network: Network
    overlay: AskedOverlay = "tree"
    schedule: Schedule | None = None
    seed: int | None = None
    tol: float = 1e-9
    max_iter: int | None = None
    max_rounds: int | None = None
    progress: bool | None = None
    record: tuple[Recorder, ...] = ()
    record_every: int = 1

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)

    def seed_of(self, k: int, block: int) -> int | None:
        """Every block of run ``k`` has a seed of its own, where there is one: a pad used twice is no pad."""
        if self.seed is None:
            return None
        entropy = [int(self.seed), k, block] if block else [int(self.seed), k]
        return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])


class SimulatedAgreements(Agreements):
    """All parties in one process: an agreement is a run of ``sv.solve``. ``problems[k]`` is what run ``k`` solved.

    Columns are averaged side by side and know nothing of each other, so an agreement on very many is played in blocks
    of ``BLOCK``: memory is that of one block. ``runs[k]`` is then about the longest of them. ``z`` is not kept.
    """

    def __init__(self, play: Network | Simulation) -> None:
        simulation = Simulation(play) if isinstance(play, Network) else play
        network = simulation.network
        super().__init__(network.n, [network.name(i) for i in range(network.n)], simulation.tol)
        self.simulation, self.overlay = simulation, settled_overlay(network, simulation.overlay)
        self.network, self.traffic = network, Traffic()
        self._tree = None if self.overlay is None else self.overlay.tree

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        """In a simulation all rows are at hand: the units that they need."""
        return _needed(rows, declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        network = self.simulation.network
        self._tree = self._tree or network.spanning_tree()
        assert self.traffic is not None
        return summed(network, self._tree, own, ring, self.traffic)

    def agree(self, contributions: Array, mask: GaussianMask | ModularMask) -> Result:
        network, columns = self.simulation.network, contributions.shape[1]
        self.problems.append(averaging(network, contributions))
        rides = int(isinstance(mask, GaussianMask))  # the public number of ``mean``, in every block
        width = max(1, BLOCK // (2 * network.m))
        x = np.full((network.n, columns), np.nan)
        blocks: list[Result] = []
        for first in range(0, max(1, columns - rides), width):
            if columns - rides <= width:
                at, problem = np.arange(columns), self.problems[-1]
            else:
                at = np.append(
                    np.arange(first, min(first + width, columns - rides)), np.arange(columns - rides, columns)
                )
                problem = averaging(network, contributions[:, at])
            blocks.append(self._run(problem, mask, blocks))
            x[:, at] = blocks[-1].x
            if blocks[-1].status is not Status.CONVERGED:
                break  # the others are lost with it
        longest = max(blocks, key=lambda run: (run.status is not Status.CONVERGED, run.iterations))
        seconds = sum(run.wall_time for run in blocks)
        residual = max(run.residual for run in blocks)
        return replace(longest, x=x, residual=residual, wall_time=seconds, problem=self.problems[-1])

    def _run(self, problem: Problem, mask: GaussianMask | ModularMask, blocks: list[Result]) -> Result:
        play = self.simulation
        # One network and one curvature: what was tuned for the first run serves them all.
        first = next(iter([*self.runs, *blocks]), None)
        c: AskedPenalty = "auto" if first is None else first.c
        theta = None if first is None else first.theta
        seed = play.seed_of(len(self.runs), len(blocks))
        with said():  # by `mean`, which knows that the public number needs no hiding
            run = solve(
                problem, mask=mask, seed=seed, c=c, theta=theta, overlay=self.overlay,
                schedule=play.schedule, tol=play.tol, max_iter=play.max_iter, max_rounds=play.max_rounds,
                progress=play.progress, record=play.record, record_every=play.record_every,
            )  # fmt: skip
        return replace(run, z=None, problem=None)  # large, both; ``agree`` knows the problem, and nobody asks for z


class PooledAgreements(Agreements):
    """Sums of rows that lie in one place: what exact sums of parties must come to, without a network or pads."""

    def __init__(self, parties: int) -> None:
        super().__init__(parties, list(range(parties)), 0.0)

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        return _needed(rows, declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        return np.asarray(sum(own))

    def agree(self, contributions: Array, mask: GaussianMask | ModularMask) -> Result:
        raise NotImplementedError


def _needed(rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
    """Declared units, and in the place of None what all rows need."""
    if all(unit is not None for unit in declared):
        return tuple(unit for unit in declared if unit is not None)
    needed = NeededUnits(len(declared))
    for part in rows:
        needed.merge(part.needed_units())
    return tuple(b if a is None else a for a, b in zip(declared, needed.units, strict=True))


def resolution(mask: GaussianMask) -> float:
    """What rounding leaves open in an agreed number: pads and data are rounded to ``mask.grid``, and a path of 1,000
    nodes, a bad case, loses another factor of 3. 3e-10 for the default mask."""
    return 12 * mask.grid


def carried(parties: int, mask: GaussianMask) -> float:
    """The largest number that a model lets a party contribute. No range of the data tells how large score, information
    and objective can get, so it is what the mask hides well, or 25 times the mean over all rows of a party that has
    nearly all of them, where that is more."""
    return max(mask.hides / 2, 25.0 * parties)


def votable(agreements: Agreements, mask: GaussianMask) -> float:
    """The same, where votes must keep their digits beside it."""
    largest, tol = carried(agreements.parties, mask), agreements.tol
    return min(largest, 0.01 / (agreements.parties * tol)) if tol else largest


def check_mask(mask: GaussianMask | ModularMask, family: type[GaussianMask] | type[ModularMask]) -> None:
    """Gaussian pads are for real numbers, modular ones for counts; without a mask nothing is private."""
    if not isinstance(mask, family):
        example = "sv.GaussianMask(variance=1e8)" if family is GaussianMask else "sv.ModularMask()"
        raise InvalidInput(
            f"mask must be a {family.__name__} here, such as {example}; got {mask!r}. "
            "GaussianMask hides real numbers, ModularMask integers; for a run that hides nothing use sv.solve."
        )
