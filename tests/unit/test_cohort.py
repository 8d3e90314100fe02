"""The cohort of examples/: its script, its regression against statsmodels on pooled data, and mistakes in its file."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.data.party_tables import PARTY_TABLE_KEYS
from sottovoce.runtime import read_plan
from sottovoce.statistics.statistic_file import read_statistic_file

COHORT = Path(__file__).parents[2] / "examples" / "cohort"
FORMULA = "recovery ~ age + sex * dose + smoker + log(crp) + treatment"
USED = ["age", "sex", "smoker", "crp", "dose", "treatment", "recovery"]
LEVELS = ["drug A", "drug B", "standard", "surgery"]


def sottovoce(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def solved(path: Path) -> dict[str, Any]:
    done = sottovoce("solve", path, "--json")
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """The folder, to be spoilt."""
    return Path(shutil.copytree(COHORT, tmp_path / "cohort"))


def asking(folder: Path, statistic: str, *more: str) -> Path:
    """A file that asks something else of the same tables."""
    lines = (folder / "problem.toml").read_text().splitlines()
    first, last = lines.index("[statistic]"), lines.index("[[statistic.parties]]")
    path = folder / "other.toml"
    path.write_text("\n".join([*lines[:first], "[statistic]", statistic, *lines[last:], *more]) + "\n")
    return path


@pytest.fixture(scope="module")
def pooled() -> pd.DataFrame:
    """All rows, cleaned by hand: nothing here is of the library."""
    frames = []
    for name in ("h1", "h2", "h3", "h4", "h5"):
        if name == "h3":
            frame = pd.read_parquet(COHORT / "h3.parquet")
            frame["smoker"] = frame["smoker"].map({True: 1.0, False: 0.0})
        else:
            with open(COHORT / f"{name}.csv", newline="", encoding="utf-8-sig") as file:
                frame = pd.DataFrame(list(csv.DictReader(file, delimiter=";" if name == "h2" else ",")))
            frame = frame.replace({"": None, "NA": None, "-9": None})
            for column in ("age", "crp", "dose", "recovery"):
                frame[column] = [
                    np.nan if cell is None else float(cell.replace(",", ".")) for cell in frame[column].to_list()
                ]
            frame["smoker"] = frame["smoker"].map({"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0})
        frame["death"] = frame["death"].map({True: 1.0, False: 0.0, "true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0})
        frame["days"] = frame["days"].astype(float)
        used = frame[[*USED, "admitted", "death", "days"]]
        frames.append(used.astype({"sex": object, "treatment": object}).assign(hospital=name))
    return pd.concat(frames, ignore_index=True)


def test_the_script_makes_the_files(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    runpy.run_path(str(COHORT / "make.py"))["write"](tmp_path)
    names = {path.name for path in COHORT.iterdir() if path.suffix in (".csv", ".parquet")}
    assert {path.name for path in tmp_path.iterdir()} == names == {"h1.csv", "h2.csv", "h3.parquet", "h4.csv", "h5.csv"}
    for name in names - {"h3.parquet"}:
        assert (tmp_path / name).read_bytes() == (COHORT / name).read_bytes(), name
    made, kept = (parquet.read_table(folder / "h3.parquet") for folder in (tmp_path, COHORT))
    assert made.schema.equals(kept.schema)
    assert made.equals(kept)
    assert sum(path.stat().st_size for path in COHORT.iterdir() if path.is_file()) < 100_000


def test_it_is_as_messy_as_it_says(pooled: pd.DataFrame) -> None:
    by = pooled.groupby("hospital")
    assert (COHORT / "h2.csv").read_bytes().startswith(b"\xef\xbb\xbfid;")
    assert {"NA", "-9", ""} <= {cell for row in csv.reader((COHORT / "h4.csv").open()) for cell in row}
    assert by.size().to_dict()["h5"] == 12
    assert set(by.get_group("h5")["treatment"]) == set(LEVELS) - {"surgery"}
    assert set(by.get_group("h1")["treatment"]) == set(LEVELS)


def test_the_regression_is_that_of_the_pooled_rows(pooled: pd.DataFrame) -> None:
    ols = pytest.importorskip("statsmodels.formula.api").ols
    complete = pooled.dropna(subset=USED)
    model = FORMULA.replace("log", "np.log").replace("treatment", "C(treatment, Treatment('standard'))")
    fit = ols(model, complete).fit()
    found = solved(COHORT / "problem.toml")
    answer = found["answer"]
    assert answer["terms"] == [
        "Intercept", "age", "sex[T.m]", "dose", "smoker", "log(crp)", "treatment[T.drug A]", "treatment[T.drug B]",
        "treatment[T.surgery]", "sex[T.m]:dose",
    ]  # fmt: skip
    theirs = [
        "Intercept", "age", "sex[T.m]", "dose", "smoker", "np.log(crp)",
        *(f"C(treatment, Treatment('standard'))[T.{level}]" for level in LEVELS if level != "standard"),
        "sex[T.m]:dose",
    ]  # fmt: skip
    np.testing.assert_allclose(answer["params"], fit.params[theirs], rtol=1e-12)
    np.testing.assert_allclose(answer["bse"], fit.bse[theirs], rtol=1e-12)
    assert answer["nobs"] == len(complete) == 425
    gaps = pooled[USED].isna()
    assert answer["dropped"] == {"rows": int(gaps.any(axis=1).sum()), **{name: int(gaps[name].sum()) for name in USED}}
    assert (found["statistic"]["formula"], found["statistic"]["missing"]) == (FORMULA, "drop")


def test_the_models_of_death_are_those_of_the_pooled_rows(pooled: pd.DataFrame) -> None:
    api = pytest.importorskip("statsmodels.api")
    complete = pooled.dropna(subset=["age", "crp", "sex", "death", "days"])
    design = np.column_stack([complete["age"] / 10, np.log(complete["crp"]), complete["sex"] == "m"]).astype(float)
    binomial = api.GLM(complete["death"], api.add_constant(design), family=api.families.Binomial()).fit(tol=1e-14)
    hazard = api.PHReg(
        complete["days"], design, complete["death"], strata=complete["hospital"], ties="efron"
    ).fit(tol=1e-12)  # fmt: skip
    terms = ["I(age / 10)", "log(crp)", "sex[T.m]"]
    for file, first, theirs in (("logistic.toml", ["Intercept"], binomial), ("cox.toml", [], hazard)):
        answer = solved(COHORT / file)["answer"]
        assert answer["terms"] == first + terms
        assert answer["nobs"] == len(complete)
        np.testing.assert_allclose(answer["params"], np.asarray(theirs.params), rtol=1e-12)
        np.testing.assert_allclose(answer["bse"], np.asarray(theirs.bse), rtol=1e-12)


def test_the_plan_asks_the_same() -> None:
    plan, file = read_plan(COHORT / "plan.toml"), read_statistic_file(COHORT / "problem.toml")
    assert plan.question.asked is not None
    # Between machines sums have fewer digits, unless a plan says otherwise.
    assert plan.question.asked.to_dict() == file.asked.to_dict() | {"digits": "statistical"}
    assert plan.question.schema == file.asked.schema
    assert [party.name for party in plan.parties] == file.parties
    assert np.array_equal(plan.network.edges, file.network.edges)


def test_solve_prints_the_table_and_writes_it(cohort: Path) -> None:
    out, plot = cohort / "answer.csv", cohort / "answer.png"
    done = sottovoce("solve", cohort / "problem.toml", "--out", out, "--plot", plot)
    assert done.exit_code == 0, done.stderr
    assert "37 rows dropped for missing values: age 3, sex 1, smoker 12, crp 15, dose 5, treatment 1" in done.stdout
    said = " ".join(done.stdout.split())
    assert "the rows left out for missing values, and by column those in which it is missing" in said
    rows = list(csv.DictReader(out.open()))
    assert [row["term"] for row in rows][6:8] == ["treatment[T.drug A]", "treatment[T.drug B]"]
    assert plot.stat().st_size > 1000


def test_columns_of_other_types(cohort: Path, pooled: pd.DataFrame) -> None:
    """Counts of levels, the share that is true, days of dates; inline, a schema asks the same."""
    counts = solved(asking(cohort, "type = 'histogram'\ncolumns = ['treatment']\nmissing = 'drop'"))["answer"]
    assert counts["levels"] == LEVELS
    assert counts["counts"] == [int((pooled["treatment"] == level).sum()) for level in LEVELS]
    assert counts["dropped"] == {"rows": 1, "treatment": 1}
    share = solved(asking(cohort, "type = 'mean'\ncolumns = ['smoker', 'crp']\nmissing = 'drop'"))
    complete = pooled.dropna(subset=["smoker", "crp"])
    np.testing.assert_allclose(share["answer"]["mean"], complete[["smoker", "crp"]].astype(float).mean(), 1e-14)
    days = solved(asking(cohort, "type = 'mean'\ncolumns = ['admitted']\nmissing = 'drop'"))["answer"]
    known = [cell if isinstance(cell, date) else date.fromisoformat(cell) for cell in pooled["admitted"].dropna()]
    assert days["mean"][0] == pytest.approx(np.mean([(day - date(1970, 1, 1)).days for day in known]), rel=1e-15)
    dates = "bins = [2022-01-01, 2022-07-01, 2023-01-01, 2024-01-01]"
    halves = solved(asking(cohort, f"type = 'histogram'\ncolumns = ['admitted']\nmissing = 'drop'\n{dates}"))["answer"]
    assert halves["counts"][0] == sum(day < date(2022, 7, 1) for day in known)
    assert (halves["below"], sum(halves["counts"]), halves["above"]) == (0, len(known), 0)


def test_the_schema_may_stand_in_the_file_and_files_may_be_a_list(cohort: Path) -> None:
    (cohort / "inline.toml").write_text(
        "[network]\ngenerator = 'complete'\n"
        + (cohort / "schema.toml").read_text()
        + "[statistic]\ntype = 'mean'\ncolumns = ['dose']\nmissing = 'drop'\n"
        + "files = ['h1.csv', 'h5.csv', 'h3.parquet', 'h4.csv']\n"
    )
    file = read_statistic_file(cohort / "inline.toml")
    assert file.parties == ["h1", "h5", "h3", "h4"]
    assert file.solve().dropped == {"rows": 5, "dose": 5}


def test_an_audit_finds_that_the_procedure_adds_nothing(cohort: Path) -> None:
    """Uniform pads: whatever is learned is in the sums of honest components."""
    path = asking(cohort, "type = 'mean'\ncolumns = ['age']\nmissing = 'drop'")
    done = sottovoce("audit", path, "--max-corrupt", 1, "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["verdict"], report["guarantee"]) == ("safe", "exact")
    assert report["excess"] == [0.0] * 5


HEAVY = (
    "pyarrow",
    "pyarrow.csv",
    "pyarrow.parquet",
    "duckdb",
    "adbc_driver_postgresql",
    "narwhals",
    "pandas",
    "polars",
)


def test_numbers_need_no_extra_and_tables_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HEAVY:
        monkeypatch.setitem(sys.modules, name, None)
    assert solved(COHORT.parent / "hospitals" / "problem.toml")["answer"]["nobs"] == 52
    done = sottovoce("solve", COHORT / "problem.toml")
    assert done.exit_code == 2
    assert "pip install 'sottovoce[data]'" in " ".join(done.stderr.split())


# Mistakes

MISTAKES: dict[str, tuple[str, str, str]] = {
    "key": ("missing =", "mising =", "line 15: [statistic] mising is not a known key; did you mean 'missing'?"),
    "name": ("+ log(crp)", "+ log(crop)", "line 14: [statistic] formula cannot be used: 'crop' is no column of the"),
    "grammar": ("log(crp)", "crp.__class__", "line 14: [statistic] formula cannot be used:"),
    "category": ("age + sex * dose", "log(sex)", "'sex' is a category, and no number to use in 'log(sex)'"),
    "no formula": ('formula = "recovery ~', 'columns = "recovery ~', "line 14: [statistic] columns is not a known key"),
    "both": ("missing =", "features = ['age']\nmissing =", "line 15: [statistic] features and formula are both given."),
    "maybe": ('"drop"', '"maybe"', 'line 15: [statistic] missing must be "raise" or "drop"; got \'maybe\'.'),
    "raise": ('"drop"', '"raise"', "party h1: "),
    "no file": ('"h4.csv"', '"h6.csv"', "h6.csv does not exist."),
    "no file's line": ('"h4.csv"', '"h6.csv"', "line 31: [[statistic.parties]] number 4 data cannot be used:"),
    "suffix": ('"h4.csv"', '"h4.xls"', "what it holds cannot be told from its name"),
    "party's key": ('name = "h4"', 'nam = "h4"', "line 30: [[statistic.parties]] number 4 nam is not a known key"),
    "source": ('source = "csv"', 'source = "csw"', "line 23: [[statistic.parties]] number 2 data cannot be used"),
    "option": ("decimal", "decimals", "decimals is no key of source = 'csv'; did you mean 'decimal'?"),
    "delimiter": ('delimiter = ";", ', "", 'Is the file separated by ";"? Then set delimiter = ";".'),
    "comma": (', decimal = ","', "", "line 23: party h2: "),
    "rows": ('data = "h1.csv"', "rows = [[1.0]]", "line 19: [[statistic.parties]] number 1 rows has no meaning with"),
    "two of a name": ('name = "h2"', 'name = "h1"', "[statistic] parties has two parties named 'h1'."),
    "file of all": ("missing =", "file = 'all.csv'\nmissing =", "line 15: [statistic] file has no meaning with"),
    "schema's file": ('"schema.toml"', '"scheme.toml"', "line 10: [schema] file cannot be used:"),
    "file and columns": ("[statistic]", "age = 'number'\n[statistic]", "age and file are both given"),
    "no schema": ('[schema]\nfile = "schema.toml"', "", "line 18: [[statistic.parties]] number 1 data is not"),
    "cost": ("[statistic", "[cost", "line 9: [schema] is for the tables of a [statistic]. Remove it."),
    "option of another": ("missing =", "ddof = 1\nmissing =", "line 15: [statistic] ddof is not a known key."),
    "scale": ("missing =", "scale = { ag = 10 }\nmissing =", "[statistic] scale is gone: sums are exact"),
    "mask": ("[statistic]\n", "[mask]\ntype = 'modular'\n[statistic]\n", "[mask] is gone beside [statistic]"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_gets_a_sentence(cohort: Path, what: str) -> None:
    old, new, sentence = MISTAKES[what]
    path = cohort / "problem.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    done = sottovoce("solve", path)
    assert done.exit_code == 2
    said = done.stderr.replace("\n", " ")
    assert str(path) in said
    assert sentence in " ".join(said.split()), said
    assert "Traceback" not in said


SCHEMA_MISTAKES = {
    "no type": ('type = "integer"\n', "", "schema.toml, line 4: [schema.age] type is missing"),
    "type": ('"integer"', '"int"', "schema.toml, line 5: [schema.age] type = 'int' is not known"),
    "key": ("reference =", "referenz =", "line 39: [schema.treatment] referenz is not a known key; did you mean"),
    "level": ('reference = "standard"', 'reference = "none"', "reference 'none' is none of its levels"),
    "more": ("[schema.age]", "[network]\n[schema.age]", "'network' has no place here: the file has [schema] alone."),
    "range": (
        "range = [18, 110]",
        "range = [18, 60]",
        "h1.csv: column 'age': out of range (from 18 to 60 years) in 45 rows",
    ),
}


@pytest.mark.parametrize("what", SCHEMA_MISTAKES)
def test_a_mistake_in_the_schema_gets_a_sentence(cohort: Path, what: str) -> None:
    old, new, sentence = SCHEMA_MISTAKES[what]
    path = cohort / "schema.toml"
    path.write_text(path.read_text().replace(old, new))
    done = sottovoce("solve", cohort / "problem.toml")
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize(
    "data",
    [
        '{ source = "postgresql", query = "SELECT 1", password = "geheim" }',
        '"postgresql://ada:geheim@localhost/ward"',
        '{ file = "postgresql://ada:geheim@localhost/ward" }',
        '{ source = "postgresql", host = "postgresql://ada:geheim@localhost", query = "SELECT 1" }',
    ],
)
def test_a_password_has_no_place_in_a_problem_file(cohort: Path, data: str) -> None:
    path = cohort / "problem.toml"
    path.write_text(path.read_text().replace('"h4.csv"', data))
    done = sottovoce("solve", path)
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "line 31: [[statistic.parties]] number 4 data cannot be used:" in said
    assert "password_env" in said
    assert "geheim" not in done.output + done.stderr


def test_a_list_of_files_has_no_place_for_a_password_either(cohort: Path) -> None:
    path = asking(cohort, "type = 'mean'\ncolumns = ['age']\nfiles = ['h1.csv', 'postgresql://ada:geheim@db/ward']")
    path.write_text(path.read_text().split("[[statistic.parties]]")[0])
    done = sottovoce("solve", path)
    assert done.exit_code == 2
    assert "[statistic] files cannot be used: an address" in " ".join(done.stderr.split())
    assert "geheim" not in done.output + done.stderr


def test_no_cell_is_quoted(cohort: Path) -> None:
    """Of a party's table a sentence has file, line, column and kind."""
    lines = (cohort / "h5.csv").read_text().splitlines()
    spoilt = lines[3].split(",")
    spoilt[5] = "7.77 units"
    (cohort / "h5.csv").write_text("\n".join([*lines[:3], ",".join(spoilt), *lines[4:]]) + "\n")
    done = sottovoce("solve", cohort / "problem.toml")
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "party h5: " in said
    assert "h5.csv, line 4, column 'crp'" in said
    assert "7.77" not in said


def test_the_page_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "problem-file.md").read_text(encoding="utf-8")
    section = page.split("\n## `[schema]`")[1].split("\n## ")[0]
    for key in ("type", "formula", "columns", "missing", "bins", "ddof", *PARTY_TABLE_KEYS, "file", "files"):
        assert f"`{key}`" in section, key
