"""One exact sum after another: what every statistic is made of."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ParamSpec

import numpy as np

from ..data.rows import Rows
from ..errors import InvalidInput, PeerError, Undetermined
from ..network import Network
from ..pdmm.result import Status
from ..sums import Beyond, NeededUnits, Ring, Traffic, Whole, summed
from .fewer_digits import Digits, Ends

P = ParamSpec("P")

UNIT = Fraction(1, 10**9)  # on the network, of a column that has neither unit nor range
FINEST, COARSEST = Fraction(1, 10**70), Fraction(10**50)  # units of columns: float64 has squares of squares of these
COUNTS, NUMBERS = Ring(64), Ring(256)  # of 2^40 rows at 2^16 parties; terms below 2^62, and products of three

Made = tuple[
    Status, int, dict[str, int] | None, dict[str, tuple[str, ...]] | None, Digits, tuple["Shown", ...], str | None,
    Network | None, Traffic | None,
]  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """What one agreement showed, summed up over every honest component.

    Attributes
    ----------
    of : str
        What the sums are of.
    numbers : int
        How many sums.
    counts : tuple of int, optional
        The totals over all parties of those that count rows.
    iterate : bool
        Whether it is a step on the way to the answer, and not the answer itself.
    """

    of: str
    numbers: int
    counts: tuple[int, ...] | None = None
    iterate: bool = False


class Objected(Undetermined):
    """Some party could not contribute: all parties end, or take a shorter step, and nobody learns whose rows it was."""

    def __init__(self) -> None:
        super().__init__(
            "the rows of some party lead to numbers that are not finite, or larger than exact sums hold. Look for "
            "outliers, give columns narrower ranges, or take another model."
        )


class Agreements(ABC):
    """The agreements of one statistic among ``parties``, as a program sees them that holds the rows of the ``local``
    ones (numbers or names): all in a simulation, a single one in a network. Every agreement has pads of its own."""

    def __init__(self, parties: int, local: Sequence[int | str]) -> None:
        self.parties, self.local = parties, local
        self.dropped: dict[str, int] | None = None  # what missing values cost, once that is agreed on
        self.empty_levels: dict[str, tuple[str, ...]] | None = None  # that were left out, once that is agreed on
        self.columns: tuple[str, ...] = ()  # of the rows, for sentences, where a table has names for them
        self.ends: Ends | None = None  # of the columns of rows, where sums have fewer digits: see ``fewer_digits``
        self.shown: list[Shown] = []
        self.ledger: str | None = None  # what the ledgers of the local parties say of this release
        self.network: Network | None = None  # where somebody knows all of it
        self.traffic: Traffic | None = None  # where somebody sees all of it

    @property
    def made(self) -> Made:
        """The common fields of a ``Statistic``."""
        digits: Digits = "full" if self.ends is None else "statistical"
        ended = tuple(self.shown), self.ledger, self.network, self.traffic
        return Status.CONVERGED, self.parties, self.dropped, self.empty_levels, digits, *ended

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
        """Sums over all parties, exact and equal at every party to the bit; ``Objected`` where some party objects.

        ``own``: for each local party its integers ``(k,)``; None of one that objects, as its terms are ``Beyond``.
        ``of``: what the sums are of, for people. ``counts``: whether all count rows, or how many do, the first ones.
        ``iterate``: whether they are of a step on the way to the answer. ``size``: ``k``, for a network's only local
        party, which sends as many numbers as the others where it objects.

        An objection rides along as one more number, 0 or uniform on the ring: its total tells whether somebody objects,
        and nothing of who or of how many.
        """
        assert size or any(integers is not None for integers in own), "an objection must be as long as other numbers"
        ring = COUNTS if counts is True else NUMBERS
        k = next((len(integers) for integers in own if integers is not None), size)
        sent = [self._with_objection(integers, k, ring) for integers in own]
        counted = k if counts is True else int(counts)
        total = self.add_up(sent, ring, counted)
        if total[-1]:
            raise Objected
        total = total[:-1]
        if any(total[:counted] < 0):
            raise PeerError("a count of rows of all parties is negative: a party has not kept to the protocol.")
        self.shown.append(Shown(of, k, tuple(total[:counted].tolist()) if counted else None, iterate))
        return total

    def objection(self, ring: Ring) -> int:
        """A number that is uniform on the ring: what a party sends that objects to the agreement under way."""
        return int.from_bytes(os.urandom(ring.bits // 8), "little")

    def _with_objection(self, integers: Whole | Sequence[int] | None, k: int, ring: Ring) -> Whole:
        """What a party sends: its integers and 0, or in their place zeros and a number that is uniform on the ring."""
        sent = np.zeros(k + 1, object)
        reach = ring.largest // self.parties
        if integers is None or any(abs(value) > reach for value in integers):
            sent[k] = self.objection(ring)
        else:
            sent[:k] = integers
        return sent


def unless_beyond(compute: Callable[P, Whole], *arguments: P.args, **options: P.kwargs) -> Whole | None:
    """What a party computes of its rows, or None where a number is beyond what integers hold: it objects."""
    try:
        return compute(*arguments, **options)
    except Beyond:
        return None


class SimulatedAgreements(Agreements):
    """All parties in one process: sums travel over a spanning tree of the network, under pads on all of its edges."""

    def __init__(self, network: Network) -> None:
        super().__init__(network.n, [network.name(i) for i in range(network.n)])
        self.network, self.traffic = network, Traffic()
        self._tree = network.spanning_tree()

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        """In a simulation all rows are at hand: the units that they need."""
        return _needed(self.columns, rows, declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        assert self.network is not None
        assert self.traffic is not None
        return summed(self.network, self._tree, own, ring, self.traffic)


class PooledAgreements(Agreements):
    """Sums of rows that lie in one place: what exact sums of parties must come to, without a network or pads."""

    def __init__(self, parties: int) -> None:
        super().__init__(parties, list(range(parties)))

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        return _needed(self.columns, rows, declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        return np.asarray(sum(own))


def _needed(columns: Sequence[str], rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
    """Declared units, and in the place of None what all rows need."""
    if all(unit is not None for unit in declared):
        return tuple(unit for unit in declared if unit is not None)
    needed = NeededUnits(len(declared))
    for part in rows:
        needed.merge(part.needed_units())
    units = tuple(b if a is None else a for a, b in zip(declared, needed.units, strict=True))
    check_units(columns or [f"x{place}" for place in range(len(units))], units)
    return units


def check_units(columns: Sequence[str], units: Sequence[Fraction | None]) -> None:
    """Refuse columns of numbers so small or large that products of them would be 0 in float64, or infinite."""
    for name, unit in zip(columns, units, strict=True):
        if unit is not None and not FINEST <= unit <= COARSEST:
            size = "small" if unit < FINEST else "large"
            told = Decimal(unit.numerator) / Decimal(unit.denominator)
            raise InvalidInput(
                f"column {name!r} has the unit {told:.1e}: what is made of such numbers is too {size} for float64. "
                f"Give it in units from {float(FINEST):.0e} to {float(COARSEST):.0e}."
            )
