"""Statistics of pooled rows that stay apart, from exact sums (theory: Public gradients; the page on exact sums).

Masking ``z(0)`` hides the constant of a gradient and nothing else, so a regression solved on its own costs shows every
``A_i'A_i``. Sums do better: each party reduces its rows to a few integers, these are added up under uniform pads over a
spanning tree, and everybody computes the answer from the totals. What that reveals is the sum over each honest
component. There is nothing to choose, and answers are those of the pooled rows, to the bit.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arrays import private_covariance, private_histogram, private_mean, private_variance
    from .evidence import Calibration, MantelHaenszel, MetaAnalysis, Roc, private_meta_analysis
    from .fit import Fit
    from .groups import Anova, Crosstab, Description, Levene, Quantiles, TableOne, TTest
    from .histogram import Histogram
    from .linear.linear_fit import LinearFit
    from .linear.penalty_path import LassoPath, PenaltyPath, RidgePath
    from .linear.principal_components import PrincipalComponents
    from .linear.private import private_lasso, private_linear, private_pca, private_ridge
    from .models.cox import CoxFit
    from .models.glm import GLMFit
    from .models.mixed import MixedFit
    from .models.multinomial import MultinomialFit
    from .models.ordinal import OrdinalFit
    from .models.private import private_cox, private_glm, private_multinomial
    from .pooled import PooledCovariance, PooledMean, PooledVariance
    from .statistic import Disclosure, Statistic
    from .survival.curves import Curves, KaplanMeier, NelsonAalen
    from .survival.log_rank import LogRank

_FOUND_IN = {
    "arrays": ("private_covariance", "private_histogram", "private_mean", "private_variance"),
    "evidence": ("Calibration", "MantelHaenszel", "MetaAnalysis", "Roc", "private_meta_analysis"),
    "fit": ("Fit",),
    "groups": ("Anova", "Crosstab", "Description", "Levene", "Quantiles", "TableOne", "TTest"),
    "histogram": ("Histogram",),
    "linear.linear_fit": ("LinearFit",),
    "linear.penalty_path": ("LassoPath", "PenaltyPath", "RidgePath"),
    "linear.principal_components": ("PrincipalComponents",),
    "linear.private": ("private_lasso", "private_linear", "private_pca", "private_ridge"),
    "models.cox": ("CoxFit",),
    "models.glm": ("GLMFit",),
    "models.mixed": ("MixedFit",),
    "models.multinomial": ("MultinomialFit",),
    "models.ordinal": ("OrdinalFit",),
    "models.private": ("private_cox", "private_glm", "private_multinomial"),
    "pooled": ("PooledCovariance", "PooledMean", "PooledVariance"),
    "statistic": ("Disclosure", "Statistic"),
    "survival.curves": ("Curves", "KaplanMeier", "NelsonAalen"),
    "survival.log_rank": ("LogRank",),
}


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first used: a run needs one analysis of all."""
    for module, names in _FOUND_IN.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Anova",
    "Calibration",
    "CoxFit",
    "Crosstab",
    "Curves",
    "Description",
    "Disclosure",
    "Fit",
    "GLMFit",
    "Histogram",
    "KaplanMeier",
    "LassoPath",
    "Levene",
    "LinearFit",
    "LogRank",
    "MantelHaenszel",
    "MetaAnalysis",
    "MixedFit",
    "MultinomialFit",
    "NelsonAalen",
    "OrdinalFit",
    "PenaltyPath",
    "PooledCovariance",
    "PooledMean",
    "PooledVariance",
    "PrincipalComponents",
    "Quantiles",
    "RidgePath",
    "Roc",
    "Statistic",
    "TTest",
    "TableOne",
    "private_covariance",
    "private_cox",
    "private_glm",
    "private_histogram",
    "private_lasso",
    "private_linear",
    "private_mean",
    "private_meta_analysis",
    "private_multinomial",
    "private_pca",
    "private_ridge",
    "private_variance",
]
