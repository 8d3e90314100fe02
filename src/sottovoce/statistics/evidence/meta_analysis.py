"""Meta-analysis without anybody showing its own estimate: sums of weights, and of weighted estimates.

With estimates ``y`` of variance ``v`` and ``w = 1/v`` (R. DerSimonian and N. Laird, Controlled Clinical Trials 7 (1986)
177):

    m = sum wy / sum w,  Q = sum wy^2 - (sum wy)^2 / sum w,  C = sum w - sum w^2 / sum w
    tau2 = max(0, (Q - df) / C),  w* = 1 / (v + tau2),  m* = sum w*y / sum w*

Weights may be of any size, so the parties find a common unit first: ``u = 4^j`` near their geometric mean. A weight is
rounded to a multiple of 2^-56 of ``u``, and an estimate to one of 2^-56 of ``u^(-1/2)``, the error that belongs to
``u``. From there on nothing is rounded. As ``sum w`` is at least ``k`` times the geometric mean, it keeps 16 digits;
``m`` is off by 2^-57 of a typical standard error at most. Sums of ``wy^2`` fit while no estimate is more than 2^35 of
its standard errors from 0, and of ``w^2`` while no weight is beyond 2^60 of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined, is_number
from ...network import Network
from ...pdmm.modular_mask import Integers
from ...pdmm.shards import whose
from ...sums import Beyond, whole
from ..agreements import Agreements, Objected, SimulatedAgreements
from ..analysis import Analysis
from ..gone import refuse_options
from ..groups.columns import chosen_levels, level_column, levels_of, number_column
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..shards import one_per_party
from ..statistic import Value, check_alpha, normal_reach
from .mantel_haenszel import check_columns, fourfold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OF_MEANS = ("mean", "mean_difference")
OF_TABLES = ("log_odds_ratio", "log_risk_ratio", "risk_difference")
LARGEST = 1e150  # of estimates and errors that are brought
GRID = 56


class Estimate(NamedTuple):
    """An effect, and its variance."""

    value: Fraction
    variance: Fraction


PartyStudy = Estimate | None | Beyond  # without an estimate, or with rows beyond what integers hold


@dataclass(frozen=True, eq=False, repr=False)
class MetaAnalysis(Finding):
    """What ``Study.meta_analysis`` and ``private_meta_analysis`` return, besides the fields of ``Statistic``: estimates
    of parties, combined by inverse variances.

    Attributes
    ----------
    effect : str
        What each party estimated.
    studies : int
        Parties that had an estimate.
    fixed, fixed_se : float
        The mean effect where all parties share one, and its standard error.
    random, random_se : float
        The mean effect where those of parties vary, after DerSimonian and Laird.
    q : float
        Cochran's statistic of heterogeneity.
    tau2 : float
        The variance of effects between parties, at least 0.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = sv.private_meta_analysis(sv.Network.ring(3), [(0.3, 0.1), (0.5, 0.2), (-0.1, 0.15)])
    >>> round(found.fixed, 6), round(found.q, 6), round(found.random, 6)
    (0.22459, 7.147541, 0.221177)
    """

    effect: Value[str] = Value()
    studies: Value[int] = Value()
    fixed: Value[float] = Value()
    fixed_se: Value[float] = Value()
    random: Value[float] = Value()
    random_se: Value[float] = Value()
    q: Value[float] = Value()
    tau2: Value[float] = Value()

    title: ClassVar[str] = "Meta-analysis"
    derived: ClassVar[tuple[str, ...]] = (
        "df", "q_pvalue", "i2", "h2", "pvalues", "interval_fixed", "interval_random", "prediction",
    )  # fmt: skip

    @property
    def df(self) -> int:
        """Degrees of freedom of ``q``."""
        return self.studies - 1

    @property
    def q_pvalue(self) -> float:
        """Of the test that all parties share one effect; NaN of a single one."""
        return chi2_pvalue(self.q, self.df)

    @property
    def h2(self) -> float:
        """``q`` per degree of freedom; NaN of a single study."""
        return self.q / self.df if self.df else float("nan")

    @property
    def i2(self) -> float:
        """The share of the variation that is not chance, from 0 to 1; NaN of a single study."""
        if not self.df:
            return float("nan")
        return max(0.0, 1 - self.df / self.q) if self.q > 0 else 0.0

    @property
    def pvalues(self) -> Array:
        """Of the tests that the mean effect is 0: fixed, random."""
        from scipy.special import ndtr

        estimates, errors = self._estimates
        return np.asarray(2 * ndtr(-np.abs(estimates / errors)))

    @property
    def _estimates(self) -> tuple[Array, Array]:
        return numbers([self.fixed, self.random]), numbers([self.fixed_se, self.random_se])

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(lower, upper)`` that hold the mean effect with probability ``1 - alpha`` each: fixed, random."""
        estimates, errors = self._estimates
        reach = normal_reach(alpha) * errors
        return np.column_stack([estimates - reach, estimates + reach])

    def prediction_interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Where the effect of another party would lie with probability ``1 - alpha``: NaN of fewer than three studies
        (J. P. T. Higgins, S. G. Thompson and D. J. Spiegelhalter, J. R. Statist. Soc. A 172 (2009) 137)."""
        from scipy.special import stdtrit

        check_alpha(alpha)
        if self.studies < 3:
            return float("nan"), float("nan")
        reach = float(stdtrit(self.studies - 2, 1 - alpha / 2)) * float(np.sqrt(self.tau2 + self.random_se**2))
        return self.random - reach, self.random + reach

    @property
    def interval_fixed(self) -> tuple[float, float]:
        """Of 95 %."""
        low, high = self.conf_int()[0].tolist()
        return low, high

    @property
    def interval_random(self) -> tuple[float, float]:
        """Of 95 %."""
        low, high = self.conf_int()[1].tolist()
        return low, high

    @property
    def prediction(self) -> tuple[float, float]:
        """``prediction_interval()``, of 95 %."""
        return self.prediction_interval()

    @property
    def ratios(self) -> Array:
        """``exp`` of estimates and their intervals, ``(2, 3)``, where effects are logarithms of ratios."""
        return np.exp(np.column_stack([self._estimates[0], self.conf_int()]))

    def _facts(self) -> str:
        return f"{self.effect}, estimates of {self.studies} of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        estimates, errors = self._estimates
        low, high = self.conf_int().T.tolist()
        table = {"estimate": estimates, "std_error": errors, "statistic": estimates / errors, "p_value": self.pvalues}
        numeric = {name: values.tolist() for name, values in table.items()}
        return {"model": ["fixed effect", "random effects"], **numeric, "conf_low": low, "conf_high": high}

    def _head(self) -> list[tuple[str, str]]:
        low, high = self.prediction
        return [
            ("Q", f"{self.q:.6g} on {self.df} degrees of freedom, p {p_words(self.q_pvalue)}"),
            ("I2", f"{100 * self.i2:.1f} %"),
            ("tau2", f"{self.tau2:.6g}"),
            *([("prediction interval", f"{low:.6g} to {high:.6g}")] if self.studies > 2 else []),
        ]

    def _picture(self, path: str | Path | None) -> Figure:
        from ..pictures import plot_rows

        names, values, intervals = ["fixed effect", "random effects"], self._estimates[0], self.conf_int()
        if self.studies > 2:
            names, values = [*names, "another party"], np.append(values, self.random)
            intervals = np.vstack([intervals, self.prediction])
        return plot_rows(path, names, values, intervals, self._facts(), f"{self.effect}, 95 % interval")


def of_means(rows: Rows, unit: Fraction, group: Callable[[Array], Integers], groups: int) -> Estimate | None:
    """The mean of one group, or that of the first less that of the second, with variances of their own. None where a
    group has fewer than two rows, or does not vary. ``group``: of a block the group of each row, -1 of none."""

    def sides(block: Array) -> tuple[Int64, Int64]:
        x = whole(block[:, :1], [unit])
        member = (group(block)[:, None] == np.arange(groups)).astype(np.int64)
        return np.hstack([member, member * x]), np.hstack([np.ones_like(x), x])

    gram = rows.grams(sides).tolist()
    means, variance = [], Fraction(0)
    for (n, total), (_, squares) in zip(gram[:groups], gram[groups:], strict=True):
        if n < 2:
            return None
        means.append(unit * Fraction(total, n))
        variance += unit**2 * Fraction(n * squares - total**2, n**2 * (n - 1))
    value = means[0] - means[1] if groups == 2 else means[0]
    return Estimate(value, variance) if variance > 0 else None


def of_table(effect: str, table: Integers, continuity: float) -> Estimate | None:
    """Of ``a, b, c, d``. Where one is 0, ``continuity`` is added to all four; None where that is 0, or where nobody is
    exposed, or all are."""
    if not table[:2].sum() or not table[2:].sum():
        return None
    if (table == 0).any() and continuity <= 0:
        return None
    more = Fraction(continuity) if (table == 0).any() else Fraction(0)
    a, b, c, d = (int(count) + more for count in table)
    if effect == "log_odds_ratio":
        return Estimate(_log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d)
    if effect == "log_risk_ratio":
        return Estimate(_log(a / (a + b) / (c / (c + d))), b / (a * (a + b)) + d / (c * (c + d)))
    return Estimate(a / (a + b) - c / (c + d), a * b / (a + b) ** 3 + c * d / (c + d) ** 3)


def _log(ratio: Fraction) -> Fraction:
    """Near 1 of what it is above it, which a float64 of the ratio would round away."""
    apart = ratio - 1
    return Fraction(math.log1p(float(apart)) if abs(apart) < 0.5 else math.log(ratio))


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
        if not 0 <= self.continuity < math.inf:
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

    def estimate(self, rows: Rows, units: Sequence[Fraction]) -> PartyStudy:
        """Of one party's rows; None where they give none, ``Beyond`` where whole numbers do not hold them."""
        if self.effect in OF_MEANS:
            try:
                return of_means(rows, units[0], self._group, 1 if self.by is None else 2)
            except Beyond as beyond:
                return beyond
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
        return meta_program(agreements, [self.estimate(part, units) for part in rows], self._told, nobody)

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
        return 3

    @property
    def numbers(self) -> int:
        return 2 + 4 + 2

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


def meta_program(agreements: Agreements, studies: Sequence[PartyStudy], effect: str, nobody: str) -> MetaAnalysis:
    """What the local parties do, with an estimate each or none. ``nobody``: the sentence where no party has one."""
    k, j = _common_unit(agreements, studies, nobody)
    error = Fraction(2) ** -j  # in units of it estimates have a typical weight of 1
    scaled = [
        Estimate(each.value / error, each.variance / error**2) if isinstance(each, Estimate) else None
        for each in studies
    ]
    S, m, q, tau2 = _fixed(agreements, scaled, k)
    weight, mean = _random(agreements, scaled, S, m, tau2, k) if tau2 else (S, m)
    return MetaAnalysis(
        *agreements.made,
        effect=effect,
        studies=k,
        fixed=float(m * error),
        fixed_se=_root(error**2 / S),
        random=float(mean * error),
        random_se=_root(error**2 / weight),
        q=float(q),
        tau2=float(tau2 * error**2),
    )


def _common_unit(agreements: Agreements, studies: Sequence[PartyStudy], nobody: str) -> tuple[int, int]:
    """How many have an estimate, and ``j`` of the unit ``4^j`` of weights."""
    orders = [
        None if isinstance(each, Beyond) else [0, 0] if each is None else [_order(1 / each.variance), 1]
        for each in studies
    ]
    of = "binary orders of the weights of parties, and how many have one"
    total, k = agreements.sum(orders, of=of, size=2).tolist()
    if not k:
        raise Undetermined(nobody)
    return k, round(Fraction(total, 2 * k))


def _fixed(
    agreements: Agreements, studies: Sequence[Estimate | None], k: int
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """``sum w``, ``m``, ``Q`` and ``tau2``."""
    rounded = [[0, 0] if each is None else [_on_grid(1 / each.variance), _on_grid(each.value)] for each in studies]
    own = [[w, w * y, w * y * y, w * w] for w, y in rounded]
    try:
        sums = agreements.sum(own, of="weights, weighted estimates and their squares, and squares of weights")
    except Objected:
        raise Undetermined(
            "the estimates of the parties are of sizes too different: one is more than 2^35 of its standard errors "
            "from 0, or its weight is more than 2^60 times the typical one. Look for estimates in other units."
        ) from None
    S, Sy, Syy, SS = (
        Fraction(int(total), 2 ** (GRID * power)) for total, power in zip(sums, (1, 2, 3, 2), strict=True)
    )
    mean, q, C = Sy / S, Syy - Sy**2 / S, S - SS / S
    tau2 = max(Fraction(0), (q - (k - 1)) / C) if C else Fraction(0)
    return S, mean, q, tau2


def _random(
    agreements: Agreements, studies: Sequence[Estimate | None], S: Fraction, m: Fraction, tau2: Fraction, k: int
) -> tuple[Fraction, Fraction]:
    """``sum w*`` and ``m*``. The unit is the ``w*`` of the mean weight: ``sum w*`` is from 1 to ``k`` of it, as
    ``1 / (1/w + tau2)`` is concave in ``w``. And ``w* (y - m)^2`` is ``Q`` at most."""
    typical = 1 / (k / S + tau2)
    size = Fraction(2) ** -(_order(typical) // 2)
    own = []
    for each in studies:
        share = 0 if each is None else 1 / ((each.variance + tau2) * typical)
        apart = 0 if each is None else (each.value - m) / size
        own.append([_on_grid(share), _on_grid(share * apart)])
    of = "weights with the variance between parties, and weighted estimates"
    weight, moved = agreements.sum(own, of=of).tolist()
    return typical * Fraction(weight, 2**GRID), m + size * Fraction(moved, weight)


def _order(number: Fraction) -> int:
    """The binary logarithm, to within 1."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def _on_grid(number: Fraction | int) -> int:
    return round(number * (1 << GRID))


def _root(number: Fraction) -> float:
    """A square root, of numbers beyond float64 as well."""
    half = _order(number) // 2
    return math.ldexp(math.sqrt(number / Fraction(4) ** half), half)
