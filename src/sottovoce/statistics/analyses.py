"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from .analysis import Analysis
from .linear.linear_model import LinearModel
from .models.mixed import Mixed
from .models.multinomial import Multinomial
from .models.ordinal import Ordinal
from .survival.kaplan_meier import KaplanMeierAnalysis
from .survival.log_rank import LogRankAnalysis
from .survival.nelson_aalen import NelsonAalenAnalysis

_ALL: tuple[type[Analysis], ...] = (
    LinearModel,
    Mixed,
    Multinomial,
    Ordinal,
    KaplanMeierAnalysis,
    NelsonAalenAnalysis,
    LogRankAnalysis,
)
ANALYSES: dict[str, type[Analysis]] = {analysis.type: analysis for analysis in _ALL}
