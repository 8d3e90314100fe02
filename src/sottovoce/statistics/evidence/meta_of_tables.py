"""Meta-analysis of what each party estimates from its own table, or brings along."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, is_number
from ...network import Network
from ...pdmm.modular_mask import Integers
from ...pdmm.shards import whose
from ...sums import Beyond
from ..agreements import Agreements, SimulatedAgreements
from ..analysis import Analysis
from ..gone import refuse_options
from ..groups.columns import chosen_levels, level_column, levels_of, number_column
from ..shards import one_per_party
from .effects import Estimate, of_means, of_table
from .fourfold import check_columns, fourfold
from .meta_analysis import NUMBERS, STAGES, Study, meta_program
from .meta_result import MetaAnalysis

OF_MEANS = ("mean", "mean_difference")
LARGEST = 1e150  # of estimates and errors that are brought
OF_TABLES = ("log_odds_ratio", "log_risk_ratio", "risk_difference")


@dataclass(frozen=True, eq=False, kw_only=True)
class MetaAnalysisAnalysis(Analysis):
    """``effect``: what each party estimates: ``"mean"`` of ``column``; ``"mean_difference"`` of ``column`` between two
    ``levels`` of ``by``; ``"log_odds_ratio"``, ``"log_risk_ratio"`` or ``"risk_difference"`` of ``exposure`` and
    ``outcome``. ``continuity``: added to the cells of a table that has an empty one; 0 leaves such parties out."""

    effect: str = ""
    column: str | None = None
    by: str | None = None
    levels: tuple[str, ...] | None = None
    exposure: str | None = None
    outcome: str | None = None
    continuity: float = 0.5

    type: ClassVar[str] = "meta_analysis"
    gives = MetaAnalysis

    def __post_init__(self) -> None:
        if self.effect not in OF_MEANS + OF_TABLES:
            raise InvalidInput(f"effect must be one of {', '.join(OF_MEANS + OF_TABLES)}; got {self.effect!r}.")
        taken = {
            "mean": ("column",), "mean_difference": ("column", "by", "levels"),
        }.get(self.effect, ("exposure", "outcome"))  # fmt: skip
        for name in ("column", "by", "levels", "exposure", "outcome"):
            if getattr(self, name) is not None and name not in taken:
                raise InvalidInput(f"{name} has no meaning for effect {self.effect!r}. Leave it out.")
        if not (is_number(self.continuity) and 0 <= self.continuity < math.inf):
            raise InvalidInput(f"continuity must be a number >= 0; got {self.continuity!r}.")
        object.__setattr__(self, "continuity", float(self.continuity))
        if self.effect in OF_TABLES:
            check_columns(self.schema, self.exposure, self.outcome)
            return
        number_column(self.schema, self.column, "column")
        if self.effect == "mean_difference":
            levels = chosen_levels(level_column(self.schema, self.by, "by"), self.levels, "levels", 2)
            if len(levels) != 2:
                raise InvalidInput(f"levels must be two of {self.by!r}, which has {', '.join(levels)}.")
            object.__setattr__(self, "levels", levels)

    @property
    def takes_fewer_digits(self) -> bool:
        return False

    @property
    def selection(self) -> PlainColumns:
        names = (self.exposure, self.outcome) if self.effect in OF_TABLES else (self.column, self.by)
        return PlainColumns(tuple(name for name in names if name is not None))

    def estimate(self, rows: Rows, units: Sequence[Fraction]) -> Estimate | None:
        """Of one party's rows; None where they give none."""
        if self.effect in OF_MEANS:
            return of_means(rows, units[0], self._group, 1 if self.by is None else 2)
        assert self.exposure is not None
        assert self.outcome is not None
        return of_table(self.effect, fourfold(rows, self.schema, self.exposure, self.outcome), self.continuity)

    def _group(self, block: Array) -> Integers:
        """Of each row the place of its level among the two, or -1; 0 without groups."""
        if self.by is None:
            return np.zeros(len(block), np.int64)
        levels = levels_of(self.schema[self.by])
        places = np.full(len(levels), -1)
        places[[levels.index(level) for level in self.levels or ()]] = [0, 1]
        return np.asarray(places[block[:, 1].astype(np.int64)])

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MetaAnalysis:
        units = agreements.units(rows, self.units)
        nobody = f"no party has enough rows for an estimate of the {self.effect.replace('_', ' ')} and its error."
        return meta_program(agreements, [self._study(part, units) for part in rows], self._told, nobody)

    def _study(self, rows: Rows, units: Sequence[Fraction]) -> Study:
        try:
            return self.estimate(rows, units)
        except Beyond as beyond:
            return beyond

    @property
    def _told(self) -> str:
        what = self.effect.replace("_", " ")
        if self.effect == "mean":
            return f"mean of {self.column}"
        if self.levels is not None:
            return f"{what} of {self.column}, {self.levels[0]} less {self.levels[1]}"
        return f"{what} of {self.outcome} by {self.exposure}"

    @property
    def revealed(self) -> list[str]:
        return [
            "how many parties have an estimate, and the sum of the binary orders of their weights",
            f"weights, their squares, and the weighted estimates of the {self._told}, and their squares",
            "the same weights and estimates with the variance between parties, where there is any",
        ]

    @property
    def stages(self) -> int:
        return STAGES

    @property
    def numbers(self) -> int:
        return NUMBERS

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return 2


def private_meta_analysis(
    network: Network,
    estimates: Sequence[tuple[float, float] | None] | Mapping[Any, tuple[float, float] | None],
    *,
    effect: str = "effect",
    **gone: Any,
) -> MetaAnalysis:
    """Estimates of parties, combined by inverse variances: fixed effect, and random effects after DerSimonian and
    Laird. Nobody shows its own.

    Revealed, of each honest component: how many parties have an estimate, and sums of weights ``w``, of ``log2 w``
    rounded, ``w^2``, ``wy``, ``wy^2``, and of the weights of random effects and the estimates times those.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    estimates : sequence of pairs, or mapping
        ``(estimate, standard error)`` of every party, in the order of the nodes or by their names; None for a party
        that has none.
    effect : str
        What is estimated, for people.
    **gone
        Options of older versions get a sentence.

    Returns
    -------
    MetaAnalysis

    Raises
    ------
    InvalidInput
        What is no pair of numbers with a positive error, or where no party has an estimate.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = sv.private_meta_analysis(sv.Network.ring(3), [(0.3, 0.1), None, (-0.1, 0.15)])
    >>> found.studies, round(found.fixed, 6), round(found.tau2, 6)
    (2, 0.176923, 0.06375)
    """
    refuse_options(gone)
    given = one_per_party(network, estimates, "estimates")
    studies = [_read(who, pair) for who, pair in zip(whose(network, "party"), given, strict=True)]
    return meta_program(SimulatedAgreements(network), studies, str(effect), "no party has an estimate.")


def _read(who: str, pair: Any) -> Estimate | None:
    if pair is None:
        return None
    entries = np.asarray(pair, dtype=object)
    if entries.shape != (2,) or not all(is_number(entry) and math.isfinite(entry) for entry in entries):
        raise InvalidInput(f"{who}: estimates must be pairs of an estimate and its standard error, or None.")
    value, error = (float(entry) for entry in entries)
    if error <= 0:
        raise InvalidInput(f"{who}: estimates must have a positive standard error; give None for a party without one.")
    if max(abs(value), error, 1 / error) > LARGEST:
        raise InvalidInput(
            f"{who}: estimates must be below 1e150 in size, with errors from 1e-150 to 1e150, as their squares "
            "are numbers too. Choose another unit."
        )
    return Estimate(Fraction(value), Fraction(error) ** 2)
