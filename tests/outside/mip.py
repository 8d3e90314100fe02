"""The validation suite of MIP (Exareme2, https://github.com/madgik/exareme2) played by this project: each data set is a
party, expected values are those that its authors computed with R, statsmodels, pingouin and scikit-learn.

    python tests/outside/mip.py FOLDER [--only anova,pca] [--levels rows] [--list]

``FOLDER`` has ``expected/*.json`` and ``test_data/``. Prints a table, and ends with status 1 where a case is wrong or
refused. Schemas are made from ``CDEsMetadata.json``: with all levels that it names, whether a row has them or not, or
with ``--levels rows`` those that the rows of a case have; a column without a range gets that of all data sets, up to a
power of ten. Counted as absent, since there is no such analysis: k-means, support vector machines, predictions of
naive Bayes, cross-validated models. Left out of what is played: Tukey's test, extremes, quartiles of single data sets,
Cohen's d of pairs.

What is peculiar about the expected values:

* the independent t-test is Welch's, but tells Student's degrees of freedom; Cohen's d of one sample has no sign;
* intervals are of 95 %, whatever ``alpha`` says, and one-sided with the alternative;
* eigenvalues are those of the correlations, with the sum of the number of columns;
* the variances of naive Bayes are over ``n``, with 1e-9 of the largest variance of a column added (scikit-learn's
  ``var_smoothing``); counts of levels end with the last level, in alphabetical order, that has a row;
* "all datasets" of descriptive statistics are those that say something of the column; a count of 0 is written null;
* ``r_squared_cs`` of logistic regressions is 0 throughout, and not compared;
* names of levels are in alphabetical order, and the first with a row is the reference.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import sottovoce as sv
from sottovoce.errors import SottovoceError

CLOSE = 1e-10  # relative
ENDED_AT = {"logistic_regression": 1e-8}  # where an iteration of theirs ended
ABSENT = "absent"


@dataclass
class Gaps:
    """How far our numbers are from theirs, relative to theirs, by name; the largest counts."""

    largest: float = 0.0
    where: str = ""

    def compare(self, name: str, ours: Any, theirs: Any, of: Any = 0.0) -> None:
        """``of``: a size below which a number is 0 but for chance, such as its standard error."""
        own, right = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        if own.shape != right.shape:
            self.note(math.inf, f"{name} has the shape {own.shape}, expected {right.shape}")
            return
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.abs(own - right) / np.maximum(np.abs(right), of)
        gap = np.where((own == right) | (np.isnan(own) & np.isnan(right)), 0.0, gap)
        self.note(float(np.nan_to_num(gap, nan=math.inf).max(initial=0.0)), name)

    def probabilities(self, name: str, ours: Any, theirs: Any) -> None:
        """By their logarithms: those of tails multiply the gap of a statistic by its square."""
        smallest = np.finfo(float).tiny
        logs = [np.log(np.maximum(np.asarray(p, dtype=float), smallest)) for p in (ours, theirs)]
        self.compare(name, *logs, of=1.0)

    def same(self, name: str, ours: Any, theirs: Any) -> None:
        """Of counts and names."""
        self.note(0.0 if ours == theirs else math.inf, f"{name}: {ours!r}, expected {theirs!r}")

    def note(self, gap: float, where: str) -> None:
        if gap > self.largest:
            self.largest, self.where = gap, where


@dataclass(frozen=True)
class Case:
    """One case of an algorithm, and the tables that it is about."""

    suite: Suite
    algorithm: str
    number: int
    content: dict[str, Any]

    @property
    def asked(self) -> dict[str, Any]:
        return dict(self.content["input"]["inputdata"])

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.content["input"]["parameters"])

    @property
    def output(self) -> dict[str, Any]:
        return dict(self.content["output"])

    @property
    def x(self) -> list[str]:
        return list(self.asked.get("x") or [])

    @property
    def y(self) -> list[str]:
        return list(self.asked["y"])

    @property
    def model(self) -> Model:
        return self.suite.model(self.asked["data_model"])

    def rows(self, names: Sequence[str], datasets: Sequence[str] | None = None) -> list[pd.DataFrame]:
        """A table for each data set; the rows of a single one in two halves, since nobody agrees with nobody."""
        chosen = self.asked["datasets"] if datasets is None else datasets
        tables = [self.model.rows(dataset)[list(dict.fromkeys(names))] for dataset in chosen]
        return tables if len(tables) > 1 else [tables[0].iloc[0::2], tables[0].iloc[1::2]]

    def study(self, names: Sequence[str], datasets: Sequence[str] | None = None) -> sv.Study:
        tables = self.rows(names, datasets)
        return study_of(tables, {name: self.column(name, tables) for name in tables[0]})

    def column(self, name: str, tables: Sequence[pd.DataFrame]) -> dict[str, Any]:
        """Of the schema; the reference is the first level, by name, that a row without missing values has."""
        column = self.model.column(name)
        if column["type"] != "category":
            return column
        there = sorted(pd.concat(tables).dropna()[name].unique())
        levels = self.asked["datasets"] if name == "dataset" else column["levels"]
        if self.suite.levels == "rows":
            levels = [level for level in levels if level in set(pd.concat(tables)[name].dropna())]
        return {**column, "levels": list(levels), "reference": (there or levels)[0]}

    def formula(self, response: str, joined: str = " + ") -> str:
        """Categories first, as their columns are."""
        categories = [name for name in self.x if self.model.column(name)["type"] == "category"]
        numbers = [name for name in self.x if name not in categories]
        return f"{response} ~ " + joined.join([*(f"C({name})" for name in categories), *numbers])


@dataclass
class Model:
    """A data model: its metadata, and the tables of its data sets."""

    folder: Path
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @cached_property
    def variables(self) -> dict[str, dict[str, Any]]:
        def walk(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
            yield from group.get("variables", [])
            for part in group.get("groups", []):
                yield from walk(part)

        metadata = json.loads((self.folder / "CDEsMetadata.json").read_text())
        return {variable["code"]: variable for variable in walk(metadata)}

    def column(self, name: str) -> dict[str, Any]:
        variable = self.variables[name]
        if variable["isCategorical"]:
            return {"type": "category", "levels": self.levels(name)}
        ends = [variable.get(key) for key in ("minValue", "maxValue")]
        largest = 10.0 ** math.ceil(math.log10(self.largest[name]))
        reach = (-largest, largest) if None in ends else tuple(map(float, ends))
        return {"type": "integer" if variable["sql_type"] == "int" else "number", "range": reach}

    def levels(self, name: str) -> list[str]:
        """Of a category; data sets are those that have a file."""
        codes = [level["code"] for level in self.variables[name]["enumerations"]]
        return [code for code in codes if name != "dataset" or (self.folder / f"{code}.csv").exists()]

    @cached_property
    def largest(self) -> dict[str, float]:
        """Of each column of numbers the largest absolute value in any data set; at least 0.1."""
        every = pd.concat([self.rows(path.stem) for path in sorted(self.folder.glob("*.csv"))])
        return {name: max(0.1, float(values.abs().max())) for name, values in every.select_dtypes("number").items()}

    def rows(self, dataset: str) -> pd.DataFrame:
        """Numbers as decimals are read, categories as text, None or NaN where a cell is empty."""
        if dataset not in self.tables:
            cells = pd.read_csv(self.folder / f"{dataset}.csv", dtype=str)
            known = [name for name in cells if name in self.variables]
            numbers = [name for name in known if self.variables[name]["sql_type"] in ("real", "int")]
            numbers = [name for name in numbers if not self.variables[name]["isCategorical"]]
            cells[numbers] = cells[numbers].map(float)
            self.tables[dataset] = cells[known].astype({name: object for name in known if name not in numbers})
        return self.tables[dataset]


@dataclass
class Suite:
    """The folder of the suite."""

    folder: Path
    levels: str = "metadata"
    models: dict[str, Model] = field(default_factory=dict)

    def model(self, name: str) -> Model:
        folder = self.folder / "test_data" / name.replace(":", "_v_").replace(".", "_")
        return self.models.setdefault(name, Model(folder))

    @property
    def algorithms(self) -> list[str]:
        return sorted(path.name.removesuffix("_expected.json") for path in (self.folder / "expected").glob("*.json"))

    def cases(self, algorithm: str) -> list[Case]:
        content = json.loads((self.folder / "expected" / f"{algorithm}_expected.json").read_text())
        return [Case(self, algorithm, number, one) for number, one in enumerate(content["test_cases"])]


def study_of(tables: Sequence[pd.DataFrame], schema: dict[str, Any]) -> sv.Study:
    n = len(tables)
    network = sv.Network.ring(n) if n > 2 else sv.Network.from_edges(2, [(0, 1)])
    return sv.Study(network, tables, schema=schema, missing="drop")


# What is played


def play_anova(case: Case, gaps: Gaps) -> None:
    fit = case.study([*case.x, *case.y]).linear(case.formula(case.y[0], " * "))
    found = fit.anova(case.options["sstype"]).set_index("term")
    found.index = [term.replace("C(", "").replace(")", "").replace("Residual", "Residuals") for term in found.index]
    output = case.output
    total = sum(output["sum_sq"].values())
    tested = [term for term in found.index if found.loc[term, "df"] > 0]
    gaps.same("terms", tested, [term for term, df in output["df"].items() if df > 0])
    for term in set(tested) & set(output["df"]):
        row = found.loc[term]
        gaps.same(f"df of {term}", row["df"], output["df"][term])
        gaps.compare(f"sum_sq of {term}", row["sum_sq"], output["sum_sq"][term], of=1e-4 * total)
        if term != "Residuals":
            gaps.compare(f"F of {term}", row["F"], output["f_stat"][term], of=1e-2)
            gaps.probabilities(f"p of {term}", row["p_value"], output["f_pvalue"][term])


def play_anova_oneway(case: Case, gaps: Gaps) -> None:
    test = case.study([*case.x, *case.y]).anova(case.y[0], by=case.x[0])
    output, n = case.output, np.asarray(test.n)
    gaps.same("n", int(n.sum()), output["n_obs"])
    gaps.same("df", test.df, (output["df_explained"], output["df_residual"]))
    within = np.nansum((n - 1) * np.asarray(test.variance, dtype=float))
    gaps.compare("within", within, output["ss_residual"])
    gaps.compare("between", within * test.statistic * test.df[0] / test.df[1], output["ss_explained"], of=1e-4 * within)
    gaps.compare("F", test.statistic, output["f_stat"], of=1e-2)
    gaps.probabilities("p", test.pvalue, output["p_value"])
    means = dict(zip(test.levels, np.asarray(test.mean, dtype=float).tolist(), strict=True))
    for pair in output["tuckey_test"]:
        for side in "AB":
            gaps.compare(f"mean of {pair[f'group{side}']}", means[pair[f"group{side}"]], pair[f"mean{side}"])


def play_descriptive_stats(case: Case, gaps: Gaps) -> None:
    for kind in ("variable_based", "model_based"):
        entries = case.output[kind]
        every = list(dict.fromkeys(entry["variable"] for entry in entries))
        for entry in entries:
            if entry["dataset"] != "all datasets" or entry["data"] is None:
                continue
            name, data = entry["variable"], entry["data"]
            telling = {e["dataset"] for e in entries if e["variable"] == name and e["data"] is not None}
            datasets = [dataset for dataset in case.asked["datasets"] if dataset in telling]
            names = [name] if kind == "variable_based" else every
            compare_description(gaps, case.study(names, datasets), name, data, kind == "variable_based")


def compare_description(gaps: Gaps, study: sv.Study, name: str, data: dict[str, Any], alone: bool) -> None:
    found = study.describe([name] if alone else None, quartiles=False)
    gaps.same(f"rows of {name}", found.observations, data["num_dtps"])
    if alone:
        gaps.same(f"rows without {name}", (found.dropped or {}).get("rows"), data["num_na"])
    if "counts" in data:
        counts = dict(zip(found.levels(name), found.counts(name)[:, 0].tolist(), strict=True))
        gaps.same(f"counts of {name}", {level: count for level, count in counts.items() if count}, data["counts"])
        return
    place = found.names.index(name)
    gaps.compare(f"mean of {name}", np.asarray(found.mean)[place, 0], data["mean"])
    gaps.compare(f"sd of {name}", np.asarray(found.sd)[place, 0], data["std"])


def play_multiple_histograms(case: Case, gaps: Gaps) -> None:
    for one in case.output["histogram"]:
        assert one["grouping_var"] is None, "a histogram by group is not played yet"
        right = [count or 0 for count in one["counts"]]
        study = case.study([one["var"]])
        if case.model.column(one["var"])["type"] == "category":
            found = study.histogram(one["var"])
            counts = dict(zip(found.levels, np.asarray(found.counts).tolist(), strict=True))
            ours = [counts.get(level, 0) for level in one["bins"]]
        else:
            found = study.histogram(one["var"], bins=one["bins"])
            ours = np.asarray(found.counts).tolist()
            gaps.same("values outside", (found.below, found.above), (0, 0))
        gaps.same(f"counts of {one['var']}", ours, right)


def estimated(fit: Any) -> dict[str, int]:
    """The places of what is estimated, by the names of MIP, ``sex[F]``; a column that follows from others may be named
    without an estimate."""
    places = [place for place in range(len(fit.terms)) if np.isfinite(fit.params[place])]
    return {fit.terms[place].replace("C(", "").replace(")[T.", "["): place for place in places}


def play_linear_regression(case: Case, gaps: Gaps) -> None:
    fit = case.study([*case.x, *case.y]).linear(case.formula(case.y[0]))
    output = case.output
    at = estimated(fit)
    gaps.same("terms", sorted(at), sorted(output["indep_vars"]))
    places = [at[term] for term in output["indep_vars"] if term in at]
    if len(places) < len(output["indep_vars"]):
        return
    errors, interval = np.array(output["std_err"]), fit.conf_int()[places].T
    gaps.same("n", (fit.nobs, fit.df_resid, fit.df_model), tuple(output[k] for k in ("n_obs", "df_resid", "df_model")))
    gaps.compare("coefficients", fit.params[places], output["coefficients"], of=errors)
    gaps.compare("errors", fit.bse[places], output["std_err"])
    gaps.compare("t", fit.tvalues[places], output["t_stats"], of=1.0)
    gaps.probabilities("p", fit.pvalues[places], output["pvalues"])
    gaps.compare("lower ends", interval[0], output["lower_ci"], of=errors)
    gaps.compare("upper ends", interval[1], output["upper_ci"], of=errors)
    gaps.compare("residual deviation", math.sqrt(fit.scale), output["rse"])
    gaps.compare(
        "R-squared", (fit.rsquared, fit.rsquared_adj), (output["r_squared"], output["r_squared_adjusted"]), 1e-2
    )
    gaps.compare("F", fit.fvalue, output["f_stat"], of=1e-2)
    gaps.probabilities("p of F", fit.f_pvalue, output["f_pvalue"])


def play_logistic_regression(case: Case, gaps: Gaps) -> None:
    """The response is recoded where it is: whether a row has the positive class."""
    tables = case.rows([*case.x, *case.y])
    schema = {name: case.column(name, tables) for name in case.x} | {"positive": "boolean"}
    recoded = []
    for table in tables:
        response = table[case.y[0]]
        positive = (response == case.options["positive_class"]).astype(object).where(response.notna(), None)
        recoded.append(table[case.x].assign(positive=positive))
    fit = study_of(recoded, schema).glm(case.formula("positive"), family="binomial")
    output = case.output
    at = estimated(fit)
    levels = [f"{name}[{level}]" for name in case.x for level in sorted(schema[name].get("levels", ()))]
    places = [at[name] for name in ["Intercept", *levels, *case.x] if name in at]  # theirs have no names
    errors, interval = np.array(output["stderr"]), fit.conf_int()[places].T
    gaps.same("n", (fit.nobs, fit.df_resid, fit.df_model), tuple(output[k] for k in ("n_obs", "df_resid", "df_model")))
    gaps.compare("coefficients", fit.params[places], output["coefficients"], of=errors)
    gaps.compare("errors", fit.bse[places], output["stderr"])
    gaps.compare("z", fit.tvalues[places], output["z_scores"], of=1.0)
    gaps.probabilities("p", fit.pvalues[places], output["pvalues"])
    gaps.compare("lower ends", interval[0], output["lower_ci"], of=errors)
    gaps.compare("upper ends", interval[1], output["upper_ci"], of=errors)
    gaps.compare("likelihoods", (fit.llf, fit.llnull), (output["ll"], output["ll0"]))
    gaps.compare("criteria", (fit.aic, fit.bic), (output["aic"], output["bic"]))
    gaps.compare("R-squared", fit.pseudo_rsquared(), output["r_squared_mcf"], of=1e-1)


def play_pca(case: Case, gaps: Gaps) -> None:
    found = case.study(case.y).pca(case.y, standardize=True)
    output, n = case.output, found.nobs
    right = np.array(output["eigen_vals"])
    gaps.same("n", n, output["n_obs"])
    gaps.compare("eigenvalues", found.explained_variance * (n - 1) / n, right)
    ours, theirs = np.asarray(found.components), np.array(output["eigen_vecs"])
    signs = np.sign((ours * theirs).sum(axis=1))
    apart = np.abs(right[:, None] - right[None, :]) + np.where(np.eye(len(right)), np.inf, 0.0)
    # What is known of a component is what is known of eigenvalues over the distance of its own from the next.
    weights = (signs * apart.min(axis=1))[:, None], apart.min(axis=1)[:, None]
    gaps.compare("components", ours * weights[0], theirs * weights[1], of=1.0)


def play_ttest_independent(case: Case, gaps: Gaps) -> None:
    groups = case.options["groupA"], case.options["groupB"]
    test = case.study([*case.x, *case.y]).t_test(case.y[0], by=case.x[0], levels=groups)
    output, n = case.output, np.asarray(test.n)
    gaps.same("df", int(n.sum() - 2), output["df"])
    pooled = math.sqrt(float(((n - 1) * np.asarray(test.variance, dtype=float)).sum() / (n.sum() - 2)))
    gaps.compare("Cohen's d", test.difference / pooled, output["cohens_d"], of=1e-2)
    compare_t_test(gaps, test, case, output["se_difference"])


def play_ttest_onesample(case: Case, gaps: Gaps) -> None:
    test = case.study(case.y).t_test(case.y[0], mu=case.options["mu"])
    output = case.output
    gaps.same("n", (int(np.sum(test.n)), test.df), (output["n_obs"], output["df"]))
    sd = math.sqrt(float(np.asarray(test.variance, dtype=float)[0]))
    gaps.compare("Cohen's d", abs(test.difference - test.mu) / sd, output["cohens_d"], of=1e-2)
    compare_t_test(gaps, test, case, output["se_diff"][0])


def play_ttest_paired(case: Case, gaps: Gaps) -> None:
    test = case.study([*case.x, *case.y]).t_test(case.x[0], paired=case.y[0])
    output = case.output
    gaps.same("n", (int(np.sum(test.n)), test.df), (output["n_obs"], output["df"][0]))
    compare_t_test(gaps, test, case, output["se_difference"][0])


def compare_t_test(gaps: Gaps, test: Any, case: Case, error: float) -> None:
    """With the alternative of the case, by the result's own degrees of freedom."""

    def one(value: Any) -> float:
        return float(value[0] if isinstance(value, list) else value)

    output, alternative = case.output, case.options["alt_hypothesis"]
    statistic = test.statistic
    gaps.compare("t", statistic, one(output.get("statistic", output.get("t_value"))), of=1.0)
    gaps.compare("difference", test.difference, one(output["mean_diff"]), of=error)
    gaps.compare("error", test.std_error, error)
    sided = {"less": statistic, "greater": -statistic, "two-sided": -abs(statistic)}[alternative]
    p = float(special.stdtr(test.df, sided)) * (2 if alternative == "two-sided" else 1)
    gaps.probabilities("p", p, one(output["p_value"]))
    reach = float(special.stdtrit(test.df, 0.975 if alternative == "two-sided" else 0.95)) * test.std_error
    low = -math.inf if alternative == "less" else test.difference - reach
    high = math.inf if alternative == "greater" else test.difference + reach
    gaps.compare("interval", (low, high), (one(output["ci_lower"]), one(output["ci_upper"])), of=error)


def play_naive_bayes_gauss_fit(case: Case, gaps: Gaps) -> None:
    found = case.study([*case.y, *case.x]).table_one(by=case.y[0], columns=case.x)
    n, output = np.asarray(found.n), case.output
    order = [k for k in np.argsort(found.groups).tolist() if n[k]]
    places = [found.names.index(name) for name in case.x]
    mean, sd = (np.asarray(values, dtype=float)[np.ix_(places, order)].T for values in (found.mean, found.sd))
    n = n[order]
    gaps.same("rows of classes", n.tolist(), output["class_count"])
    if mean.shape != np.shape(output["theta"]):
        return gaps.note(math.inf, f"{len(n)} classes, expected {len(output['theta'])}")
    variance = np.where(n[:, None] > 1, sd**2 * (n[:, None] - 1) / n[:, None], 0.0)
    centre = n @ mean / n.sum()
    spread = n @ (variance + (mean - centre) ** 2) / n.sum()
    gaps.compare("means", mean, output["theta"])
    gaps.compare("variances", variance + 1e-9 * spread.max(), output["var"], of=1e-9 * spread.max())


def play_naive_bayes_categorical_fit(case: Case, gaps: Gaps) -> None:
    found = case.study([*case.y, *case.x]).table_one(by=case.y[0], columns=case.x)
    n, output = np.asarray(found.n), case.output
    order = [k for k in np.argsort(found.groups).tolist() if n[k]]
    gaps.same("rows of classes", n[order].tolist(), output["class_count"])
    for name, right in zip(case.x, output["category_count"], strict=True):
        counts = dict(zip(found.levels(name), found.counts(name)[:, order].tolist(), strict=True))
        every = sorted(case.model.levels(name))
        table = np.array([counts.get(level, [0] * len(order)) for level in every]).T
        gaps.same(f"counts of {name}", table[:, : len(right[0])].tolist(), right)
        gaps.same(f"counts beyond those of {name}", int(table[:, len(right[0]) :].sum()), 0)


PLAYERS: dict[str, Callable[[Case, Gaps], None]] = {
    name.removeprefix("play_"): player for name, player in list(globals().items()) if name.startswith("play_")
}


# The table


def played(case: Case) -> tuple[str, float, str]:
    """``pass``, ``wrong``, ``refused`` or ``absent``; the largest gap; where it is, or why there is none."""
    player = PLAYERS.get(case.algorithm)
    if player is None:
        return ABSENT, math.nan, ""
    gaps = Gaps()
    try:
        player(case, gaps)
    except SottovoceError as error:
        return "refused", math.nan, f"{type(error).__name__}: {error}"
    is_close = gaps.largest <= ENDED_AT.get(case.algorithm, CLOSE)
    return "pass" if is_close else "wrong", gaps.largest, gaps.where


def main() -> int:
    parser = argparse.ArgumentParser(description="Plays the validation suite of MIP.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="algorithms, with commas between them")
    parser.add_argument("--levels", choices=["metadata", "rows"], default="metadata", help="which levels schemas have")
    parser.add_argument("--list", action="store_true", help="a line for each case that is wrong or refused")
    given = parser.parse_args()
    suite = Suite(given.folder, given.levels)
    chosen = given.only.split(",") if given.only else suite.algorithms
    if unknown := set(chosen) - set(suite.algorithms):
        parser.error(f"no algorithm {', '.join(sorted(unknown))}; there are {', '.join(suite.algorithms)}.")
    total: Counter[str] = Counter()
    print(f"{'algorithm':30}{'cases':>6}{'pass':>6}{'refused':>8}{'wrong':>6}{'absent':>7}   largest gap")
    for algorithm in chosen:
        counts, worst = Counter[str](), 0.0
        for case in suite.cases(algorithm):
            verdict, gap, where = played(case)
            counts[verdict] += 1
            worst = max(worst, gap) if gap == gap else worst
            if given.list and verdict in ("wrong", "refused"):
                print(f"  {algorithm} {case.number}: {verdict}, {gap:.1e} {where}", flush=True)
        total += counts
        print(line(algorithm, counts) + (f"   {worst:.1e}" if counts["pass"] + counts["wrong"] else ""), flush=True)
    print(line("all", total))
    return int(total["wrong"] + total["refused"] > 0)


def line(name: str, counts: Counter[str]) -> str:
    numbers = f"{counts['pass']:>6}{counts['refused']:>8}{counts['wrong']:>6}{counts[ABSENT]:>7}"
    return f"{name:30}{sum(counts.values()):>6}{numbers}"


if __name__ == "__main__":
    sys.exit(main())
