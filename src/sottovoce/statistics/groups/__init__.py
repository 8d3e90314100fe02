"""Groups of rows: counts, tests and descriptions."""

from .cohort import DescribeAnalysis, Description, TableOne, TableOneAnalysis
from .comparison import Anova, AnovaAnalysis, Levene, LeveneAnalysis, TTest, TTestAnalysis
from .contingency import Crosstab, CrosstabAnalysis
from .quantiles import Quantiles, QuantilesAnalysis

ANALYSES = (
    CrosstabAnalysis,
    TTestAnalysis,
    AnovaAnalysis,
    LeveneAnalysis,
    QuantilesAnalysis,
    DescribeAnalysis,
    TableOneAnalysis,
)

__all__ = ["ANALYSES", "Anova", "Crosstab", "Description", "Levene", "Quantiles", "TTest", "TableOne"]
