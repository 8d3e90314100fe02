"""Groups of rows: counts, tests and descriptions."""

from .cohort import Description, TableOne
from .comparison import Anova, Levene, TTest
from .contingency import Crosstab
from .quantiles import Quantiles

__all__ = ["Anova", "Crosstab", "Description", "Levene", "Quantiles", "TTest", "TableOne"]
