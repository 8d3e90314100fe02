"""What ``sv.data.check`` and ``sottovoce check`` find, against plain loops over the same cells; and no cell in it."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.data.own_design import OwnDesign
from sottovoce.data.selection import PlainColumns
from sottovoce.data.sources import CSVSource, open_source
from sottovoce.data.table import Table
from sottovoce.errors import InvalidFile, InvalidInput
from sottovoce.runtime.plan.plan import read_plan, write_plan

pa = pytest.importorskip("pyarrow")

SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "range": (0, 120), "missing": ["NA"]},
        "sex": {"type": "category", "levels": ["f", "m", "x"]},
        "seen": {"type": "date", "range": (date(2020, 1, 1), date(2024, 12, 31))},
        "visits": "integer",
        "smoker": "boolean",
        "crp": "number",
    }
)
GOOD = {"age": "61", "sex": "f", "seen": "2021-05-06", "visits": "3", "smoker": "yes", "crp": "1.5"}
MARK = "SECRET"
FAULTS = [  # column, cell, kind
    ("age", f"{MARK}1", "not a number"),
    ("age", "918273.645", "out of range"),
    ("age", "inf", "infinite"),
    ("age", "2,5", "not a number"),
    ("sex", f"{MARK}2", "unknown level"),
    ("sex", "F", "unknown level"),
    ("seen", f"{MARK}3", "not a date"),
    ("seen", "1918-02-07", "out of range"),
    ("seen", "2021-02-30", "not a date"),
    ("visits", "918273.5", "not whole"),
    ("visits", "918273918273918273", "too large"),
    ("smoker", f"{MARK}4", "neither true nor false"),
    ("smoker", "918273", "neither true nor false"),
    ("crp", f"{MARK}5", "not a number"),
    ("crp", "918273 mg", "not a number"),
]


def everything(checked):
    return "\n".join([checked.summary(), json.dumps(checked.to_dict()), checked._repr_html_(), repr(checked)])


def quotes_nothing(text):
    return not any(mark in text for mark in (MARK, "918273", "918,273", "9.18e", "1918-02-07"))


def csv_file(path, rows, names=tuple(GOOD)):
    path.write_text(
        "\n".join([",".join(names), *(",".join(f'"{row[name]}"' for name in names) for row in rows)]) + "\n"
    )
    return path


def found(checked):
    return {(problem.column, problem.kind): (problem.count, problem.rows) for problem in checked.problems}


# All that is wrong, by row


@pytest.mark.parametrize(("column", "cell", "kind"), FAULTS)
def test_a_cell_that_does_not_fit_is_told_by_its_row(column, cell, kind, tmp_path):
    rows = [GOOD, GOOD, GOOD | {column: cell}, GOOD]
    checked = sv.data.check(csv_file(tmp_path / "rows.csv", rows), schema=SCHEMA)
    assert found(checked) == {(column, kind): (1, (3,))}
    assert (checked.ok, checked.read, checked.used, checked.bad, checked.dropped) == (False, 4, 3, 1, 0)
    assert quotes_nothing(everything(checked))


def test_all_of_them_are_told_at_once_also_from_a_file_that_the_run_would_refuse_at_the_first(tmp_path):
    rows = [GOOD] * 3 + [GOOD | {column: cell} for column, cell, _ in FAULTS] + [GOOD | {"crp": ""}, GOOD]
    path = csv_file(tmp_path / "rows.csv", rows)
    with pytest.raises(InvalidFile, match="line 5"):  # the run itself
        list(CSVSource(path).batches(SCHEMA))
    checked = sv.data.check(path, schema=SCHEMA)
    told = Counter((column, kind) for column, _, kind in FAULTS)
    assert {key: count for key, (count, _) in found(checked).items()} == told
    for at, (column, _, kind) in enumerate(FAULTS, start=4):
        assert at in found(checked)[column, kind][1]
    assert (checked.read, checked.used, checked.bad, checked.dropped) == (20, 4, 15, 1)
    assert (checked.gaps["crp"].count, checked.gaps["crp"].first) == (1, [19])
    assert sum(gap.count for gap in checked.gaps.values()) == 1  # what cannot be read is not missing
    assert quotes_nothing(everything(checked))


def test_cells_beside_a_bad_one_are_read_as_ever(tmp_path):
    """The whole block is text then: other marks, words for true and false, and missing codes must mean the same."""
    path = tmp_path / "rows.csv"
    path.write_text("age;smoker;crp\n1,5;yes;1.000,5\n2.5;No;2,0\nNA; T ;3\n 7 ;0;x\n9;maybe;nan\n")
    source = CSVSource(path, delimiter=";", decimal=",", thousands=".")
    checked = sv.data.check(source, schema=SCHEMA, columns=["age", "smoker", "crp"])
    # 2.5 is no number where points are between thousands, though programs that know of none would read one.
    assert found(checked) == {
        ("age", "not a number"): (1, (2,)),
        ("smoker", "neither true nor false"): (1, (5,)),
        ("crp", "not a number"): (1, (4,)),
    }
    assert {name: gap.first for name, gap in checked.gaps.items()} == {"age": [3], "smoker": [], "crp": [5]}
    batch = next(iter(source.forgiving().batches(SCHEMA.restricted(["age", "smoker", "crp"]))))
    assert batch["crp"].to_pylist()[:3] == ["1000.5", "2", "3"]
    assert batch["smoker"].to_pylist()[:4] == ["true", "false", "true", "false"]


def test_numbers_go_on_over_batches():
    rows = 200_000
    rng = np.random.default_rng(7)
    age = rng.uniform(0, 100, rows)
    out, blank = rng.random(rows) < 0.01, rng.random(rows) < 0.02
    age[out], age[blank] = 918273.645, np.nan
    sex = np.where(rng.random(rows) < 0.5, "f", "m").astype(object)
    wrong = np.arange(rows) % 66_000 == 65_999
    sex[wrong] = f"{MARK}6"
    sex[77] = "x"
    table = pa.table({"age": age, "sex": pa.array(sex, pa.string())})
    checked = sv.data.check(table, schema=SCHEMA, formula="~ age + sex", missing="drop")
    outside = out & ~blank
    assert found(checked) == {
        ("age", "out of range"): (outside.sum(), tuple((np.flatnonzero(outside)[:5] + 1).tolist())),
        ("sex", "unknown level"): (3, (66_000, 132_000, 198_000)),
    }
    assert checked.gaps["age"].count == blank.sum()
    assert checked.gaps["age"].first == (np.flatnonzero(blank)[:5] + 1).tolist()
    bad = outside | wrong
    assert (checked.read, checked.bad) == (rows, bad.sum())
    assert checked.dropped == (blank & ~bad).sum()
    assert checked.used == (~blank & ~bad).sum()
    assert checked.rare == {"sex": {"x": 1}}
    assert quotes_nothing(everything(checked))


def test_a_formula_tells_all_rows_of_which_it_makes_no_number():
    schema = {"a": "number", "b": "number", "y": "number"}
    table = pd.DataFrame({"a": [1.0, 0, 2, -1, 3, 20], "b": [1.0, 4, -4, -4, 0, 1], "y": [1.0, 1, 1, 1, 1, -918273]})
    batches = [pa.Table.from_pandas(table[:2]), pa.Table.from_pandas(table[2:])]
    formula = "sqrt(y) ~ log(a) + sqrt(b) + ns(a, knots=[1], range=[0, 9])"
    checked = sv.data.check(batches, schema=schema, formula=formula)
    assert {key: rows for key, (_, rows) in found(checked).items()} == {
        ("log(a)", "the logarithm of a number that is not positive"): (2, 4),
        ("sqrt(b)", "the root of a negative number"): (3,),  # row 4 is out already
        ("ns(a, knots=[1], range=[0, 9])", "a number outside its range [0, 9]"): (6,),
    }
    assert (checked.used, checked.bad) == (2, 4)
    again = sv.data.check(table, schema=schema, formula="sqrt(y) ~ a")
    assert found(again) == {("sqrt(y)", "the root of a negative number"): (1, (6,))}
    offset = sv.data.check(table, schema=schema, formula="y ~ b + offset(log(a))")
    assert [rows for _, rows in found(offset).values()] == [(2, 4)]
    assert quotes_nothing(everything(checked) + everything(again))


@pytest.mark.parametrize("seed", range(20))
def test_it_refuses_what_a_run_refuses_and_nothing_else(seed):
    """The table of a statistic is the other reader of the same rows."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(0, 6))
    sex = rng.choice(["f", "m", "q", None], rows, p=[0.45, 0.4, 0.05, 0.1])
    table = {"age": rng.choice([1.0, 30.0, 130.0, np.nan], rows, p=[0.4, 0.45, 0.05, 0.1]), "sex": sex.astype(object)}
    missing = ["raise", "drop"][seed % 2]
    checked = sv.data.check(table, schema=SCHEMA, columns=["age", "sex"], missing=missing)
    run = Table(open_source(table), SCHEMA, PlainColumns(("age", "sex")), missing)
    try:
        used = len(run.rows)
    except InvalidInput:
        assert not checked.ok
        return
    assert checked.ok
    assert (checked.read, checked.used) == (run.survey.read, used)
    assert {"rows": checked.dropped, **{name: gap.count for name, gap in checked.gaps.items()}} == run.survey.dropped


# The party's own design


def centred_condition(x):
    x = x - x.mean(axis=0)
    singular = np.linalg.svd(x / np.linalg.norm(x, axis=0), compute_uv=False)
    return singular[0] / singular[-1]


@pytest.mark.parametrize("sizes", [(1000,), (1, 2, 997), (250, 250, 500)])
def test_rank_and_condition_are_those_of_the_whole_matrix(sizes):
    rng = np.random.default_rng(3)
    n = sum(sizes)
    a, z, sex = rng.normal(50, 10, n), rng.normal(size=n), rng.integers(0, 3, n)
    b = a + 0.01 * z  # nearly the same
    frame = pd.DataFrame({"a": a, "b": b, "sex": np.array(["f", "m", "x"])[sex]})
    ends = np.cumsum([0, *sizes])
    pieces = [frame[low:high] for low, high in pairwise(ends)]
    schema = {"a": "number", "b": "number", "sex": {"type": "category", "levels": ["f", "m", "x"]}}
    checked = sv.data.check(pieces, schema=schema, formula="~ a * sex + b")
    m, x = sex == 1, sex == 2
    slopes = np.column_stack([a, m, x, b, a * m, a * x])
    assert checked.columns == ("Intercept", "a", "sex[T.m]", "sex[T.x]", "b", "a:sex[T.m]", "a:sex[T.x]")
    assert checked.rank == np.linalg.matrix_rank(np.column_stack([np.ones(n), slopes])) == 7
    # Both lose at most condition * eps of it, some 1e4 * 1e-16, times a small number for the rows.
    assert checked.condition_number == pytest.approx(centred_condition(slopes), rel=1e-9)
    assert (checked.dependent, checked.constant, checked.zero) == ({}, (), ())
    without = sv.data.check(pieces, schema=schema, formula="~ 0 + a + b")
    singular = np.linalg.svd(frame[["a", "b"]] / np.linalg.norm(frame[["a", "b"]], axis=0), compute_uv=False)
    assert without.condition_number == pytest.approx(singular[0] / singular[-1], rel=1e-9)


def test_columns_that_are_made_of_others_are_named():
    rng = np.random.default_rng(5)
    a, b, c = rng.normal(30, 3, (3, 400))
    table = {"a": a, "b": b, "total": a + b, "c": c, "twice": 2 * c, "site": np.full(400, 7.0), "arm": ["f"] * 400}
    schema = {name: "number" for name in table} | {"arm": {"type": "category", "levels": ["f", "m"]}}
    checked = sv.data.check(table, schema=schema, formula="~ a + b + total + c + twice + site + arm")
    pooled = np.column_stack([np.ones(400), a, b, a + b, c, 2 * c, np.full(400, 7.0), np.zeros(400)])
    assert checked.rank == np.linalg.matrix_rank(pooled) == 4
    assert checked.dependent == {"total": ("a", "b"), "twice": ("c",), "site": ("Intercept",)}
    assert (checked.constant, checked.zero, checked.condition_number) == (("site",), ("arm[T.m]",), math.inf)
    assert checked.ok  # others may have what this party lacks
    assert sum("need not be so for all parties" in remark for remark in checked.remarks) == 4
    assert checked.to_dict()["condition_number"] is None


def test_digits_that_squares_lose_are_kept():
    """``X'X`` of these columns is singular in double precision."""
    z = np.random.default_rng(1).normal(size=(500, 2))
    near = np.column_stack([z[:, 0], z[:, 0] + 1e-9 * z[:, 1]])
    design = OwnDesign(("a", "b"))
    for block in np.array_split(near, 7):
        design.add(block)
    gram = near.T @ near / np.outer(*[np.linalg.norm(near, axis=0)] * 2)
    assert np.linalg.eigvalsh(gram)[0] < 1e-15
    assert design.rank == 2
    assert design.condition_number == pytest.approx(2 / 1e-9, rel=0.2)  # sin of the angle, whose spread is that of z


def test_sizes_do_not_matter():
    z = np.random.default_rng(2).normal(size=(50, 2))
    plain, large = OwnDesign(("a", "b")), OwnDesign(("a", "b"))
    plain.add(z)
    large.add(z * [1e200, 1e-200])
    assert (large.rank, large.dependent) == (2, {})
    assert large.condition_number == pytest.approx(plain.condition_number, rel=1e-12)


def test_levels_that_few_rows_have():
    sex = ["f"] * 5 + ["m"] * 4 + [None]
    checked = sv.data.check({"sex": sex}, schema=SCHEMA, columns="sex", missing="drop")
    assert checked.rare == {"sex": {"m": 4, "x": 0}}
    assert "'m' 4, 'x' 0" in checked.summary()
    assert sv.data.check({"sex": ["f", "m", "x"] * 5}, schema=SCHEMA, columns=["sex"]).rare == {}


# What is not there


@pytest.mark.parametrize("what", [{"formula": "~ age * sex"}, {"columns": ["age", "sex"]}])
def test_a_party_without_rows_could_start(what):
    checked = sv.data.check({"age": [], "sex": []}, schema=SCHEMA, **what)
    assert (checked.ok, checked.read, checked.used, checked.condition_number) == (True, 0, 0, None)
    assert (checked.constant, checked.zero, checked.rare, checked.dependent) == ((), (), {}, {})
    assert checked.rank == (0 if "formula" in what else None)
    assert any("no row is used" in remark for remark in checked.remarks)
    full = sv.data.check({"age": [1.0, 2.0], "sex": ["f", "m"]}, schema=SCHEMA, **what)
    assert checked.columns == full.columns


def test_a_table_of_blanks_is_refused_or_dropped():
    blanks = {"age": ["", " ", "NA"], "sex": [None, None, ""]}
    refused = sv.data.check(blanks, schema=SCHEMA, columns=["age", "sex"])
    assert (refused.ok, refused.used, refused.dropped) == (False, 0, 3)
    assert refused.refusals == [
        "values are missing, by column: 'age' 3 (rows 1, 2, 3), 'sex' 3 (rows 1, 2, 3). Impute them, or use "
        'missing = "drop"'
    ]
    assert sv.data.check(blanks, schema=SCHEMA, columns=["age", "sex"], missing="drop").ok


def test_columns_that_are_not_there_are_named_and_the_others_looked_at():
    table = {"age": [200.0, 3.0], "sexx": ["f", "m"], "other": [1, 2]}
    checked = sv.data.check(table, schema=SCHEMA, formula="age ~ sex + crp")
    assert (checked.ok, checked.used, checked.rank) == (False, 0, None)
    assert (checked.absent, checked.unknown) == (("sex", "crp"), ("sexx", "other"))
    assert checked.unused == ("seen", "visits", "smoker")
    assert found(checked) == {("age", "out of range"): (1, (1,))}
    assert "did you mean 'sexx'" in checked.refusals[0]
    assert "'sex', 'crp'" in checked.refusals[1]
    nothing = sv.data.check({"other": [1]}, schema=SCHEMA, columns=["age"])
    assert (nothing.ok, nothing.absent, nothing.read) == (False, ("age",), 0)


def test_a_header_with_other_marks_gets_a_hint(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age;sex\n61;f\n")
    assert "separated by" in sv.data.check(path, schema=SCHEMA, columns=["age"]).refusals[0]


def test_a_table_that_cannot_be_read_to_its_end_says_where_and_what_was_found_before():
    pieces = [{"age": [200.0], "sex": ["f"]}, {"age": [200.0, 61.0], "sex": ["f", "m"]}, {"age": [61.0]}]
    checked = sv.data.check(pieces, schema=SCHEMA, columns=["age", "sex"])
    assert not checked.ok
    assert checked.refusals[0].startswith("reading stopped after 3 rows: batch 3 has other columns")
    assert found(checked) == {("age", "out of range"): (2, (1, 2))}


def test_a_line_with_more_cells_is_told_and_not_shown(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"age,sex\n61,f\n61,f,{MARK}\n")
    checked = sv.data.check(path, schema=SCHEMA, columns=["age", "sex"])
    assert "line 3: 3 cells; the header has 2" in checked.refusals[0]
    assert quotes_nothing(everything(checked))


# Arguments


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"formula": "~ age", "columns": ["age"]}, "both given"),
        ({"formula": "~ nobody"}, "no column of the schema"),
        ({"formula": "~ 1"}, "reads no column"),
        ({"formula": "~ age + log(age * 0 / 0)"}, "no finite result"),
        ({"columns": ["nobody"]}, "no column 'nobody'"),
        ({"columns": []}, "one or more"),
        ({"columns": 5}, "one or more"),
        ({"missing": "impute"}, "'raise' or|\"raise\" or"),
        ({"schema": {"age": "text"}}, "type must be"),
    ],
)
def test_a_question_that_cannot_be_used_is_refused_whatever_the_table_has(arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.data.check({"age": []}, **({"schema": SCHEMA} | arguments))


def test_a_table_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidFile, match="does not exist"):
        sv.data.check(tmp_path / "rows.csv", schema=SCHEMA)


# The command


def run(*words):
    return CliRunner().invoke(app, ["check", *map(str, words)])


@pytest.fixture
def schema_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA.to_toml())
    return path


def test_the_command_on_a_table(tmp_path, schema_file):
    rows = [GOOD | {"age": str(20 + k % 50), "sex": "fm"[k % 2]} for k in range(40)]
    path = csv_file(tmp_path / "rows.csv", [*rows, GOOD | {"age": "NA"}])
    done = run(path, "--schema", schema_file, "--formula", "age ~ sex", "--missing", "drop", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    expected = sv.data.check(path, schema=SCHEMA, formula="age ~ sex", missing="drop").to_dict()
    assert told == json.loads(json.dumps(expected))
    assert (told["ok"], told["used"], told["gaps"]["age"]) == (True, 40, {"count": 1, "first": [41]})
    people = run(path, "--schema", schema_file, "--columns", "age,sex")
    assert people.exit_code == 2
    assert "cannot start" in people.stdout
    assert "'age' 1 (row 41)" in people.stdout


def test_the_command_shows_no_cell(tmp_path, schema_file):
    path = csv_file(tmp_path / "rows.csv", [GOOD | {column: cell} for column, cell, _ in FAULTS])
    for words in ([], ["--json"], ["--columns", "age,crp"]):
        done = run(path, "--schema", schema_file, *words)
        assert done.exit_code == 2
        assert quotes_nothing(done.output)
    assert "not whole in row 10" in " ".join(run(path, "--schema", schema_file).stdout.split())


def test_the_command_on_a_table_with_other_marks(tmp_path, schema_file):
    path = tmp_path / "rows.csv"
    path.write_text("age;crp\n61;2,5\n")
    words = (path, "--schema", schema_file, "--columns", "age,crp", "--delimiter", ";")
    assert run(*words).exit_code == 2
    assert run(*words, "--decimal", ",").exit_code == 0


def test_the_command_says_what_it_needs(tmp_path, schema_file):
    table = csv_file(tmp_path / "rows.csv", [GOOD])
    empty = tmp_path / "no.toml"
    empty.write_text("[statistic]\n")
    for words, sentence in [
        ((table,), "give --schema"),
        ((tmp_path / "node.toml", "--formula", "~ age"), "--formula has no meaning"),
        ((tmp_path / "node.toml",), "does not exist"),
        ((table, "--schema", empty), "has no [schema]"),
        ((table, "--schema", schema_file, "--formula", "~ age +"), "formula"),
        ((tmp_path / "nowhere.csv", "--schema", schema_file), "does not exist"),
    ]:
        done = run(*words)
        assert done.exit_code == 2
        assert sentence in done.stderr
        assert not done.stdout


# The command on node files

PLAN = """run = {{name = "ages", c = 2.0}}
network = {{generator = "complete"}}
audit = {{{audit}}}
{question}
party = [
    {{name = "ann", address = "10.0.0.1:7401", data = "ann.csv"}},
    {{name = "bob", address = "10.0.0.2:7401", data = "bob.csv"}},
]
{schema}"""


def node_of(folder, question, schema="", audit="least_rows = 1"):
    """Ann's node file; her data are beside the plan, in ``ann.csv``."""
    for name in ("ann", "bob"):
        (folder / f"{name}.csv").write_text("")
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(question=question, schema=schema, audit=audit))
    write_plan(read_plan(plan), folder / "parties", generate_keys=True)
    return folder / "parties" / "ann" / "node.toml"


@pytest.fixture(scope="module")
def node_with_schema(tmp_path_factory):
    question = 'statistic = {type = "linear", formula = "age ~ sex + log(crp)", missing = "drop"}'
    schema = SCHEMA.restricted(["age", "sex", "crp"]).to_toml()
    return node_of(tmp_path_factory.mktemp("schema"), question, schema, audit="least_rows = 0")


def with_data(node, text):
    (node.parents[2] / "ann.csv").write_text(text)
    return node


def told_by(node):
    done = run(node, "--json")
    assert quotes_nothing(done.output)
    return done.exit_code, json.loads(done.stdout)


def rows_told(told):
    return {problem["column"]: problem["rows"] for problem in told["problems"]}


def test_the_command_on_a_node_file_with_a_schema(node_with_schema):
    rows = [(20 + k, "fm"[k % 2], 1 + k % 7) for k in range(30)]
    text = "age,sex,crp\n" + "".join(f"{age},{sex},{crp}\n" for age, sex, crp in rows)
    status, told = told_by(with_data(node_with_schema, text + "NA,f,1\n50,,2\n"))
    assert (status, told["ok"], told["read"], told["used"], told["dropped"]) == (0, True, 32, 30, 2)
    assert told["columns"] == ["Intercept", "sex[T.m]", "sex[T.x]", "log(crp)"]
    assert (told["zero"], told["rank"], told["missing"]) == (["sex[T.x]"], 3, "drop")
    status, told = told_by(with_data(node_with_schema, f"{text}61,{MARK},1\n61,f,-918273\n61,f,0\n"))
    assert (status, told["ok"]) == (2, False)
    assert [(problem["column"], problem["rows"]) for problem in told["problems"]] == [
        ("sex", [31]),
        ("log(crp)", [32, 33]),
    ]
    people = run(node_with_schema)
    assert people.exit_code == 2
    assert "cannot start" in people.stdout
    assert quotes_nothing(people.output)


def test_a_party_of_a_run_without_rows_could_start(node_with_schema):
    status, told = told_by(with_data(node_with_schema, "age,sex,crp\n"))
    assert (status, told["used"], told["rank"]) == (0, 0, 0)


def test_what_else_a_party_refuses_is_told(tmp_path):
    node = node_of(tmp_path, 'statistic = {type = "mean", columns = ["age"]}', audit="least_rows = 3")
    status, told = told_by(with_data(node, "age\n0.5\n0.25\n"))
    assert (status, told["problems"], told["used"]) == (2, [], 2)
    assert "least_rows" in told["refusals"][0]
    assert told_by(with_data(node, "age\n0.5\n0.25\n1\n"))[0] == 0


def test_the_command_on_a_node_file_of_numbers(tmp_path):
    question = 'statistic = {type = "linear", features = ["a b", "c"], target = "y"}'
    node = node_of(tmp_path, question)
    status, told = told_by(with_data(node, "a b,c,y\n" + "".join(f"{k / 8},{k / 4},{k % 3}\n" for k in range(1, 9))))
    assert (status, told["columns"], told["rank"]) == (0, ["Intercept", "a b", "c"], 2)
    assert told["dependent"] == {"c": ["a b"]}
    status, told = told_by(with_data(node, f"a b,c,y\n1,{MARK},1\n2,2,\n3,3,{MARK}\n"))
    assert (status, told["gaps"]["y"]) == (2, {"count": 1, "first": [2]})
    assert rows_told(told) == {"c": [1], "y": [3]}


def test_the_command_on_a_node_file_with_a_cost_and_without_the_extra(tmp_path, monkeypatch):
    question = 'cost = {type = "logistic", features = ["a"], target = "ill", ridge = 1.0}'
    node = with_data(node_of(tmp_path, question, audit="max_corrupt = 0"), "a,ill\n0.5,1\n0.25,-1\n0.75,1\n")
    status, told = told_by(node)
    assert (status, told["columns"], told["rank"]) == (0, ["a"], 1)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    status, told = told_by(node)
    assert (status, told["used"], told["columns"]) == (0, 3, ["a", "ill"])
    done = run(with_data(node, f"a,ill\n{MARK},1\n"))
    assert (done.exit_code, quotes_nothing(done.output)) == (2, True)
    assert "line 2, column 1" in done.stderr or "line 2, column 'a'" in done.stderr
