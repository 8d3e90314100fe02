"""Groups of rows: counts, tests and descriptions."""

from .anova import Anova, AnovaAnalysis, Levene, LeveneAnalysis
from .crosstab import Crosstab, CrosstabAnalysis
from .describe import DescribeAnalysis, Description
from .quantiles import Quantiles, QuantilesAnalysis
from .t_test import TTest, TTestAnalysis
from .table_one import TableOne, TableOneAnalysis

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
