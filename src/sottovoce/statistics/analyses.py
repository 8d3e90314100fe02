"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from . import evidence, groups
from .analysis import Analysis
from .histogram import HistogramAnalysis
from .linear.linear_model import LinearModel
from .linear.penalised import LassoModel, RidgeModel
from .linear.principal_components import ComponentsModel
from .models.cox import CoxAnalysis
from .models.glm import GLM
from .models.mixed import Mixed
from .models.multinomial import Multinomial
from .models.ordinal import Ordinal
from .pooled_moments import CovarianceAnalysis, MeanAnalysis, VarianceAnalysis
from .survival.kaplan_meier import KaplanMeierAnalysis
from .survival.log_rank import LogRankAnalysis
from .survival.nelson_aalen import NelsonAalenAnalysis

_ALL: tuple[type[Analysis], ...] = (
    MeanAnalysis,
    VarianceAnalysis,
    CovarianceAnalysis,
    HistogramAnalysis,
    LinearModel,
    RidgeModel,
    LassoModel,
    ComponentsModel,
    GLM,
    Multinomial,
    Ordinal,
    CoxAnalysis,
    Mixed,
    KaplanMeierAnalysis,
    NelsonAalenAnalysis,
    LogRankAnalysis,
    *groups.ANALYSES,
    *evidence.ANALYSES,
)
ANALYSES: dict[str, type[Analysis]] = {analysis.type: analysis for analysis in _ALL}
