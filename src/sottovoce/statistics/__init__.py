"""Statistics of pooled rows that stay apart, from exact sums (theory: Public gradients; the page on exact sums).

Masking ``z(0)`` hides the constant of a gradient and nothing else, so a regression solved on its own costs shows every
``A_i'A_i``. Sums do better: each party reduces its rows to a few integers, these are added up under uniform pads over a
spanning tree, and everybody computes the answer from the totals. What that reveals is the sum over each honest
component. There is nothing to choose, and answers are those of the pooled rows, to the bit.
"""

from .arrays import private_covariance, private_histogram, private_mean, private_variance
from .evidence import Calibration, MantelHaenszel, MetaAnalysis, Roc, private_meta_analysis
from .fit import Fit
from .groups import Anova, Crosstab, Description, Levene, Quantiles, TableOne, TTest
from .histogram import Histogram
from .linear.linear_fit import LinearFit
from .linear.penalty_path import LassoPath, PenaltyPath, RidgePath
from .linear.principal_components import PrincipalComponents
from .linear.private import private_lasso, private_linear, private_pca, private_ridge
from .models.cox_fit import CoxFit
from .models.glm_fit import GLMFit
from .models.mixed_fit import MixedFit
from .models.multinomial_fit import MultinomialFit
from .models.ordinal_fit import OrdinalFit
from .models.private_cox import private_cox
from .models.private_glm import private_glm
from .models.private_multinomial import private_multinomial
from .pooled import PooledCovariance, PooledMean, PooledVariance
from .statistic import Disclosure, Statistic
from .survival.curves import Curves, KaplanMeier, NelsonAalen
from .survival.log_rank import LogRank

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
