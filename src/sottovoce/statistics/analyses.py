"""All analyses by the name that files and policies call them, the table ``[statistic]`` that asks for one, and answers
in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any

import numpy as np

from ..data.formula.factors import spelled
from ..data.schema import Schema
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, shown
from ..pdmm.result import Status
from .analysis import Analysis
from .fewer_digits import Digits
from .gone import refuse_gone
from .of_tables import Asked, ask_analysis
from .statistic import Statistic, Value

_FOUND_IN = {
    "mean": "pooled.MeanAnalysis",
    "variance": "pooled.VarianceAnalysis",
    "covariance": "pooled.CovarianceAnalysis",
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
    "kaplan_meier": "survival.curves.KaplanMeierAnalysis",
    "nelson_aalen": "survival.curves.NelsonAalenAnalysis",
    "log_rank": "survival.log_rank.LogRankAnalysis",
    "crosstab": "groups.contingency.CrosstabAnalysis",
    "t_test": "groups.comparison.TTestAnalysis",
    "anova": "groups.comparison.AnovaAnalysis",
    "levene": "groups.comparison.LeveneAnalysis",
    "quantiles": "groups.quantiles.QuantilesAnalysis",
    "describe": "groups.cohort.DescribeAnalysis",
    "table_one": "groups.cohort.TableOneAnalysis",
    "mantel_haenszel": "evidence.mantel_haenszel.MantelHaenszelAnalysis",
    "meta_analysis": "evidence.meta_analysis.MetaAnalysisAnalysis",
    "roc": "evidence.scores.RocAnalysis",
    "calibration": "evidence.scores.CalibrationAnalysis",
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
RULES = ("missing", "empty_levels", "digits")  # of every question
EQUATION = ("features", "target", "intercept")  # in the place of a formula, where columns are numbers
TEXTS = "Value[tuple[str, ...]]"


def read_asked(table: Table, schema: Schema, digits: Digits | None = "full") -> Asked:
    """What ``[statistic]``, without data, asks of tables under a schema; ``InvalidFile`` with key and line where it
    cannot. ``digits``: where the table does not say, as ``ask_analysis`` takes them."""
    analysis, keys = read_kind(table)
    options = {key: table.get(key) for key in keys if key in table}
    if "formula" in keys and any(key in table for key in EQUATION):
        options["formula"] = formula_of(table)
    for field in fields(analysis):
        if field.default is MISSING and field.name != "schema" and field.name not in options:
            raise table.refuse(field.name, f"is missing. type = {shown(analysis.type)} needs it.")
    missing: Any = table.string("missing", "raise")
    empty_levels: Any = table.string("empty_levels", "keep")
    told: Any = table.string("digits") if "digits" in table else digits
    try:
        return ask_analysis(analysis, schema, missing=missing, empty_levels=empty_levels, digits=told, **options)
    except InvalidInput as error:
        raise _at_its_key(table, error) from None


def read_kind(table: Table, more: Sequence[str] = ()) -> tuple[type[Analysis], list[str]]:
    """The analysis and its options; keys that are none of these, and none of ``more``, are refused."""
    refuse_gone(table)
    analysis = ANALYSES[table.choice("type", tuple(ANALYSES))]
    keys = [field.name for field in fields(analysis) if field.name != "schema"]
    table.refuse_unknown(("type", *RULES, *keys, *(EQUATION if "formula" in keys else ()), *more))
    return analysis, keys


def formula_of(table: Table) -> str:
    """The formula that ``features``, ``target`` and ``intercept`` stand for."""
    if "formula" in table:
        key = next(key for key in EQUATION if key in table)
        raise table.refuse(key, "and formula are both given. Keep formula: it says all of it.")
    features, target = table.strings("features"), table.string("target")
    if target in features:
        raise table.refuse("features", f"contains the target {target!r}.")
    intercept = table.get("intercept", True)
    if not isinstance(intercept, bool):
        raise table.refuse("intercept", f"must be true or false; got {shown(intercept)}.")
    terms = [*([] if intercept else ["0"]), *map(spelled, features)]
    return f"{spelled(str(target))} ~ {' + '.join(terms)}"


def _at_its_key(table: Table, error: InvalidInput) -> InvalidFile:
    """A sentence that begins with a key is about that; another one is about what is asked."""
    key, _, why = str(error).partition(" ")
    if key.rstrip(":") in table:
        return table.refuse(key.rstrip(":"), why if key in table else f"cannot be used: {why}")
    about = next((name for name in ("formula", "columns", "features") if name in table), "type")
    return table.refuse(about, f"cannot be used: {why if key == 'formula:' else f'{key} {why}'}")


def restored(kind: str, answer: dict[str, Any], parties: int) -> Statistic:
    """The statistic that a party wrote as ``to_dict`` to its result file."""
    family, status = ANALYSES[kind].gives, Status(answer["status"])
    of_values = (field for field in fields(family) if isinstance(getattr(family, field.name, None), Value))
    types = {field.name: str(field.type) for field in of_values}
    values = {name: _unplain(answer[name]) for name in types if name in answer}
    values |= {name: tuple(answer[name]) for name in values if types[name] == TEXTS}  # of none as well
    if kind == "histogram" and status is Status.CONVERGED:
        values.setdefault("levels", ())
    left_out = answer.get("empty_levels")
    empty = None if left_out is None else {name: tuple(levels) for name, levels in left_out.items()}
    return family(status, parties, answer.get("dropped"), empty, answer.get("digits", "full"), **values)


def _unplain(value: Any) -> Any:
    """What ``plain`` made a list of."""
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], str):
        return tuple(value)
    array = np.array(value)
    return np.array(value, dtype=np.float64) if array.dtype == object else array  # None stands for NaN


def table(statistic: Statistic) -> tuple[list[str], list[list[Any]]]:
    """A header, and a row per term, column or bin."""
    from .histogram import Histogram  # an answer of another kind needs none

    if isinstance(statistic, Histogram) and not statistic.levels:
        edges = statistic.edges.tolist()
        starts, ends = [None, *edges[:-1], edges[-1]], [edges[0], *edges[1:], None]
        counts = [statistic.below, *statistic.counts.tolist(), statistic.above]
        return ["from", "to", "count"], [list(row) for row in zip(starts, ends, counts, strict=True)]
    columns = statistic._columns()
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
