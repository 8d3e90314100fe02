"""What an answer gives away, besides itself: which sums were shown, of which groups, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, Unsupported
from ..files.html_table import html_table
from ..network import Network
from .agreements import Shown

if TYPE_CHECKING:
    from .statistic import Statistic

MIN_CELL = 5  # 3, 5, 10 and 11 are all in use
ROWS_PER_PARAMETER = 10
LISTED = 8  # small counts, before a sentence says how many there are
BEFORE_ANYBODY = "a secure sum shows a small total to the parties before anybody can suppress it"


@dataclass(frozen=True)
class Disclosure:
    """What the agreements of a statistic showed: every number is a sum over each group of honest parties that corrupt
    ones leave together, and over all parties if nobody is corrupt.

    Attributes
    ----------
    parties : int
        How many there are.
    shown : tuple of Shown
        What each agreement was on: ``of`` what, how many ``numbers``, ``counts`` where some count rows, and whether it
        was an ``iterate``, a step on the way. Empty in what is read from a file.
    group : int or None
        How many parties the smallest group has that one corrupt party leaves; None where the network is not known.
    iterates : int
        How many of the numbers were of steps on the way to the answer.
    excess : int
        The algorithmic excess: how many numbers of the rows the iterates tell beyond the answer, at most.
    parameters, rows : int or None
        Of a model, and of all parties.
    determined_rows : int or None
        Of a model: rows of a group so small may follow from what was shown, covariate by covariate; by counting, those
        of no larger one do. None where no covariate is a number.
    min_cell : int
        Counts below are small.
    small_cells : dict
        The agreed counts from 1 to ``min_cell - 1``, by what they are of.
    ledger : str or None
        What a party's own ledger of earlier answers says of this one, where it has one.

    Examples
    --------
    >>> import sottovoce as sv
    >>> counted = sv.private_histogram(sv.Network.ring(4), [[1.0], [1.5, 7.0], [2.5], [2.0]], bins=[0, 5, 10])
    >>> found = counted.disclosure
    >>> found.group, found.excess, found.small_cells
    (3, 0, {'rows in each bin': (4, 1)})
    """

    parties: int
    shown: tuple[Shown, ...]
    group: int | None = None
    iterates: int = 0
    excess: int = 0
    parameters: int | None = None
    rows: int | None = None
    determined_rows: int | None = None
    min_cell: int = MIN_CELL
    small_cells: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ledger: str | None = None

    @property
    def reals(self) -> int:
        """How many other sums were shown."""
        return sum(each.numbers - len(each.counts or ()) for each in self.shown)

    @property
    def counts(self) -> int:
        """How many exact counts of rows were shown."""
        return sum(len(each.counts or ()) for each in self.shown)

    @property
    def enough_rows(self) -> bool | None:
        """Whether a model has ten rows per parameter, of all parties together; a group's own are a matter of policy."""
        if self.parameters is None or self.rows is None:
            return None
        return self.rows >= ROWS_PER_PARAMETER * self.parameters

    def summary(self) -> str:
        """One paragraph in plain words."""
        if not self.shown:
            return "What was shown is not known here: no agreement is recorded."
        told = [self._sums(), self._groups(), self._on_the_way(), self._of_a_model()]
        if self.small_cells:
            small = "; ".join(f"{of}: {_listed(counts)}" for of, counts in self.small_cells.items())
            told.append(f"Counts below {self.min_cell} ({small}): {BEFORE_ANYBODY}.")
        if self.ledger is not None:
            told.append(f"The ledger: {self.ledger.rstrip('.')}.")
        return " ".join(filter(None, told))

    def _sums(self) -> str:
        kinds = [_many(self.reals, "real number")] * (self.reals > 0)
        kinds += [_many(self.counts, "exact count")] * (self.counts > 0)
        return f"{_many(len(self.shown), 'agreement')} showed {' and '.join(kinds) or 'nothing'}."

    def _groups(self) -> str:
        each = "Each is a sum over every group of honest parties"
        if self.group is None:
            return f"{each}; how small one can be depends on the network, which is not known here."
        if self.group == 1:
            return f"{each}, and one corrupt party can leave a single party alone, whose own sums it learns then."
        return f"{each}; one corrupt party leaves no group below {self.group} of {self.parties} parties."

    def _on_the_way(self) -> str:
        if not self.iterates:
            return "None of them is of a step on the way to the answer: there is no algorithmic excess."
        return (
            f"{_many(self.iterates, 'number')} of them {'is' if self.iterates == 1 else 'are'} of steps on the way to "
            f"the answer, which tell up to {_many(self.excess, 'number')} of the rows beyond it (algorithmic excess)."
        )

    def _of_a_model(self) -> str:
        if self.parameters is None or self.rows is None:
            return ""
        rows, few = f"{self.rows:,} rows for {_many(self.parameters, 'parameter')}", ROWS_PER_PARAMETER
        verdict = f"{rows} are {few} or more of each." if self.enough_rows else f"{rows} are fewer than {few} of each."
        if self.determined_rows is None:
            return verdict
        return (
            f"The covariates of a group of up to {_many(self.determined_rows, 'row')} may follow from them; there are "
            f"too few numbers to determine those of a larger one. {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words, for JSON: the fields above, ``shown`` without its counts, which are in the
        answer, ``enough_rows``, and under ``words`` the summary."""
        shown = [
            {"of": each.of, "numbers": each.numbers, "counts": len(each.counts or ()), "iterate": each.iterate}
            for each in self.shown
        ]
        small = {of: list(counts) for of, counts in self.small_cells.items()}
        names = ("parties", "group", "iterates", "excess", "parameters", "rows", "determined_rows", "enough_rows")
        told = {name: getattr(self, name) for name in names}
        return {
            "shown": shown, **told, "min_cell": self.min_cell, "small_cells": small, "ledger": self.ledger,
            "words": self.summary(),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        rows = [
            (each.of, each.numbers, len(each.counts or ()) or "", "on the way" if each.iterate else "")
            for each in self.shown
        ]
        header = ("sums of", "numbers", "of which count rows", "step") if rows else None
        return f"<p>{escape(self.summary())}</p>\n{html_table(rows, header)}"


def disclosure_of(statistic: Statistic, *, network: Network | None = None, min_cell: int = MIN_CELL) -> Disclosure:
    """What a statistic gave away; the ``network`` is that of its simulation unless given."""
    if network is None:
        network = statistic.network
    shown = statistic.shown
    iterates = sum(each.numbers for each in shown if each.iterate)
    parameters = rows = determined = None
    excess, size = iterates, statistic._model_size()
    if size is not None:
        parameters, covariates, rows = map(int, size)
        reals = sum(each.numbers - len(each.counts or ()) for each in shown)
        if covariates and reals:  # by counting: see algorithmic_excess
            determined, excess = reals // covariates, min(iterates, rows * covariates)
    group = None if network is None else smallest_group(network)
    small = small_cells(shown, min_cell)
    return Disclosure(
        statistic.parties, shown, group, iterates, excess, parameters, rows, determined, min_cell, small,
        statistic.ledger,
    )  # fmt: skip


def small_cells(shown: Iterable[Shown], min_cell: int) -> dict[str, tuple[int, ...]]:
    """Agreed counts of rows from 1 to ``min_cell - 1``, by what they are of. Nobody is in a cell of 0."""
    if isinstance(min_cell, bool) or not isinstance(min_cell, int) or min_cell < 1:
        raise InvalidInput(f"min_cell must be an integer >= 1, such as 5; got {min_cell!r}.")
    found: dict[str, tuple[int, ...]] = {}
    for each in shown:
        small = tuple(count for count in each.counts or () if 0 < count < min_cell)
        if small:
            found[each.of] = found.get(each.of, ()) + small
    return found


def smallest_group(network: Network) -> int | None:
    """How many parties the smallest group has that one corrupt party leaves; None for a network without consensus."""
    from ..privacy.adversary import Worst  # the auditor is loaded when it is asked
    from ..privacy.exposure import exposure

    try:
        found = exposure(network, Worst(1))
        if found.articulation and not any(found.group):  # the smaller part of what it cuts is at most half
            found = exposure(network, Worst(1), largest=max(1, network.n // 2))
    except Unsupported:
        return None
    return min((size for size in found.group if size is not None), default=network.n - 1)


def _many(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def _listed(counts: tuple[int, ...]) -> str:
    if len(counts) <= LISTED:
        return ", ".join(map(str, counts))
    return f"{len(counts):,} of them, from {min(counts)} to {max(counts)}"
