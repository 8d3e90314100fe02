"""What parties know apart, brought together: stratified tables, meta-analysis, and how good a score is."""

from .mantel_haenszel import MantelHaenszel
from .meta_analysis import MetaAnalysis, private_meta_analysis
from .scores import Calibration, Roc

__all__ = ["Calibration", "MantelHaenszel", "MetaAnalysis", "Roc", "private_meta_analysis"]
