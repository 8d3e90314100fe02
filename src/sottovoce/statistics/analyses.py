"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from .analysis import Analysis

_FOUND_IN = {
    "mean": "pooled_moments.MeanAnalysis",
    "variance": "pooled_moments.VarianceAnalysis",
    "covariance": "pooled_moments.CovarianceAnalysis",
    "histogram": "histogram.HistogramAnalysis",
    "linear": "linear.linear_model.LinearModel",
    "ridge": "linear.penalised.RidgeModel",
    "lasso": "linear.penalised.LassoModel",
    "pca": "linear.principal_components.ComponentsModel",
    "glm": "models.glm.GLM",
    "multinomial": "models.multinomial.Multinomial",
    "ordinal": "models.ordinal.Ordinal",
    "cox": "models.cox.CoxAnalysis",
    "mixed": "models.mixed.Mixed",
    "kaplan_meier": "survival.kaplan_meier.KaplanMeierAnalysis",
    "nelson_aalen": "survival.nelson_aalen.NelsonAalenAnalysis",
    "log_rank": "survival.log_rank.LogRankAnalysis",
    "crosstab": "groups.contingency.CrosstabAnalysis",
    "t_test": "groups.comparison.TTestAnalysis",
    "anova": "groups.comparison.AnovaAnalysis",
    "levene": "groups.comparison.LeveneAnalysis",
    "quantiles": "groups.quantiles.QuantilesAnalysis",
    "describe": "groups.cohort.DescribeAnalysis",
    "table_one": "groups.cohort.TableOneAnalysis",
    "mantel_haenszel": "evidence.mantel_haenszel.MantelHaenszelAnalysis",
    "meta_analysis": "evidence.meta_of_tables.MetaAnalysisAnalysis",
    "roc": "evidence.roc.RocAnalysis",
    "calibration": "evidence.calibration.CalibrationAnalysis",
}


class _Analyses(Mapping[str, type[Analysis]]):
    """Each is loaded when it is asked for: a party has use for one."""

    def __getitem__(self, kind: str) -> type[Analysis]:
        module, _, name = _FOUND_IN[kind].rpartition(".")
        analysis: type[Analysis] = getattr(import_module(f"{__package__}.{module}"), name)
        return analysis

    def __iter__(self) -> Iterator[str]:
        return iter(_FOUND_IN)

    def __len__(self) -> int:
        return len(_FOUND_IN)


ANALYSES: Mapping[str, type[Analysis]] = _Analyses()
