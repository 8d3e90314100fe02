"""Problem files: what they mean, against NumPy; and a sentence with key and line for every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sottovoce.data.problem_file import EXAMPLES, GENERATORS, KEYS, SCHEDULES, ProblemFile, example, read_problem_file
from sottovoce.errors import InvalidFile
from sottovoce.files.toml_table import DEEPEST, toml_values
from sottovoce.pdmm.result import Status
from sottovoce.pdmm.solve import solve

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "problem-file.md"
ROOT = Path(__file__).parents[2] / "examples"

# Line numbers matter below: `generator` is on line 2, `type` on 4, `values` on 5, `c` on 7.
GOOD = """[network]
generator = "ring"
[cost]
type = "averaging"
values = [1.0, 2.0, 4.0, 9.0]
[pdmm]
c = 0.5
"""
# `edges` is on line 2, `type` on 4, `files` on 5, `features` on 6, `target` on 7.
REGRESSION = """[network]
edges = [["a", "b"], ["b", "c"], [0, 2]]
[cost]
type = "least_squares"
files = "*.csv"
features = ["u", "v"]
target = "t"
[pdmm]
c = 2.0
"""
A_CSV, B_CSV = "u,v,t\n1,2,3\n4,5,6.5\n", "u,v,t\n2,0,1\n0,1,1\n"
C_CSV = "t,v,id,u\n3,1,x,1\n9,5,y,2\n2,2,z,7\n"
SHARDS = {"a.csv": A_CSV, "b.csv": B_CSV, "c.csv": C_CSV}
POOLED = np.array([[1, 2, 3], [4, 5, 6.5], [2, 0, 1], [0, 1, 1], [1, 1, 3], [2, 5, 9], [7, 2, 2]])


def write(folder: Path, text: str, files: dict[str, str | bytes] | None = None) -> Path:
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return path


def answer(file: ProblemFile) -> Any:
    result = solve(file.problem, **file.options)
    assert result.status is Status.CONVERGED
    x = file.in_units(result).x
    return x.reshape(len(x), -1)[0]


def refusal(path: Path) -> str:
    with pytest.raises(InvalidFile) as caught:
        read_problem_file(path)
    return str(caught.value).replace(str(path.parent) + "/", "")


# What the files mean


def test_averaging_of_inline_values(tmp_path: Path) -> None:
    file = read_problem_file(write(tmp_path, GOOD))
    assert answer(file) == pytest.approx([4.0], rel=1e-8)
    assert file.cost.columns == ["x"]
    assert file.problem.network.n == 4
    assert file.options["theta"] is None
    assert file.options["tol"] == 1e-9
    assert "mask" not in file.options


def test_a_penalty_per_edge(tmp_path: Path) -> None:
    c = [0.5, 1, 0.25, 2.0]
    file = read_problem_file(write(tmp_path, GOOD.replace("c = 0.5", f"c = {c}")))
    assert answer(file) == pytest.approx([4.0], rel=1e-8)
    assert solve(file.problem, **file.options).to_dict()["c"] == c
    few = "overlay = [[0, 1], [1, 2], [2, 3]]"
    assert read_problem_file(write(tmp_path, GOOD.replace("c = 0.5", f"c = {c}\n{few}"))).options["c"].tolist() == [
        0.5, 0.25, 2.0,
    ]  # of those between (0, 1), (0, 3), (1, 2) and (2, 3)  # fmt: skip
    message = refusal(write(tmp_path, GOOD.replace("c = 0.5", f"c = [1, 2]\n{few}")))
    assert "line 7: [pdmm] c has 2 numbers, and messages go over 3 edges" in message


def test_values_may_be_named_and_may_be_vectors(tmp_path: Path) -> None:
    text = GOOD.replace("[1.0, 2.0, 4.0, 9.0]", "{ Ann = [1, 2], Bob = [3, 5], Cy = [5, 2] }\ncolumns = ['p', 'q']")
    file = read_problem_file(write(tmp_path, text))
    assert (file.cost.parties, file.cost.columns) == (["Ann", "Bob", "Cy"], ["p", "q"])
    assert file.problem.network.labels == ["Ann", "Bob", "Cy"]
    assert answer(file) == pytest.approx([3.0, 3.0], rel=1e-8)
    assert file.pooled == pytest.approx([3.0, 3.0])


def test_one_csv_per_party_gives_the_pooled_regression(tmp_path: Path) -> None:
    file = read_problem_file(write(tmp_path, REGRESSION, SHARDS))
    expected = np.linalg.lstsq(POOLED[:, :2], POOLED[:, 2], rcond=None)[0]
    assert (file.cost.parties, file.cost.columns) == (["a", "b", "c"], ["u", "v"])
    assert answer(file) == pytest.approx(expected, rel=1e-7)
    assert file.pooled == pytest.approx(expected, rel=1e-10)


def test_intercept_ridge_and_scale_against_numpy(tmp_path: Path) -> None:
    text = REGRESSION.replace('target = "t"', 'target = "t"\nintercept = true\nridge = 0.5\nscale = { u = 4 }')
    file = read_problem_file(write(tmp_path, text, SHARDS))
    A = np.column_stack([POOLED[:, 0] / 4, POOLED[:, 1], np.ones(len(POOLED))])
    expected = np.linalg.solve(A.T @ A + 0.5 * np.eye(3), A.T @ POOLED[:, 2]) / [4, 1, 1]
    assert file.cost.columns == ["u", "v", "intercept"]
    assert file.cost.notes == ("the penalty covers the intercept too",)
    assert answer(file) == pytest.approx(expected, rel=1e-6)
    assert file.pooled == pytest.approx(expected, rel=1e-10)


def test_scale_does_not_change_an_unpenalised_answer(tmp_path: Path) -> None:
    text = REGRESSION.replace('target = "t"', 'target = "t"\nscale = { u = 3, v = 0.5 }')
    file = read_problem_file(write(tmp_path, text, SHARDS))
    assert answer(file) == pytest.approx(np.linalg.lstsq(POOLED[:, :2], POOLED[:, 2], rcond=None)[0], rel=1e-6)


def test_features_default_to_all_columns_but_the_target(tmp_path: Path) -> None:
    shards = {"a.csv": A_CSV, "b.csv": "v,t,u\n0,1,2\n1,1,0\n", "c.csv": B_CSV}
    file = read_problem_file(write(tmp_path, REGRESSION.replace('features = ["u", "v"]\n', ""), shards))
    rows = POOLED[[0, 1, 2, 3, 2, 3]]
    assert answer(file) == pytest.approx(np.linalg.lstsq(rows[:, :2], rows[:, 2], rcond=None)[0], rel=1e-7)


def test_one_csv_with_a_party_column_and_another_delimiter(tmp_path: Path) -> None:
    together = "\ufeffwho;u;v;t\nb;2;0;1\na;1;2;3\n\na;4;5;6.5\nb;0;1;1\nc;1;1;3\nc;2;5;9\nc;7;2;2\n"
    text = REGRESSION.replace('files = "*.csv"', 'file = "all.csv"\nparty = "who"\ndelimiter = ";"')
    text = text.replace('["b", "c"]', '["a", "c"]')
    file = read_problem_file(write(tmp_path, text, {"all.csv": together}))
    assert file.cost.parties == ["b", "a", "c"]
    assert answer(file) == pytest.approx(np.linalg.lstsq(POOLED[:, :2], POOLED[:, 2], rcond=None)[0], rel=1e-7)


def test_inline_rows_are_the_same_problem_as_csv(tmp_path: Path) -> None:
    rows = {"a": POOLED[:2], "b": POOLED[2:4], "c": POOLED[4:]}
    tables = "".join(f'[[cost.parties]]\nname = "{name}"\nrows = {part.tolist()}\n' for name, part in rows.items())
    inline = read_problem_file(write(tmp_path, REGRESSION.replace('files = "*.csv"\n', "") + tables))
    csv = read_problem_file(write(tmp_path, REGRESSION, SHARDS))
    assert inline.cost.parties == csv.cost.parties
    for one, other in zip(inline.problem.groups, csv.problem.groups, strict=True):
        np.testing.assert_array_equal(one[1].q, other[1].q)  # type: ignore[attr-defined]


def test_an_average_over_rows_weighs_every_row_alike(tmp_path: Path) -> None:
    text = REGRESSION.replace("least_squares", "averaging").replace('features = ["u", "v"]\ntarget', "columns")
    file = read_problem_file(write(tmp_path, text.replace('columns = "t"', 'columns = ["t", "u"]'), SHARDS))
    assert answer(file) == pytest.approx(POOLED[:, [2, 0]].mean(axis=0), rel=1e-8)
    assert file.pooled == pytest.approx(POOLED[:, [2, 0]].mean(axis=0))


def test_absolute_deviation_is_the_median_and_huber_is_between(tmp_path: Path) -> None:
    values = GOOD.replace("[1.0, 2.0, 4.0, 9.0]", "[1.0, 2.0, 4.0, 9.0, 30.0]")
    median = read_problem_file(write(tmp_path, values.replace("averaging", "absolute_deviation")))
    assert answer(median) == pytest.approx([4.0], abs=1e-6)
    huber = read_problem_file(write(tmp_path, values.replace('"averaging"', '"huber"\ndelta = 1e6')))
    assert answer(huber) == pytest.approx([9.2], rel=1e-7)
    assert huber.pooled is None


@pytest.mark.parametrize("kind", ["lasso", "elastic_net"])
def test_sparse_regressions_satisfy_their_optimality_condition(tmp_path: Path, kind: str) -> None:
    l2 = 0.7 if kind == "elastic_net" else 0.0
    options = "l1 = 40.0\n" + ("l2 = 0.7\n" if l2 else "")
    file = read_problem_file(
        write(tmp_path, REGRESSION.replace("least_squares", kind).replace("[pdmm]", options + "[pdmm]"), SHARDS)
    )
    x = answer(file)
    gradient = 2 * POOLED[:, :2].T @ (POOLED[:, :2] @ x - POOLED[:, 2]) + 2 * l2 * x
    for value, slope in zip(x, gradient, strict=True):
        assert slope == pytest.approx(-40 * np.sign(value), abs=1e-5) if abs(value) > 1e-8 else abs(slope) <= 40


def test_logistic_is_stationary_for_the_pooled_rows(tmp_path: Path) -> None:
    shards = {
        name: text.replace("6.5", "1").replace(",3\n", ",0\n").replace("9,5", "0,5") for name, text in SHARDS.items()
    }
    shards["c.csv"] = "t,v,u\n0,1,1\n1,5,2\n1,2,7\n"
    file = read_problem_file(write(tmp_path, REGRESSION.replace("least_squares", "logistic"), shards))
    x = answer(file)
    A = POOLED[:, :2]
    y = np.where(np.array([0, 1, 1, 1, 0, 1, 1]) == 1, 1.0, -1.0)
    gradient = -(A * (y / (1 + np.exp(y * (A @ x))))[:, None]).sum(axis=0) + 2 * 1.0 * x  # ridge defaults to 1
    assert gradient == pytest.approx([0, 0], abs=1e-6)


def test_hinge_reads(tmp_path: Path) -> None:
    shards = {name: "u,v,t\n1,2,1\n2,0,-1\n" for name in SHARDS}
    file = read_problem_file(write(tmp_path, REGRESSION.replace("least_squares", "hinge"), shards))
    assert file.problem.dim == 2


def test_a_rank_deficient_regression_has_no_check(tmp_path: Path) -> None:
    shards = {name: "u,v,t\n1,2,1\n2,4,3\n" for name in SHARDS}
    file = read_problem_file(write(tmp_path, REGRESSION, shards))
    assert file.pooled is None
    assert "rank 1 for 2 unknowns" in file.cost.notes[0]


GENERATED = {
    "random_geometric": "seed = 1",
    "ring": "",
    "grid": "rows = 3\ncolumns = 2",
    "complete": "",
    "star": "n = 6",
    "erdos_renyi": "p = 0.8\nseed = 1",
    "regular": "degree = 3",
    "watts_strogatz": "k = 2\np = 0.1",
}


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator(tmp_path: Path, name: str) -> None:
    text = GOOD.replace('"ring"', f'"{name}"\n{GENERATED[name]}').replace("9.0", "9.0, 5.0, 6.0")
    assert answer(read_problem_file(write(tmp_path, text), seed=0)) == pytest.approx([4.5], rel=1e-7)


SCHEDULED = {
    "synchronous": "",
    "asynchronous": "rates = [1, 2, 3, 4]",
    "poisson_clocks": "rates = [1, 1, 0.5, 1]",
    "edge_reversal": "",
    "permutations": "",
    "node_bernoulli": "p = 0.5",
    "edge_bernoulli": "p = 0.5",
    "delayed": "max_delay = 2",
    "trace": "nodes = [" + "0, 1, 2, 3, " * 100 + "]",
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule(tmp_path: Path, name: str) -> None:
    text = GOOD + f'theta = 0.5\nschedule = "{name}"\n{SCHEDULED[name]}\n'
    assert answer(read_problem_file(write(tmp_path, text), seed=0)) == pytest.approx([4.0], rel=1e-7)


def test_edge_list_file(tmp_path: Path) -> None:
    text = GOOD.replace('generator = "ring"', 'edge_list = "edges.txt"')
    file = read_problem_file(write(tmp_path, text, {"edges.txt": "# a path\n0 1\n1,2\n2 3\n"}))
    assert file.problem.network.edges.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_seeds(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace('"ring"', '"random_geometric"') + "seed = 3\n[mask]\nvariance = 100\n")
    file = read_problem_file(path)
    assert file.options["seed"] == 3
    assert file.options["mask"].variance == 100.0
    again = read_problem_file(path, seed=3)
    assert again.problem.network.edges.tolist() == file.problem.network.edges.tolist()
    assert read_problem_file(path, seed=8).options["seed"] == 8


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "regression"])  # which has [statistic]
def test_examples_run_and_converge(tmp_path: Path, name: str) -> None:
    file = read_problem_file(write(tmp_path, example(name)), seed=1)
    result = solve(file.problem, **file.options)
    assert result.status is Status.CONVERGED
    if file.pooled is not None:
        x = file.in_units(result).x.reshape(len(file.cost.parties), -1)
        np.testing.assert_allclose(x, np.broadcast_to(file.pooled, x.shape), rtol=1e-5)


@pytest.mark.parametrize("name", ["hospitals/leaking.toml", "meters/problem.toml"])
def test_csv_examples_run_and_converge(name: str) -> None:
    file = read_problem_file(ROOT / name, seed=1)
    result = file.in_units(solve(file.problem, **file.options))
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, np.broadcast_to(file.pooled, result.x.shape), rtol=1e-5)


def test_the_page_names_every_key_generator_schedule_and_type() -> None:
    from sottovoce.data.cost_table import TYPES

    page = DOCS.read_text(encoding="utf-8")
    tables = ("network", "cost", "pdmm", "mask", "noise")
    sections = {name: page.split(f"\n## `[{name}]`")[1].split("\n## ")[0] for name in tables}
    for table, keys in KEYS.items():
        for key in keys:
            assert f"`{key}`" in sections[table.split(".")[0]], f"[{table}] {key}"
    for table, names in {"network": GENERATORS, "pdmm": SCHEDULES, "cost": TYPES}.items():
        for name in names:
            assert f'`"{name}"`' in sections[table], f"[{table}] {name}"


# Mistakes in the problem file: an edit of GOOD, and what the sentence must say

MISTAKES: dict[str, tuple[str, str, str]] = {
    "syntax": ('generator = "ring"', "generator = ring", "problem.toml, line 2: not valid TOML: "),
    "unclosed": ('generator = "ring"', 'generator = "ring', "problem.toml, line 2: not valid TOML: "),
    "twice": ("c = 0.5", "c = 0.5\nc = 0.6", "problem.toml, line 8: not valid TOML: "),
    "unknown table": ("[pdmm]", "[pddm]", "line 6: [pddm] is not a known table; did you mean 'pdmm'?"),
    "table is a value": ('[network]\ngenerator = "ring"', "network = 3", "line 1: network must be a table"),
    "no network": ('[network]\ngenerator = "ring"\n', "", "the table [network] is missing"),
    "no cost": ('[cost]\ntype = "averaging"\nvalues = [1.0, 2.0, 4.0, 9.0]\n', "", "the table [cost] is missing"),
    "unknown key": ("c = 0.5", "tehta = 0.5", "line 7: [pdmm] tehta is not a known key; did you mean 'theta'?"),
    "partie": ("type =", "partie =", "line 4: [cost] partie is not a known key; did you mean 'parties' or 'party'?"),
    "unknown key, none near": ("c = 0.5", "zzz = 0.5", "line 7: [pdmm] zzz is not a known key."),
    "unknown key in cost": ("type =", "tpye =", "line 4: [cost] tpye is not a known key; did you mean 'type'?"),
    "no type": ('type = "averaging"\n', "", "line 3: [cost] type is missing. Known: averaging"),
    "unknown type": (
        '"averaging"',
        '"avraging"',
        "line 4: [cost] type = 'avraging' is not known; did you mean 'averaging'?",
    ),
    "type is a number": ('"averaging"', "3", "line 4: [cost] type must be text in quotes; got 3."),
    "two ends": ("c = 0.5", "max_iter = 9\nmax_rounds = 3", "[pdmm] max_rounds cannot stand beside max_iter: both say"),
    "theta": ("c = 0.5", "c = 0.5\ntheta = 1.3", "line 8: [pdmm] theta must be in (0, 1]; got 1.3. Use 1 for PDMM"),
    "theta text": ("c = 0.5", "theta = 'one'", "line 7: [pdmm] theta must be a number; got 'one'."),
    "theta nan": ("c = 0.5", "theta = nan", "line 7: [pdmm] theta must be a number; got nan."),
    "c": ("c = 0.5", "c = -2", 'line 7: [pdmm] c must be a positive number, "auto", or one number per edge; got -2.'),
    "c short": ("c = 0.5", "c = [1, 2, 3]", "line 7: [pdmm] c has 3 numbers, and messages go over 4 edges: give one"),
    "c negative": ("c = 0.5", "c = [1, 2, 3, -4]", "line 7: [pdmm] c of the edge (2, 3) must be a positive number"),
    "c nan": (
        "c = 0.5",
        "c = [1, nan, 3, 4]",
        "line 7: [pdmm] c of the edge (0, 3) must be a positive number; got nan",
    ),
    "c texts": (
        "c = 0.5",
        "c = [1, 2, 'x', 4]",
        "line 7: [pdmm] c must be a positive number, 'auto', or one number per",
    ),
    "c flags": ("c = 0.5", "c = [1, 2, true, 4]", "edge; True and False are none."),
    "c nested": ("c = 0.5", "c = [[1, 2], [3, 4]]", "got an array of shape (2, 2)."),
    "c table": ("c = 0.5", "c = {a = 1}", "or one number per edge; got {'a': 1}."),
    "c true": ("c = 0.5", "c = true", "line 7: [pdmm] c must be a positive number"),
    "tol": ("c = 0.5", "tol = -1e-9", "line 7: [pdmm] tol must be a number >= 0; got -1e-09."),
    "max_iter": ("c = 0.5", "max_iter = 1e5", "line 7: [pdmm] max_iter must be a whole number >= 1; got 100000.0."),
    "seed": ("c = 0.5", "seed = -1", "line 7: [pdmm] seed must be a whole number >= 0; got -1."),
    "schedule": (
        "c = 0.5",
        "schedule = 'async'",
        "line 7: [pdmm] schedule = 'async' is not known; did you mean 'asynchronous'?",
    ),
    "schedule without p": ("c = 0.5", "schedule = 'node_bernoulli'", "line 6: [pdmm] p is missing."),
    "p": ("c = 0.5", "schedule = 'node_bernoulli'\np = 1.5", "line 8: [pdmm] p must be in (0, 1]; got 1.5."),
    "p elsewhere": ("c = 0.5", "p = 0.5", 'line 7: [pdmm] p has no meaning with schedule = "synchronous". Remove it.'),
    "max_delay": (
        "c = 0.5",
        "schedule = 'delayed'\nmax_delay = -1",
        "line 8: [pdmm] max_delay must be a whole number >= 0",
    ),
    "rates": (
        "c = 0.5",
        "schedule = 'asynchronous'\nrates = ['a']",
        "line 8: [pdmm] rates must be a list of positive numbers",
    ),
    "too few rates": (
        "c = 0.5",
        "schedule = 'asynchronous'\nrates = [1]",
        "line 8: [pdmm] rates must have one entry per node, 4; got 1.",
    ),
    "trace": (
        "c = 0.5",
        "schedule = 'trace'\nnodes = [0, 7]",
        "line 8: [pdmm] nodes cannot be used: the trace names node 7",
    ),
    "trace of texts": (
        "c = 0.5",
        "schedule = 'trace'\nnodes = ['a']",
        "line 8: [pdmm] nodes must be a list of node numbers",
    ),
    "variance": (
        "c = 0.5",
        "c = 0.5\n[mask]\nvariance = 0",
        "line 9: [mask] variance must be a positive number; got 0",
    ),
    "variance missing": ("c = 0.5", "c = 0.5\n[mask]", "line 8: [mask] variance is missing."),
    "variance inf": (
        "c = 0.5",
        "c = 0.5\n[mask]\nvariance = inf",
        "line 9: [mask] variance must be a number; got inf.",
    ),
    "no generator": ('generator = "ring"', "", "line 1: [network] needs one of generator, edges and edge_list."),
    "two networks": (
        'generator = "ring"',
        'generator = "ring"\nedges = [[0, 1]]',
        "line 3: [network] edges and generator are both given",
    ),
    "generator": ('"ring"', '"rinng"', "line 2: [network] generator = 'rinng' is not known; did you mean 'ring'?"),
    "fewer nodes": (
        '"ring"',
        '"ring"\nn = 3',
        "line 3: [network] n gives 3 nodes, but there are 4 parties; they must agree.",
    ),
    "n is text": ('"ring"', '"ring"\nn = "four"', "line 3: [network] n must be a whole number; got 'four'."),
    "grid": ('"ring"', '"grid"\nrows = 2\ncolumns = 3', "line 3: [network] rows gives 6 nodes"),
    "grid without rows": ('"ring"', '"grid"', "line 1: [network] rows is missing."),
    "radius": (
        '"ring"',
        '"random_geometric"\nradius = -1',
        "line 3: [network] radius must be a number > 1e-9; got -1.0.",
    ),
    "radius too small": (
        '"ring"',
        '"random_geometric"\nradius = 1e-6',
        "line 2: [network] generator cannot be used: no connected graph",
    ),
    "degree": ('"ring"', '"regular"\ndegree = 9', "line 3: [network] degree must be in 2 .. n-1"),
    "p of another": (
        '"ring"',
        '"ring"\np = 0.5',
        'line 3: [network] p has no meaning with generator = "ring". Remove it.',
    ),
    "edge outside": (
        'generator = "ring"',
        "edges = [[0, 1], [1, 9]]",
        "line 2: [network] edges cannot be used: edge number 1, (1, 9)",
    ),
    "edge to nobody": (
        'generator = "ring"',
        'edges = [[0, "Ann"]]',
        "line 2: [network] edges names 'Ann', which is no party.",
    ),
    "edge not a pair": ('generator = "ring"', "edges = [[0, 1, 2]]", "line 2: [network] edges must be a list of pairs"),
    "edge of floats": ('generator = "ring"', "edges = [[0.5, 1]]", "line 2: [network] edges must be pairs of parties"),
    "disconnected": (
        'generator = "ring"',
        "edges = [[0, 1], [2, 3]]",
        "line 2: [network] edges cannot be used: the network is disconnected",
    ),
    "edge list missing": ('generator = "ring"', 'edge_list = "none.txt"', "none.txt does not exist."),
    "no data": (
        "values = [1.0, 2.0, 4.0, 9.0]",
        "",
        "line 3: [cost] has no data. Give one of values, parties, files, file.",
    ),
    "two sources": (
        "values =",
        "files = '*.csv'\nvalues =",
        "line 5: [cost] files and values are both given. Keep one.",
    ),
    "values text": (
        "[1.0, 2.0, 4.0, 9.0]",
        "'many'",
        "line 5: [cost] values must have a number, or a list of numbers, for each party",
    ),
    "a value is text": (
        "4.0, 9.0",
        "'4', 9.0",
        "line 5: [cost] values must hold finite numbers; party 2: number 1 of row 1 is text.",
    ),
    "a value is nan": (
        "4.0, 9.0",
        "nan, 9.0",
        "line 5: [cost] values must hold finite numbers; party 2: number 1 of row 1 is too large, or nan.",
    ),
    "a number of 5,000 digits": ("4.0, 9.0", "4" * 5000, "problem.toml: not valid TOML: "),
    "values of two lengths": (
        "4.0, 9.0",
        "[4.0, 1.0], 9.0",
        "line 5: [cost] values must have 1 numbers in every row; party 2: row 1 has 2.",
    ),
    "one party": ("[1.0, 2.0, 4.0, 9.0]", "[1.0]", "line 3: [cost] has data of 1 party; at least two are needed"),
    "ridge elsewhere": (
        "9.0]",
        "9.0]\nridge = 1",
        'line 6: [cost] ridge has no meaning with type = "averaging". Remove it.',
    ),
    "delta": ('"averaging"', '"huber"\ndelta = 0', "line 5: [cost] delta must be a number > 0; got 0."),
    "columns": ("9.0]", "9.0]\ncolumns = 'x'", "line 6: [cost] columns must be a list of names"),
    "columns twice": ("9.0]", "9.0]\ncolumns = ['x', 'x']", "line 6: [cost] columns names 'x' twice."),
    "too many columns": (
        "9.0]",
        "9.0]\ncolumns = ['x', 'y']",
        "line 5: [cost] values must have 2 numbers in every row; party 0: row 1 has 1.",
    ),
    "features of averaging": (
        "9.0]",
        "9.0]\nfeatures = ['x']",
        'line 6: [cost] features has no meaning with type = "averaging"',
    ),
    "parties not tables": ("values = [1.0, 2.0, 4.0, 9.0]", "parties = [1]", "line 5: [cost] parties must be tables"),
}


def test_overlay(tmp_path: Path) -> None:
    names = "{ Ada = 1, Bo = 2, Cem = 3, Dina = 6 }"
    text = f"""[network]
generator = "ring"
[cost]
type = "averaging"
values = {names}
[pdmm]
overlay = OVERLAY
[mask]
variance = 1e8
"""
    path = tmp_path / "problem.toml"

    def read(overlay: str) -> Any:
        path.write_text(text.replace("OVERLAY", overlay))
        return read_problem_file(path)

    path.write_text(text.replace("overlay = OVERLAY\n", ""))
    assert read_problem_file(path).options["overlay"] is None
    assert read('"all"').options["overlay"] is None
    for asked in ('"tree"', '[["Dina", 0], ["Ada", "Bo"], ["Bo", 2]]'):
        file = read(asked)
        result = solve(file.problem, **file.options)
        assert result.overlay is not None
        assert result.overlay.network.edges.tolist() == [[0, 1], [0, 3], [1, 2]]
        assert result.iterations == 4  # a round less than two sweeps: the halves weigh the same, and match both ways
        np.testing.assert_allclose(result.x, 3.0, atol=1e-9)  # rounding at 1e4
    for asked, expected in {
        '"star"': "line 7: [pdmm] overlay must be 'all', 'tree', or a list of edges; got 'star'.",
        "true": "line 7: [pdmm] overlay must be 'all', 'tree', or a list of edges; got True.",
        '["Ada"]': "line 7: [pdmm] overlay must be a list of pairs such as [[0, 1], [1, 2]]; got",
        '[["Ada", "Bob"]]': "line 7: [pdmm] overlay names 'Bob', which is no party.",
        '[["Ada", "Cem"]]': "line 7: [pdmm] overlay must be edges of the network that connect it: there is no edge "
        "between Ada and Cem.",
        '[["Ada", "Bo"]]': "without more edges Cem cannot be reached from Ada.",
        '[["Ada", "Bo"], ["Bo", "Ada"]]': "the edge (Bo, Ada) is given twice.",
    }.items():
        with pytest.raises(InvalidFile) as error:
            read(asked)
        assert expected in str(error.value)


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_in_the_file(tmp_path: Path, case: str) -> None:
    old, new, expected = MISTAKES[case]
    assert old in GOOD
    message = refusal(write(tmp_path, GOOD.replace(old, new)))
    assert message.startswith(("problem.toml", "none.txt"))
    assert expected in message
    assert "\n" not in message


# Mistakes in a regression's keys: an edit of REGRESSION

REGRESSION_MISTAKES: dict[str, tuple[str, str, str]] = {
    "no target": ('target = "t"\n', "", "line 3: [cost] target is missing: name the column"),
    "target among features": ('["u", "v"]', '["u", "t"]', "line 6: [cost] features contains the target 't'."),
    "no such feature": ('["u", "v"]', '["u", "vv"]', "a.csv has no column 'vv'; did you mean 'v'? It has: u, v, t."),
    "no such target": ('target = "t"', 'target = "y"', "a.csv has no column 'y'. It has: u, v, t."),
    "no match": ('"*.csv"', '"*.tsv"', "line 5: [cost] files = '*.tsv' matches no file in"),
    "missing file": ('"*.csv"', '["a.csv", "x.csv", "b.csv"]', "x.csv does not exist."),
    "directory": ('"*.csv"', '["a.csv", "."]', "is a directory, not a file."),
    "files": ('"*.csv"', "3", "line 5: [cost] files must be a list of names"),
    "one file": ('"*.csv"', '"a.csv"', "line 3: [cost] has data of 1 party"),
    "values": ('files = "*.csv"', "values = [1, 2]", "line 3: [cost] has no data. Give one of parties, files, file."),
    "file without party": ('files = "*.csv"', 'file = "a.csv"', "line 3: [cost] party is missing."),
    "party is data": ('files = "*.csv"', 'file = "a.csv"\nparty = "u"', "line 6: [cost] party names the column 'u'"),
    "delimiter": ('"*.csv"', '"*.csv"\ndelimiter = "::"', "line 6: [cost] delimiter must be one character"),
    "wrong delimiter": ('"*.csv"', '"*.csv"\ndelimiter = ";"', 'It has: u,v,t. Is the file separated by ","?'),
    "ridge": ('target = "t"', 'target = "t"\nridge = -1', "line 8: [cost] ridge must be a number >= 0; got -1."),
    "intercept": (
        'target = "t"',
        'target = "t"\nintercept = 1',
        "line 8: [cost] intercept must be true or false; got 1.",
    ),
    "scale": (
        'target = "t"',
        'target = "t"\nscale = { w = 2 }',
        "line 8: [cost] scale names 'w', which is no feature.",
    ),
    "scale 0": (
        'target = "t"',
        'target = "t"\nscale = { u = 0 }',
        "line 8: [cost] scale must be positive numbers; got 0 for 'u'.",
    ),
    "scale list": ('target = "t"', 'target = "t"\nscale = [1]', "line 8: [cost] scale must be a table such as"),
    "lasso without l1": ("least_squares", "lasso", "line 3: [cost] l1 is missing."),
    "l1 elsewhere": (
        'target = "t"',
        'target = "t"\nl1 = 1',
        'line 8: [cost] l1 has no meaning with type = "least_squares"',
    ),
    "labels": ("least_squares", "logistic", "a.csv: labels must all be in {0, 1} or all in {-1, 1}; there are others"),
    "median of rows": (
        'least_squares"',
        'absolute_deviation"\ncolumns = ["u"]',
        "c.csv: absolute_deviation takes one row per party; there are more.",
    ),
    "name of nobody": (
        '["a", "b"]',
        '["aa", "b"]',
        "line 2: [network] edges names 'aa', which is no party; did you mean 'a'?",
    ),
}


@pytest.mark.parametrize("case", REGRESSION_MISTAKES)
def test_mistakes_about_the_data(tmp_path: Path, case: str) -> None:
    old, new, expected = REGRESSION_MISTAKES[case]
    assert old in REGRESSION
    message = refusal(write(tmp_path, REGRESSION.replace(old, new), SHARDS))
    assert expected in message
    assert "\n" not in message


# Mistakes in a CSV file: the content of b.csv

CSV_MISTAKES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "b.csv is empty. Its first line must name the columns."),
    "blank": ("\n\n", "b.csv is empty."),
    "header only": ("u,v,t\n", "b.csv has a header but no rows."),
    "ragged": ("u,v,t\n1,2,3\n1,2\n", "b.csv, line 3: 2 cells; the header has 3."),
    "too long": ("u,v,t\n1,2,3,4\n", "b.csv, line 2: 4 cells; the header has 3."),
    "not a number": (
        "u,v,t\n1,2,3\n\n1,two,3\n",
        "b.csv, line 4, column 'v': the cell is not a number: it looks like text.",
    ),
    "underscore": ("u,v,t\n1,1_0,3\n", "b.csv, line 2, column 'v': the cell is not a finite number."),
    "semicolons": ("u;v;t\n1;2;3\n", 'Is the file separated by ";"? Then set delimiter = ";".'),
    "semicolons and decimal commas": (
        "u;v;t\n1,5;2;3\n",
        'line 2: 2 cells; the header has 1. Is the file separated by ";"?',
    ),
    "bars without a header": (
        "7.25|2|3\n1|2|3\n",
        "line 1: there are numbers where the names of the columns should be.",
    ),
    "missing": ("u,v,t\n1,NA,3\n", "column 'v': the cell is not a number: it looks like a missing value. Remove"),
    "decimal comma": (
        'u,v,t\n1,"56,7",3\n',
        "it looks like one with a decimal comma. Save the file with decimal points.",
    ),
    "thousands": ('u,v,t\n1,"1,000.5",3\n', "it looks like one with marks between thousands. Write it with a decimal"),
    "thousands or a decimal comma": ('u,v,t\n1,"1,000",3\n', "between thousands, or with a decimal comma."),
    "date": ("u,v,t\n1,2024-05-17,3\n", "it looks like a date or a time. Make it a number first"),
    "unit": ("u,v,t\n1,56 kg,3\n", "it looks like one with a unit. Move the unit into the name of the column."),
    "category": ("u,v,t\n1,F,3\n", "it looks like text. Leave the column out, or make a 0/1 column"),
    "empty cell": ("u,v,t\n1,,3\n", "b.csv, line 2, column 'v': the cell is empty."),
    "a row of empty cells": ("u,v,t\n1,2,3\n,,\n", "b.csv, line 3, column 'u': the cell is empty."),
    "nan": ("u,v,t\n1,nan,3\n", "b.csv, line 2, column 'v': the cell is not a finite number."),
    "inf": ("u,v,t\n1,1e999,3\n", "b.csv, line 2, column 'v': the cell is not a finite number."),
    "no header": ("7.25,2,3\n1,2,3\n", "b.csv, line 1: there are numbers where the names of the columns should be."),
    "missing column": ("u,w,t\n1,2,3\n", "b.csv has no column 'v'. It has: u, w, t."),
    "two columns of a name": ("u,v,v,t\n1,2,3,4\n", "b.csv, line 1: two columns are named 'v'."),
    "no name": ("u,,v,t\n1,2,3,4\n", "b.csv, line 1: column 2 has no name."),
    "not utf-8": (b"u,v,t\n1,2,3\n\xff,2,3\n", "b.csv, line 3: not UTF-8 text."),
    "quotes": ('u,v,t\n"1"x,2,3\n', "b.csv, line 2: not valid CSV"),
}


@pytest.mark.parametrize("case", CSV_MISTAKES)
def test_mistakes_in_a_csv_file(tmp_path: Path, case: str) -> None:
    content, expected = CSV_MISTAKES[case]
    message = refusal(write(tmp_path, REGRESSION, {**SHARDS, "b.csv": content}))
    assert expected in message
    assert not any(cell in message for cell in ("1_0", "nan", "1e999", "7.25", "56", "1,000", "2024"))  # a cell is data
    assert "\n" not in message


def test_different_columns_between_parties(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, REGRESSION.replace('features = ["u", "v"]\n', ""), SHARDS))
    assert "c.csv and a.csv have different columns: only one of them has id." in message


def test_an_empty_party_cell(tmp_path: Path) -> None:
    text = REGRESSION.replace('files = "*.csv"', 'file = "all.csv"\nparty = "who"')
    message = refusal(write(tmp_path, text, {"all.csv": "who,u,v,t\na,1,2,3\n,1,2,3\n"}))
    assert "all.csv, line 3, column 'who': the cell is empty; it must name the party." in message


def test_mistakes_in_inline_rows_name_the_party_and_its_line(tmp_path: Path) -> None:
    base = REGRESSION.replace('files = "*.csv"\n', "") + "[[cost.parties]]\nrows = [[1, 2, 3]]\n"
    more = base + "[[cost.parties]]\nrows = [[1, 2]]\n"
    assert "line 12: [[cost.parties]] number 2 rows must have 3 numbers in every row; row 1 has 2." in refusal(
        write(tmp_path, more)
    )
    more = base + "[[cost.parties]]\nname = 3\n"
    assert "line 12: [[cost.parties]] number 2 name must be text in quotes" in refusal(write(tmp_path, more))
    more = base + "[[cost.parties]]\nrow = 3\n"
    assert "line 12: [[cost.parties]] number 2 row is not a known key; did you mean 'rows'?" in refusal(
        write(tmp_path, more)
    )
    more = base + '[[cost.parties]]\nname = "0"\nrows = [[1, 2, 3]]\n'
    assert "[cost] parties has two parties named '0'" in refusal(write(tmp_path, more))


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"", "problem.toml is empty."), (b"[network]\nname = '\xff'\n", "problem.toml, line 2: not UTF-8 text.")],
)
def test_files_that_are_no_text(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "problem.toml"
    path.write_bytes(content)
    assert expected in refusal(path)


NESTED = {
    "arrays": "values = " + "[" * 50_000 + "]" * 50_000,
    "tables": "values = " + "{a = " * 50_000 + "1" + "}" * 50_000,
    "a dotted key": "values" + ".a" * 5_000 + " = 1",
    "a header": "[values" + ".a" * 5_000 + "]\nb = 1",
    "one more than allowed": "values = " + "[" * DEEPEST + "]" * DEEPEST,
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_values_within_values_without_end(tmp_path: Path, text: str) -> None:
    assert "problem.toml: not valid TOML: values in it are nested more than 32 deep" in refusal(write(tmp_path, text))


def test_values_within_values_as_deep_as_allowed() -> None:
    inner = toml_values("values = " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1))["values"]
    for _ in range(DEEPEST - 2):
        (inner,) = inner
    assert inner == []


def test_no_file_and_a_directory(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml") == "none.toml does not exist."
    (tmp_path / "folder.toml").mkdir()
    assert refusal(tmp_path / "folder.toml") == "folder.toml is a directory, not a file."


def test_a_bad_edge_list_is_named_with_its_line(tmp_path: Path) -> None:
    text = GOOD.replace('generator = "ring"', 'edge_list = "edges.txt"')
    assert "edges.txt, line 2: expected two node numbers" in refusal(write(tmp_path, text, {"edges.txt": "0 1\n1 b\n"}))
    message = refusal(write(tmp_path, text, {"edges.txt": "0 1\n1 2\n"}))
    assert "line 2: [network] edge_list gives 3 nodes, but there are 4 parties" in message
    assert "edges.txt: edge number 1, (1, 1), is a self-loop" in refusal(
        write(tmp_path, text, {"edges.txt": "0 1\n1 1\n"})
    )
