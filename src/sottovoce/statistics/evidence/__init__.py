"""What parties know apart, brought together: stratified tables, meta-analysis, and how good a score is."""

from .calibration import Calibration, CalibrationAnalysis
from .mantel_haenszel import MantelHaenszel, MantelHaenszelAnalysis
from .meta_of_tables import MetaAnalysisAnalysis, private_meta_analysis
from .meta_result import MetaAnalysis
from .roc import Roc, RocAnalysis

ANALYSES = (MantelHaenszelAnalysis, MetaAnalysisAnalysis, RocAnalysis, CalibrationAnalysis)

__all__ = ["ANALYSES", "Calibration", "MantelHaenszel", "MetaAnalysis", "Roc", "private_meta_analysis"]
