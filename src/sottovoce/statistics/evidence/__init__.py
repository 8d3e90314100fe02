"""What parties know apart, brought together: stratified tables, meta-analysis, and how good a score is."""

from .calibration import Calibration
from .mantel_haenszel import MantelHaenszel
from .meta_of_tables import private_meta_analysis
from .meta_result import MetaAnalysis
from .roc import Roc

__all__ = ["Calibration", "MantelHaenszel", "MetaAnalysis", "Roc", "private_meta_analysis"]
