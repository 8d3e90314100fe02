"""What every fitted model carries, in the words of statsmodels, and what its terms are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..data.formula import Formula
from ..errors import InvalidInput
from ..pdmm.result import Status
from .statistic import SHOWN, Statistic, Value, check_alpha

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLINE = re.compile(r"^((?:bs|ns)\(.*\))\[\d+\]$")
GAP = "   "  # between the columns of facts, and two of them between those of the table
SMALLEST = 1e-4  # of a p-value that is written out


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Statistic):
    """A fitted model, besides the fields of ``Statistic``: estimates with their errors, one per term.

    Attributes
    ----------
    terms : tuple of str
        Of the parameters.
    params : ndarray
        Estimates.
    covariance : ndarray
        Of the estimates.
    nobs : int
        Rows of all parties.
    aliased : tuple of str
        Terms that were left out, as they are constant or combinations of terms before them.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> from sottovoce.statistics import Fit
    >>> common = {"status": sv.Status.CONVERGED, "parties": 3}
    >>> given = {"terms": ("age",), "params": np.array([0.5]), "covariance": np.array([[0.04]]), "aliased": ()}
    >>> fit = Fit(**common, **given, nobs=80)
    >>> fit.bse, fit.zvalues, fit.conf_int().round(3).tolist()
    (array([0.2]), array([2.5]), [[0.108, 0.892]])
    >>> print(fit.summary())
                                  Fit
    ===============================================================
    No. Observations:           80   Parties:                     3
    ===============================================================
             coef   std err         z     P>|z|    [0.025    0.975]
    ---------------------------------------------------------------
    age       0.5       0.2     2.500    0.0124   0.10801   0.89199
    ===============================================================
    Of the rows of 3 parties together, from sums over groups of them.
    """

    terms: Value[tuple[str, ...]] = Value()
    params: Value[Array] = Value()
    covariance: Value[Array] = Value()
    nobs: Value[int] = Value()
    aliased: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Fit"  # above the summary
    ratio: ClassVar[str | None] = None  # what exp of an estimate is: "odds ratio", "rate ratio", "hazard ratio"

    @property
    def _df(self) -> float:
        """Degrees of freedom of Student's t that errors are compared with; infinite for the normal distribution."""
        return float("inf")

    @property
    def bse(self) -> Array:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def zvalues(self) -> Array:
        """Estimates in units of their errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.params / self.bse)

    @property
    def tvalues(self) -> Array:
        """``zvalues``, by the name that goes with Student's t."""
        return self.zvalues

    @property
    def pvalues(self) -> Array:
        """Of the two-sided test that a parameter is 0."""
        from scipy import special

        z = np.abs(self.zvalues)
        return np.asarray(2 * (special.ndtr(-z) if np.isinf(self._df) else special.stdtr(self._df, -z)))

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Intervals ``(lower, upper)`` that hold a parameter with probability ``1 - alpha``."""
        from scipy import special

        alpha = check_alpha(alpha)
        q = special.ndtri(1 - alpha / 2) if np.isinf(self._df) else special.stdtrit(self._df, 1 - alpha / 2)
        return np.column_stack([self.params - q * self.bse, self.params + q * self.bse])

    def cov_params(self) -> Array:
        """The covariance of the estimates."""
        return self.covariance

    def ratios(self, alpha: float = 0.05) -> Array:
        """``exp`` of estimates and of their intervals, ``(terms, 3)``: odds, rate or hazard ratios."""
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([self.params, self.conf_int(alpha)]))

    @property
    def _slopes(self) -> list[int]:
        """Places of the terms that say what a column does: all but intercepts."""
        return [k for k, term in enumerate(self.terms) if not is_intercept(term)]

    def _model_size(self) -> tuple[int, int, int] | None:
        if self.status is not Status.CONVERGED:
            return None
        return len(self.terms), covariates([self.terms[k] for k in self._slopes]), self.nobs

    def _derived(self) -> dict[str, Any]:
        derived = {"bse": self.bse, "zvalues": self.zvalues, "pvalues": self.pvalues, "conf_int": self.conf_int()}
        return derived if self.ratio is None else derived | {"ratios": self.ratios()}

    def _facts(self) -> str:
        return f"{len(self.terms)} terms: {self.nobs} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        """The tidy table."""
        interval = self.conf_int()
        table: dict[str, npt.NDArray[Any]] = {
            "estimate": self.params, "std_error": self.bse, "statistic": self.zvalues, "p_value": self.pvalues,
            "conf_low": interval[:, 0], "conf_high": interval[:, 1],
        }  # fmt: skip
        if self.ratio is not None:
            table |= dict(zip(("ratio", "ratio_low", "ratio_high"), self.ratios().T, strict=True))
        return {"term": list(self.terms), **{name: values.tolist() for name, values in table.items()}}

    def _head(self) -> list[tuple[str, str]]:
        """What stands above the table of a summary: names and values."""
        return [("No. Observations", f"{self.nobs:,}"), ("Parties", f"{self.parties}")]

    def _notes(self) -> list[str]:
        """What stands below it."""
        dropped = self.data_notes()
        aliased = f"Left out, as they hang on terms before them: {', '.join(self.aliased)}."
        return [
            *([] if dropped is None else [f"{dropped}."]),
            *([aliased] if self.aliased else []),
            f"Of the rows of {self.parties} parties together, from sums over groups of them.",
        ]

    def _caption(self, rows: int) -> str:
        cut = f"the first {SHOWN} of {rows} rows" if rows > SHOWN else None
        facts = [f"{name}: {value}" for name, value in self._head()]
        return "; ".join(filter(None, [self.title, *facts, self.data_notes(), cut]))

    def summary(self) -> str:
        """A table like statsmodels': the model above, a line per term below."""
        if self.status is not Status.CONVERGED:
            return f"{self.title}: {self.status.value}, no estimates to report."
        table = _table(self)
        facts = _in_two_columns([(f"{name}:", value) for name, value in self._head()], len(table[0]))
        width = max(len(line) for line in [*table, *facts, self.title])
        double, single = "=" * width, "-" * width
        lines = [self.title.center(width).rstrip(), double, *facts, double, table[0], single, *table[1:], double]
        return "\n".join([*lines, *self._notes()])

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_forest

        return plot_forest(path, self)


def _table(fit: Fit) -> list[str]:
    """The header, and a line per term; every column is as wide as its widest cell."""
    letter = "z" if math.isinf(fit._df) else "t"
    low, high = fit.conf_int().T
    columns = {
        "coef": [f"{value:.6g}" for value in fit.params],
        "std err": [f"{value:.4g}" for value in fit.bse],
        letter: [f"{value:.3f}" if abs(value) < 1e5 else f"{value:.4g}" for value in fit.zvalues],
        f"P>|{letter}|": [f"<{SMALLEST:.4f}" if p < SMALLEST else f"{p:.4f}" for p in fit.pvalues],
        "[0.025": [f"{value:.5g}" for value in low],
        "0.975]": [f"{value:.5g}" for value in high],
    }
    if fit.ratio is not None:
        columns[fit.ratio] = [f"{value:.5g}" for value in fit.ratios()[:, 0]]
    widths = {name: max(8, *map(len, [name, *cells])) for name, cells in columns.items()}
    first = max(map(len, fit.terms), default=0)
    head = " " * first + "".join(f"  {name:>{widths[name]}}" for name in columns)
    lines = [head]
    for term, *cells in zip(fit.terms, *columns.values(), strict=True):
        lines.append(f"{term:{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths.values(), strict=True)))
    return lines


def _in_two_columns(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Names to the left and values to the right of each; the first half stands at the left."""
    middle = (len(facts) + 1) // 2
    left, right = facts[:middle], facts[middle:]
    need = max((len(name) + 1 + len(value) for name, value in facts), default=0)
    sides = [max(need, (width - len(GAP)) // 2)]
    sides.append(max(need, width - len(GAP) - sides[0]))
    written = [
        [f"{name}{value:>{side - len(name)}}" for name, value in half]
        for half, side in zip((left, right), sides, strict=True)
    ]
    return [f"{one}{GAP}{other}".rstrip() for one, other in zip_longest(*written, fillvalue="")]


def is_intercept(term: str) -> bool:
    """By whichever of its names: that of a formula, or that of arrays, of one level of the response or of all."""
    return _of_levels(term).lower() == "intercept"


def _of_levels(term: str) -> str:
    """``"level: term"`` is a term for one level of the response; products have no space."""
    return term.rpartition(": ")[2]


def covariates(terms: Sequence[str]) -> int:
    """How many columns of numbers the terms are made of: one for powers, splines and products of the same, and none for
    levels, of which a row has one of few.

    >>> covariates(["Intercept", "age", "I(age^2)", "sex[T.m]", "age:sex[T.m]", "log(crp)"])
    2
    """
    found: set[str] = set()
    for term in terms:
        for factor in [] if is_intercept(term) else _factors(_of_levels(term)):
            spline = SPLINE.match(factor)
            if spline is None and factor.endswith("]"):
                continue  # a level
            found |= _columns(spline[1] if spline else factor)
    return len(found)


def _columns(factor: str) -> set[str]:
    try:
        return set(Formula(f"~ {factor}").variables)
    except InvalidInput:  # a name that a formula would put in back-quotes, or the column of an array
        return {factor}


def _factors(term: str) -> list[str]:
    """What a term is a product of: parted by ``:``, but for those inside of brackets."""
    parts, depth = [""], 0
    for letter in term:
        depth += (letter in "([") - (letter in ")]")
        if letter == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
