"""What a meta-analysis tells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ..groups.contingency import chi2_pvalue
from ..groups.finding import Finding, numbers, p_words
from ..statistic import Value, check_alpha

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        """Intervals ``(lower, upper)`` of the mean effect: fixed, random.

        Parameters
        ----------
        alpha : float
            Each holds with probability ``1 - alpha``.

        Returns
        -------
        ndarray
            ``(2, 2)``.
        """
        from scipy.special import ndtri

        estimates, errors = self._estimates
        reach = ndtri(1 - check_alpha(alpha) / 2) * errors
        return np.column_stack([estimates - reach, estimates + reach])

    def prediction_interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Where the effect of another party would lie (J. P. T. Higgins, S. G. Thompson and D. J. Spiegelhalter, J. R.
        Statist. Soc. A 172 (2009) 137): NaN of fewer than three studies.

        Parameters
        ----------
        alpha : float
            It holds with probability ``1 - alpha``.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
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
