"""What parties know apart, brought together: stratified tables, meta-analysis, and how good a score is."""

from .mantel_haenszel import MantelHaenszel, MantelHaenszelAnalysis
from .meta_analysis import MetaAnalysis, MetaAnalysisAnalysis, private_meta_analysis
from .scores import Calibration, CalibrationAnalysis, Roc, RocAnalysis

ANALYSES = (MantelHaenszelAnalysis, MetaAnalysisAnalysis, RocAnalysis, CalibrationAnalysis)

__all__ = ["ANALYSES", "Calibration", "MantelHaenszel", "MetaAnalysis", "Roc", "private_meta_analysis"]
