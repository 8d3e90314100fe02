"""Groups of rows: counts, tests and descriptions."""

from .anova import Anova, Levene
from .crosstab import Crosstab
from .describe import Description
from .quantiles import Quantiles
from .t_test import TTest
from .table_one import TableOne

__all__ = ["Anova", "Crosstab", "Description", "Levene", "Quantiles", "TTest", "TableOne"]
