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
from sottovoce.statistics.at_one_party import KEYS, OPTIONS
from sottovoce.statistics.statistic_file import read_statistic_file
from sottovoce.statistics.tables import restored, table, text

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
[pdmm]
seed = 1
{more}"""
ASKED = {
    "mean": "columns = ['u', 'v']",
    "variance": "columns = ['u', 'v']\nddof = 0",
    "covariance": "columns = ['t', 'u']\nscale = { t = 10 }",
    "histogram": "columns = ['u']\nbins = [0, 2, 4]",
    "least_squares": "features = ['u', 'v']\ntarget = 't'",
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
    np.testing.assert_allclose(solved(tmp_path, "mean").mean, [u.mean(), v.mean()], atol=1e-7)
    np.testing.assert_allclose(solved(tmp_path, "variance").variance, [u.var(), v.var()], atol=1e-7)
    np.testing.assert_allclose(solved(tmp_path, "covariance").covariance, np.cov(t, u), atol=1e-6)
    counts = solved(tmp_path, "histogram")
    assert (counts.below, counts.counts.tolist(), counts.above) == (0, [3, 3], 1)
    fit = solved(tmp_path, "least_squares")
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(u)), u, v]), t, rcond=None)[0]
    np.testing.assert_allclose(fit.parameters, expected, atol=1e-7)


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
    np.testing.assert_allclose(file.solve().mean, [3.0], atol=1e-8)
    path.write_text(
        "[network]\ngenerator = 'complete'\n[statistic]\ntype = 'least_squares'\n"
        + "".join(f"[[statistic.parties]]\nrows = {rows}\n" for rows in ROWS.values())
    )
    assert read_statistic_file(path).spec.columns == ("x[0]", "x[1]", "target")


def test_a_file_asks_what_a_plan_asks(tmp_path: Path) -> None:
    """The same keys mean the same: in a plan, where the data are elsewhere, and here."""
    for kind, asked in ASKED.items():
        file = read_statistic_file(write(tmp_path, kind))
        plan = tmp_path / "plan.toml"
        plan.write_text(f"[statistic]\ntype = '{kind}'\n{asked}\n")
        assert read_question(TomlFile(plan).table("statistic"), None, 3).statistic == file.spec


def test_the_mask_is_that_of_the_table_or_of_the_library(tmp_path: Path) -> None:
    def spec(kind: str, more: str = "") -> Any:
        return read_statistic_file(write(tmp_path, kind, None, more)).spec

    assert (spec("mean").variance, spec("histogram").bits) == (1e8, 46)
    assert spec("mean", "[mask]\nvariance = 1e10").variance == 1e10
    assert spec("histogram", "[mask]\ntype = 'modular'\nbits = 40").bits == 40


@pytest.mark.parametrize(
    ("more", "kind"), [("", "tree"), ("overlay = 'all'", "all"), ("overlay = [[0, 1], [0, 2]]", "tree")]
)
def test_overlay_is_a_tree_unless_told(tmp_path: Path, more: str, kind: str) -> None:
    answer = json.loads(sottovoce("solve", write(tmp_path, "mean", more=more), "--json").stdout)
    assert answer["overlay"]["type"] == kind
    assert (answer["overlay"].get("root"), answer["overlay"].get("depth")) == (
        (0, 1) if kind == "tree" else (None, None)
    )
    if kind == "tree":
        assert answer["c"] == [2.0, 2.0]
        assert answer["messages"] == 2 * 3 * 4  # two agreements, three rounds, two edges and both ways
    table = " ".join(sottovoce("solve", write(tmp_path, "mean", more=more)).stdout.split())
    assert ("over a spanning tree, 2 of 3 edges (depth 1, root a)" in table) == (kind == "tree")


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
    "no bins": ("histogram", "columns = ['u']", "", "bins must be two or more finite edges"),
    "option of another": ("mean", "columns = ['u']\nddof = 1", "", "ddof has no meaning with type"),
    "mask in the table": ("mean", "columns = ['u']\nvariance = 1e6", "", "variance is not a known key"),
    "bits for a mean": ("mean", "columns = ['u']", "[mask]\ntype = 'modular'", "needs a mask with a variance"),
    "uniform": ("mean", "columns = ['u']", "[mask]\ntype = 'uniform'\nvariance = 1", "must be gaussian, or modular"),
    "theta": ("mean", "columns = ['u']", "theta = 0.5", "line 9: [pdmm] theta has no meaning with [statistic]"),
    "both": ("mean", "columns = ['u']", "[cost]\ntype = 'averaging'", "[statistic] and [cost] are both given."),
    "no such column": ("mean", "columns = ['w']", "", "a.csv has no column 'w'"),
    "too large": ("mean", "columns = ['u']\nscale = { u = 1e-40 }", "", "a.csv: the rows have numbers beyond 1e+30"),
    "scale": ("mean", "columns = ['u']\nscale = { w = 1 }", "", "scale names 'w', which is no column"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(tmp_path: Path, case: str) -> None:
    kind, asked, more, expected = MISTAKES[case]
    ASKED.setdefault("men", "")
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
    for key in (*KEYS, *DATA_KEYS):
        assert f"`{key}`" in section, key
    for kind in OPTIONS:
        assert f'`"{kind}"`' in section, kind


# The commands


def test_solve_prints_the_regression_table(tmp_path: Path) -> None:
    path = write(tmp_path, "least_squares")
    result = sottovoce("solve", path, "--seed", 2)
    assert result.exit_code == 0
    assert read_statistic_file(path, seed=2).solve().summary() in result.stdout
    words = " ".join(result.stdout.split())
    for word in ("least_squares between 3 parties over 3 edges", "(tolerance 1e-09)", "agreements 4", "converged",
                 "from the pooled answer", "products, pair by pair, about the mean of u, v, t; squared"):  # fmt: skip
        assert word in words


@pytest.mark.parametrize("kind", ASKED)
def test_json_has_the_keys_of_a_result_file(tmp_path: Path, kind: str) -> None:
    result = sottovoce("solve", write(tmp_path, kind), "--json")
    assert result.exit_code == 0
    out = json.loads(result.stdout)
    assert (out["status"], out["answer"]["status"], out["hidden"]) == ("converged", "converged", True)
    assert out["check"]["max_error"] < 1e-6
    assert out["agreements"] == len(out["residuals"])
    assert max(out["residuals"]) == out["residual"] <= out["tol"]
    assert out["statistic"]["type"] == kind


@pytest.mark.parametrize("kind", ASKED)
def test_a_result_file_gives_the_same_table(tmp_path: Path, kind: str) -> None:
    """A party prints from what it wrote."""
    file = read_statistic_file(write(tmp_path, kind))
    found = file.solve()
    again = restored(kind, json.loads(json.dumps(found.to_dict())), len(file.parties))
    assert text(again, file.spec.columns) == text(found, file.spec.columns)
    assert table(again, file.spec.columns) == table(found, file.spec.columns)


CSV = {
    "mean": ["column", "mean"],
    "variance": ["column", "mean", "variance", "standard_deviation"],
    "covariance": ["column", "mean", "covariance with t", "covariance with u"],
    "histogram": ["from", "to", "count"],
    "least_squares": ["term", "coefficient", "standard_error", "t_value", "p_value", "lower_95", "upper_95"],
}


@pytest.mark.parametrize("kind", CSV)
def test_out_as_csv_has_a_row_by_name(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out" / "answer.csv"
    out.parent.mkdir()
    assert sottovoce("solve", write(tmp_path, kind), "--out", out, "--seed", 4).exit_code == 0
    with out.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    assert header == CSV[kind]
    file = read_statistic_file(tmp_path / "problem.toml", seed=4)
    if kind == "least_squares":
        fit: Any = file.solve()
        assert [row[0] for row in rows] == list(fit.terms)
        assert [float(row[1]) for row in rows] == fit.parameters.tolist()
    elif kind == "histogram":
        assert rows == [["", "0.0", "0"], ["0.0", "2.0", "3"], ["2.0", "4.0", "3"], ["4.0", "", "1"]]
    else:
        assert [row[0] for row in rows] == list(file.spec.columns)


def test_not_converged(tmp_path: Path) -> None:
    path, out = write(tmp_path, "mean", None, "max_iter = 2"), tmp_path / "out.csv"
    result = sottovoce("solve", path, "--out", out)
    assert result.exit_code == 1
    assert "max_iter: no mean to report." in result.stdout
    assert "out.csv is not written: the run did not converge." in result.stderr
    assert not out.exists()
    out = tmp_path / "out.json"
    assert sottovoce("solve", path, "--out", out, "--json").exit_code == 1
    assert json.loads(out.read_text())["status"] == "max_iter"
    result = sottovoce("audit", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "agreement 1 did not converge" in result.stderr


def test_data_too_large_for_the_mask_are_said_to_be(tmp_path: Path) -> None:
    path = write(tmp_path, "mean", "columns = ['u']\nscale = { u = 1e-4 }")
    result = sottovoce("solve", path)
    assert "hidden badly" in result.stderr
    assert "TOO SMALL to hide the data" in " ".join(result.stdout.split())
    assert json.loads(sottovoce("solve", path, "--json").stdout)["hidden"] is False


def test_plot_draws_the_answer_or_how_far_they_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, picture = write(tmp_path, "least_squares"), tmp_path / "out.svg"
    assert sottovoce("solve", path, "--plot", picture).exit_code == 0
    assert "coefficient and 95 % interval" in picture.read_text()
    drawn: list[Any] = []
    monkeypatch.setattr("sottovoce.pdmm.pictures.plot_run", lambda *given: drawn.append(given))
    short = write(tmp_path, "variance", None, "max_iter = 25\ntol = 1e-12")
    out = json.loads(sottovoce("solve", short, "--plot", picture, "--json").stdout)
    assert out["status"] == "max_iter"
    ((_, run, _, tol, title),) = drawn
    iteration = run.history["iteration"]
    agreements = f"{len(out['residuals'])} agreements"
    assert (run.x, iteration[-1], tol, title) == (
        None,
        out["iterations"],
        1e-12,
        f"problem.toml: variance, {agreements}",
    )
    assert (np.diff(iteration) >= 0).all()
    assert run.history["residual"][-1] > tol


def test_audit_counts_all_agreements(tmp_path: Path) -> None:
    path = write(tmp_path, "least_squares")
    result = sottovoce("audit", path, "--corrupt", "a", "--json")
    assert result.exit_code == 0
    out = json.loads(result.stdout)
    assert (out["verdict"], out["type"], out["parties"]) == ("safe", "least_squares", ["a", "b", "c"])
    assert out["method"].startswith("the sum over 4 agreements")
    assert "SAFE" in sottovoce("audit", path, "--max-corrupt", 1, "--delta", 0.1).stdout
    weak = write(tmp_path, "mean", "columns = ['u']", "[mask]\nvariance = 1")
    assert sottovoce("audit", weak, "--corrupt", "a").exit_code == 1


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
    slopes = dict(zip(answer["names"], answer["coefficients"], strict=True)) | {"intercept": answer["intercept"]}
    assert told["leaking-regression"]["answer"] == pytest.approx(slopes, rel=1e-5)


def test_help_lists_both_examples() -> None:
    words = " ".join(sottovoce("solve", "--help").stdout.split())
    assert "leaking-regression" in words
    assert "The one called leaking shows why" in words
