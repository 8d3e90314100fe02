"""Problem files with [statistic]: what they mean, against NumPy; what commands print of them; and their mistakes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.data.party_rows import DATA_KEYS
from sottovoce.data.problem_file import example, read_problem_file
from sottovoce.errors import InvalidFile
from sottovoce.files.toml_table import TomlFile
from sottovoce.runtime.plan.question import read_question
from sottovoce.statistics.analyses import ANALYSES, restored, table
from sottovoce.statistics.gone import WHY
from sottovoce.statistics.statistic_file import read_statistic_file

ROWS = {
    "a": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]],
    "b": [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]],
    "c": [[1.0, 1.0, 3.0], [2.0, 5.0, 9.0], [7.0, 2.0, 2.0]],
}
POOLED = np.concatenate([np.array(rows) for rows in ROWS.values()])
# `generator` is on line 2, `type` on 4, `files` on 5, and what is asked on 6 and after.
FILE = """[network]
generator = 'complete'
[statistic]
type = '{kind}'
files = '*.csv'
{asked}
{more}"""
ASKED = {
    "mean": "columns = ['u', 'v']",
    "variance": "columns = ['u', 'v']\nddof = 0",
    "covariance": "columns = ['t', 'u']",
    "histogram": "columns = ['u']\nbins = [0, 2, 4]",
    "linear": "features = ['u', 'v']\ntarget = 't'",
    "glm": "formula = 't ~ u + log1p(v)'\nfamily = 'poisson'\ndispersion = 'pearson'",
}


def write(folder: Path, kind: str, asked: str | None = None, more: str = "") -> Path:
    for name, rows in ROWS.items():
        lines = ["t,id,v,u", *(f"{t},x,{v},{u}" for u, v, t in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    path = folder / "problem.toml"
    path.write_text(FILE.format(kind=kind, asked=ASKED[kind] if asked is None else asked, more=more))
    return path


def sottovoce(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def solved(folder: Path, kind: str, *asked: str) -> Any:
    return read_statistic_file(write(folder, kind, *asked)).solve()


# What they mean


def test_each_type_against_numpy(tmp_path: Path) -> None:
    u, v, t = POOLED.T
    np.testing.assert_allclose(solved(tmp_path, "mean").mean, [u.mean(), v.mean()], rtol=1e-14)
    np.testing.assert_allclose(solved(tmp_path, "variance").variance, [u.var(), v.var()], rtol=1e-14)
    np.testing.assert_allclose(solved(tmp_path, "covariance").covariance, np.cov(t, u), rtol=1e-14)
    counts = solved(tmp_path, "histogram")
    assert (counts.below, counts.counts.tolist(), counts.above) == (0, [3, 3], 1)
    fit = solved(tmp_path, "linear")
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(u)), u, v]), t, rcond=None)[0]
    np.testing.assert_allclose(fit.params, expected, rtol=1e-12)
    np.testing.assert_array_equal(solved(tmp_path, "linear", "formula = 't ~ u + v'").params, fit.params)
    without = solved(tmp_path, "linear", "features = ['u', 'v']\ntarget = 't'\nintercept = false")
    np.testing.assert_allclose(without.params, np.linalg.lstsq(POOLED[:, :2], t, rcond=None)[0], rtol=1e-12)


def test_columns_default_to_all_and_data_may_be_inline(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(
        "[network]\ngenerator = 'ring'\n[statistic]\ntype = 'mean'\nvalues = { Ada = 1, Bo = 2, Cem = 6 }\n"
    )
    file = read_statistic_file(path, seed=3)
    assert (file.spec.columns, file.parties, file.network.labels) == (
        ("x",),
        ["Ada", "Bo", "Cem"],
        ["Ada", "Bo", "Cem"],
    )
    assert file.solve().mean.tolist() == [3.0]
    path.write_text(
        "[network]\ngenerator = 'complete'\n[statistic]\ntype = 'linear'\n"
        + "".join(f"[[statistic.parties]]\nrows = {rows}\n" for rows in ROWS.values())
    )
    assert read_statistic_file(path).spec.columns == ("x[0]", "x[1]", "target")


def test_a_file_asks_what_a_plan_asks(tmp_path: Path) -> None:
    """The same keys mean the same: in a plan, where the data are elsewhere, and here."""
    for kind, asked in ASKED.items():
        file = read_statistic_file(write(tmp_path, kind))
        plan = tmp_path / "plan.toml"
        plan.write_text(f"[statistic]\ntype = '{kind}'\n{asked}\n")
        question = read_question(TomlFile(plan).table("statistic"), None, 3)
        assert question.statistic.to_dict() == file.spec.to_dict()


def test_messages_go_over_a_tree(tmp_path: Path) -> None:
    answer = json.loads(sottovoce("solve", write(tmp_path, "mean"), "--json").stdout)
    assert (answer["agreements"], answer["messages"]) == (1, 4)  # up and down both edges
    assert answer["bytes"] == 4 * 4 * 32  # rows, two sums and an objection


def test_what_the_answer_gave_away(tmp_path: Path) -> None:
    """As in the result file of a party: small counts are named."""
    told = json.loads(sottovoce("solve", write(tmp_path, "histogram"), "--json").stdout)
    answer = told["answer"]
    assert told["disclosure"]["small_cells"] == {"rows in each bin": [*answer["counts"], answer["above"]]} != {}
    assert told["disclosure"]["group"] == 2
    assert told["disclosure"]["words"].startswith("1 agreement showed 4 exact counts.")


def test_the_data_of_a_file_are_not_shown(tmp_path: Path) -> None:
    shown = repr(read_statistic_file(write(tmp_path, "mean")))
    assert "6.5" not in shown
    assert "array" not in shown


MISTAKES = {
    "key": ("mean", "colunms = ['u']", "", "line 6: [statistic] colunms is not a known key; did you mean 'columns'?"),
    "partie": ("mean", "partie = 'u'", "", "did you mean 'parties' or 'party'?"),
    "type": ("men", "", "", "line 4: [statistic] type = 'men' is not known; did you mean 'mean'?"),
    "no bins": ("histogram", "columns = ['u']", "", "10 bins need a range in the schema"),
    "option of another": ("mean", "columns = ['u']\nddof = 1", "", "ddof is not a known key"),
    "mask": ("mean", "columns = ['u']", "[mask]\nvariance = 1", "[mask] is gone beside [statistic]: sums are exact"),
    "pdmm": ("mean", "columns = ['u']", "[pdmm]\nseed = 1", "[pdmm] is gone beside [statistic]: sums are exact"),
    "both": ("mean", "columns = ['u']", "[cost]\ntype = 'averaging'", "[statistic] and [cost] are both given."),
    "no such column": ("mean", "columns = ['w']", "", "a.csv has no column 'w'"),
    "formula and features": ("linear", "formula = 't ~ u'\nfeatures = ['u']", "", "and formula are both given"),
    "least squares": ("least_squares", "features = ['u']\ntarget = 't'", "", 'is one with "linear"'),
    "a level": ("crosstab", "columns = ['u', 'v']", "", "columns must be a category or a boolean; 'u'"),
}


@pytest.mark.parametrize("key", WHY)
def test_keys_of_older_files_get_a_sentence(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidFile, match=rf"line 7: \[statistic\] {key} is gone"):
        read_statistic_file(write(tmp_path, "mean", f"columns = ['u']\n{key} = 1"))


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(tmp_path: Path, case: str) -> None:
    kind, asked, more, expected = MISTAKES[case]
    with pytest.raises(InvalidFile) as caught:
        read_statistic_file(write(tmp_path, kind, asked, more))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_reader_of_costs_says_who_reads_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"line 3: a file with \[statistic\] is read by read_statistic_file"):
        read_problem_file(write(tmp_path, "mean"))


def test_the_page_names_every_key_and_type() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "problem-file.md").read_text(encoding="utf-8")
    section = page.split("\n## `[statistic]`")[1].split("\n## ")[0]
    for key in DATA_KEYS:
        assert f"`{key}`" in section, key
    for kind in ("mean", "variance", "covariance", "histogram", "linear"):
        assert f'`"{kind}"`' in section, kind
    assert ANALYSES.keys() >= {"mean", "linear"}


# The commands


def test_solve_prints_the_regression_table(tmp_path: Path) -> None:
    path = write(tmp_path, "linear")
    result = sottovoce("solve", path)
    assert result.exit_code == 0
    assert read_statistic_file(path).solve().summary() in result.stdout
    words = " ".join(result.stdout.split())
    for word in ("linear between 3 parties over 3 edges", "exact: the answer of the pooled rows", "agreements 1",
                 "the procedure adds nothing to the totals", "of u, v, t"):  # fmt: skip
        assert word in words


@pytest.mark.parametrize("kind", ASKED)
def test_json_has_the_keys_of_a_result_file(tmp_path: Path, kind: str) -> None:
    result = sottovoce("solve", write(tmp_path, kind), "--json")
    assert result.exit_code == 0
    out = json.loads(result.stdout)
    assert (out["status"], out["answer"]["status"]) == ("converged", "converged")
    assert out["messages"] == out["agreements"] * 4
    assert out["statistic"]["type"] == kind


@pytest.mark.parametrize("kind", ASKED)
def test_a_result_file_gives_the_same_table(tmp_path: Path, kind: str) -> None:
    """A party prints from what it wrote."""
    file = read_statistic_file(write(tmp_path, kind))
    found = file.solve()
    again = restored(kind, json.loads(json.dumps(found.to_dict())), len(file.parties))
    assert again.summary() == found.summary()
    assert table(again) == table(found)


CSV = {
    "mean": ["column", "mean"],
    "variance": ["column", "mean", "variance", "standard_deviation"],
    "covariance": ["column", "mean", "covariance with t", "covariance with u"],
    "histogram": ["from", "to", "count"],
    "linear": ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"],
}


@pytest.mark.parametrize("kind", CSV)
def test_out_as_csv_has_a_row_by_name(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out" / "answer.csv"
    out.parent.mkdir()
    assert sottovoce("solve", write(tmp_path, kind), "--out", out).exit_code == 0
    with out.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    assert header == CSV[kind]
    file = read_statistic_file(tmp_path / "problem.toml")
    if kind == "linear":
        fit: Any = file.solve()
        assert [row[0] for row in rows] == list(fit.terms)
        assert [float(row[1]) for row in rows] == fit.params.tolist()
    elif kind == "histogram":
        assert rows == [["", "0.0", "0"], ["0.0", "2.0", "3"], ["2.0", "4.0", "3"], ["4.0", "", "1"]]
    else:
        assert [row[0] for row in rows] == list(file.spec.columns)


def test_plot_draws_the_answer(tmp_path: Path) -> None:
    path, picture = write(tmp_path, "linear"), tmp_path / "out.svg"
    assert sottovoce("solve", path, "--plot", picture).exit_code == 0
    assert "95 % interval" in picture.read_text()


def test_audit_counts_all_agreements(tmp_path: Path) -> None:
    path = write(tmp_path, "linear", "features = ['u', 'v']\ntarget = 't'\nrobust = 'HC3'")
    result = sottovoce("audit", path, "--corrupt", "a", "--json")
    assert result.exit_code == 0
    out = json.loads(result.stdout)
    assert (out["verdict"], out["type"], out["parties"]) == ("safe", "linear", ["a", "b", "c"])
    assert "SAFE" in sottovoce("audit", path, "--max-corrupt", 1, "--delta", 0.1).stdout


@pytest.mark.parametrize(("option", "value"), [("--prior", 2.0), ("--iterations", 3), ("--snapshot", 3)])
def test_options_of_one_agreement_are_refused(tmp_path: Path, option: str, value: float) -> None:
    result = sottovoce("audit", write(tmp_path, "mean"), option, value)
    assert result.exit_code == 2
    assert f"{option} is of one agreement, and a [statistic] takes several" in result.stderr


def test_the_leaking_example_says_so_and_the_other_does_not(tmp_path: Path) -> None:
    """They have the same data, and come to the same coefficients."""
    told = {}
    for name in ("regression", "leaking-regression"):
        path = tmp_path / f"{name}.toml"
        path.write_text(example(name))
        told[name] = json.loads(sottovoce("solve", path, "--json").stdout)
    assert example("leaking-regression").startswith("# THIS RUN LEAKS.")
    assert "show every party's A'A" in told["leaking-regression"]["leaks"]
    assert told["regression"]["leaks"] is None
    answer = told["regression"]["answer"]
    slopes = dict(zip([term.lower() for term in answer["terms"]], answer["params"], strict=True))
    assert told["leaking-regression"]["answer"] == pytest.approx(slopes, rel=1e-5)


def test_help_lists_both_examples() -> None:
    words = " ".join(sottovoce("solve", "--help").stdout.split())
    assert "leaking-regression" in words
    assert "The one called leaking shows why" in words


@pytest.mark.parametrize(
    ("unit", "cell", "sentence"),
    [
        (None, "7.654e300", "column 'x' has the unit 1.0e+284: what is made of such numbers is too large for float64."),
        (
            None,
            "7.654e-300",
            "column 'x' has the unit 1.0e-316: what is made of such numbers is too small for float64.",
        ),
        (
            "0.1",
            "7.654e25",
            "party b: {}: column 'x': too large for its unit (numbers are less than 2^62 units of 0.1) in",
        ),
        (
            "'1e-71'",
            "1",
            "line 6: [statistic] columns cannot be used: column 'x' has the unit 1.0e-71: what is made of",
        ),
        (
            "0",
            "1",
            "line 9: [schema.x] unit must be a positive decimal, the smallest step of what was measured, such as",
        ),
    ],
)
def test_numbers_and_units_that_no_sum_has(tmp_path, unit, cell, sentence):
    """A sentence without the cell, and nothing is written."""
    column = "" if unit is None else f"[schema.x]\ntype = 'number'\nunit = {unit}\n"
    path = tmp_path / "problem.toml"
    path.write_text(
        "[network]\ngenerator = 'complete'\n[statistic]\ntype = 'variance'\nfiles = ['a.csv', 'b.csv']\n"
        f"columns = ['x']\n{column}"
    )
    for name, own in (("a", cell if unit is None else "1"), ("b", cell)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{own}\n{own}\n")
    said = sottovoce("solve", path, "--out", tmp_path / "out.json")
    assert said.exit_code == 2
    assert sentence.format(tmp_path / "b.csv") in " ".join(said.output.split())
    assert "7.654" not in said.output
    assert not (tmp_path / "out.json").exists()
