"""Meta-analysis of what each party estimates from its own table, or brings along."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, is_number
from ...network import Network
from ...pdmm.masks import GaussianMask
from ...pdmm.overlay import AskedOverlay
from ...pdmm.schedules import Schedule
from ...pdmm.shards import whose
from ..agreements import DEFAULT_MASK, Agreements, SimulatedAgreements, Simulation, check_mask
from ..analysis import Analysis
from ..groups.columns import chosen_levels, frame, level_column, levels_of, number_column
from ..groups.moments import Grouped, grouping, no_groups
from ..shards import one_per_party
from .effects import LOG, Estimate, of_means, of_table
from .fourfold import check_columns, fourfold
from .meta_analysis import COUNTS, NUMBERS, STAGES, meta_program
from .meta_result import MetaAnalysis

OF_MEANS = ("mean", "mean_difference")
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
    def selection(self) -> PlainColumns:
        names = (self.exposure, self.outcome) if self.effect in OF_TABLES else (self.column, self.by)
        return PlainColumns(tuple(name for name in names if name is not None))

    @property
    def frame(self) -> tuple[float, float]:
        """A public centre and unit of an estimate."""
        if self.effect in OF_TABLES:
            return 0.0, 1.0 if self.effect == "risk_difference" else LOG
        assert self.column is not None
        centre, unit = frame(self.schema[self.column])
        return (centre, unit) if self.effect == "mean" else (0.0, 2 * unit)

    @cached_property
    def _grouped(self) -> Grouped:
        if self.by is None:
            return Grouped(lambda block: block[:, :1], no_groups, 1)
        known = levels_of(self.schema[self.by])
        group = grouping(1, [known.index(level) for level in self.levels or ()], len(known))
        return Grouped(lambda block: block[:, :1], group, 2)

    def estimate(self, rows: Rows) -> Estimate | None:
        """Of one party's rows; None where they give none."""
        if self.effect in OF_MEANS:
            return of_means(self._grouped, rows, self.frame[0])
        assert self.exposure is not None
        assert self.outcome is not None
        return of_table(self.effect, fourfold(rows, self.schema, self.exposure, self.outcome), self.continuity)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MetaAnalysis:
        own = [self.estimate(part) for part in rows]
        nobody = f"no party has enough rows for an estimate of the {self.effect.replace('_', ' ')} and its error."
        return meta_program(agreements, own, *self.frame, self.mask, self._told, nobody)

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
            "the same weights and estimates with the variance between parties",
        ]

    @property
    def stages(self) -> int:
        return STAGES

    @property
    def numbers(self) -> int:
        return NUMBERS

    @property
    def counts(self) -> int:
        return COUNTS

    @property
    def parameters(self) -> int:
        return 2


def private_meta_analysis(
    network: Network,
    estimates: Sequence[tuple[float, float] | None] | Mapping[Any, tuple[float, float] | None],
    *,
    effect: str = "effect",
    scale: float = 1.0,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
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
    scale : float
        A public number that brings estimates to size 1.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

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
    if not (is_number(scale) and 0 < scale < math.inf):
        raise InvalidInput(f"scale must be a positive number; got {scale!r}.")
    check_mask(mask, GaussianMask)
    given = one_per_party(network, estimates, "estimates")
    own = [_read(who, pair) for who, pair in zip(whose(network, "party"), given, strict=True)]
    agreements = SimulatedAgreements(Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress))
    return meta_program(agreements, own, 0.0, float(scale), mask, str(effect), "no party has an estimate.")


def _read(who: str, pair: Any) -> Estimate | None:
    if pair is None:
        return None
    entries = np.asarray(pair, dtype=object)
    if entries.shape != (2,) or not all(is_number(entry) and math.isfinite(entry) for entry in entries):
        raise InvalidInput(f"{who}: estimates must be pairs of an estimate and its standard error, or None.")
    value, error = (float(entry) for entry in entries)
    if error <= 0:
        raise InvalidInput(f"{who}: estimates must have a positive standard error; give None for a party without one.")
    return Estimate(value, error**2)
