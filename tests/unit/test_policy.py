"""What a party lets be computed: every rule, in a study of several parties; and by what rows are told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from unit.test_every_analysis import EXAMPLES, SHARDS
from unit.test_every_analysis import SCHEMA as EVERY_COLUMN

import sottovoce as sv
from sottovoce.data.identities import rows_in_use
from sottovoce.data.selection import PlainColumns
from sottovoce.data.sources import open_source
from sottovoce.data.table import Table
from sottovoce.errors import InvalidInput, PolicyError
from sottovoce.statistics.analysis import Analysis
from sottovoce.statistics.of_tables import Asked
from sottovoce.statistics.policy.ledger import Ledger, Release
from sottovoce.statistics.pooled import PooledMean

SEX = {"type": "category", "levels": ["f", "m", "x"]}
SCHEMA = {"age": {"type": "number", "range": (0, 120)}, "dose": {"type": "number", "range": (0, 10)}, "sex": SEX}


def rows(count: int, seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    sex = ["m", *rng.choice(["f"], count - 1)]
    return {"age": rng.uniform(20, 90, count).tolist(), "dose": rng.uniform(1, 9, count).tolist(), "sex": sex}


def study(policy: Any, tables: list[Any] | None = None, **options: Any) -> sv.Study:
    network = sv.Network.ring(3).with_labels(["ann", "bob", "eve"])
    return sv.Study(network, tables or [rows(12), rows(6, 1), rows(12, 2)], schema=SCHEMA, policy=policy, **options)


# Rules


def ask(what: str, asked: sv.Study) -> Any:
    questions = {
        "mean": lambda: asked.mean(["age", "dose"]),
        "covariance": lambda: asked.covariance(["age", "dose"]),
        "histogram": lambda: asked.histogram("sex"),
        "linear": lambda: asked.linear("dose ~ age + sex"),
    }
    return questions[what]()


@pytest.mark.parametrize(
    ("rules", "fine", "refused", "sentence"),
    [
        ({"min_rows": 7}, None, "mean", "min_rows: the analysis uses 6 rows, and the policy asks for 7. Wait for more"),
        ({"min_rows": 6}, "mean", None, ""),
        ({"min_cell": 2}, "mean", "histogram", "min_cell: 1 of 5 counts are of fewer than 2 rows, and not zero."),
        ({"min_cell": 1}, "histogram", None, ""),
        ({"rows_per_parameter": 3}, "mean", None, ""),
        ({"rows_per_parameter": 2}, "covariance", "linear", "rows_per_parameter: 4 numbers are estimated, for w"),
        ({"rows_per_parameter": 2.1}, "mean", "covariance", "asks for 7 rows; there are 6. Ask for a smaller model"),
        ({"columns": ["age", "dose"]}, "mean", "histogram", "columns: 'sex' may not be used."),
        (
            {"analyses": ("mean", "variance")},
            "mean",
            "histogram",
            "analyses: 'histogram' is none of those that are all",
        ),
    ],
)
def test_every_rule(rules: dict[str, Any], fine: str | None, refused: str | None, sentence: str) -> None:
    asked = study({"bob": sv.Policy(**rules)})
    if fine is not None:
        assert ask(fine, asked).status.value == "converged"
    if refused is not None:
        with pytest.raises(PolicyError) as error:
            ask(refused, asked)
        assert str(error.value).startswith("party bob: ")
        assert sentence in str(error.value)


def test_who_has_no_rows_shows_none() -> None:
    nobody: dict[str, list[Any]] = {"age": [], "dose": [], "sex": []}
    asked = study(sv.Policy(min_rows=12, rows_per_parameter=3, min_cell=2), [rows(12), nobody, rows(12, 2)])
    assert asked.mean("age").observations == 24
    with pytest.raises(PolicyError, match=r"^party ann: min_cell"):
        asked.histogram("sex")


def test_all_rules_that_are_broken_are_told() -> None:
    broken = sv.Policy(min_rows=9, columns=["sex"], analyses=["histogram"]).broken(
        Release("run", "hash", "mean", ("age",), 3, 1)
    )
    assert [sentence.partition(":")[0] for sentence in broken] == ["analyses", "columns", "min_rows"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ages(Analysis):
    """Of which a policy asks what it shows."""

    type = "ages"
    family = PooledMean
    selection = PlainColumns(("age",))
    revealed = ["ages"]  # noqa: RUF012
    stages = numbers = counts = 1
    parameters = 7

    def program(self, agreements: Any, rows: Any) -> Any:
        raise AssertionError

    def cells(self, rows: Any) -> Any:
        return np.array([0, 2, 5])


def test_an_analysis_says_what_it_estimates_and_counts() -> None:
    table = Table(open_source(rows(12)), sv.Schema(SCHEMA), PlainColumns(("age",)))
    spec = Ages(schema=sv.Schema(SCHEMA))
    release = Release.of("run", "hash", Asked(spec, spec.schema, spec.selection), table)
    assert (release.type, release.rows, release.parameters, release.cells.tolist()) == ("ages", 12, 7, [0, 2, 5])
    policy = sv.Policy(min_cell=3, rows_per_parameter=2)
    assert [sentence.partition(":")[0] for sentence in policy.broken(release)] == ["rows_per_parameter", "min_cell"]
    assert sv.Policy(min_cell=2, rows_per_parameter=1.5).broken(release) == []


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"min_rows": 0}, "min_rows must be an integer >= 1"),
        ({"min_cell": 2.5}, "min_cell must be an integer >= 1"),
        ({"max_runs": True, "ledger": "x"}, "max_runs must be an integer >= 1"),
        ({"rows_per_parameter": -1}, "rows_per_parameter must be a positive number"),
        ({"rows_per_parameter": float("nan")}, "rows_per_parameter must be a positive number"),
        ({"columns": "age"}, "columns must be a list of names"),
        ({"analyses": ["men"]}, "analyses has 'men', which is none; did you mean 'mean'?"),
        ({"ledger": 3}, "ledger must be a file"),
        ({"max_runs": 3}, "max_runs needs a ledger"),
        ({"id": "patient"}, "id needs a ledger"),
        ({"id": "", "ledger": "x"}, "id must be the name of a column"),
    ],
)
def test_what_cannot_be_a_rule(rules: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        sv.Policy(**rules)
    assert str(error.value).startswith(sentence)


def test_whose_policies(tmp_path: Path) -> None:
    for policy, sentence in (
        ({"bob": 3}, "policy must have an sv.Policy for 'bob'"),
        ({"mallory": sv.Policy()}, "'mallory' is no node of this network"),
        (3, "policy must be an sv.Policy, or one for each party by name"),
        (sv.Policy(ledger=tmp_path / "one"), "policy: two parties have one ledger"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            study(policy)
    assert study({1: sv.Policy(min_rows=3)}).mean("age").status.value == "converged"


# The ledger of a study


def test_a_mean_with_and_without_a_row(tmp_path: Path) -> None:
    ledger, own = tmp_path / "ledger.sqlite", rows(6, 1)
    policy = {"bob": sv.Policy(ledger=ledger)}
    study(policy).mean("age")
    study(policy).mean("age")  # the same question on the same rows is the same release
    study(policy).variance("age")
    assert [entry["type"] for entry in Ledger(ledger).entries()] == ["mean", "variance"]
    less = {name: values[:-1] for name, values in own.items()}
    for tables in ([rows(12), less, rows(12, 2)],):
        with pytest.raises(
            PolicyError, match=r"^party bob: ledger: its rows and those of release 1 in .* differ in few"
        ):
            study(policy, tables).mean("dose")
    study(policy, [rows(12), {name: values[:3] for name, values in own.items()}, rows(12, 2)]).mean("age")
    with pytest.raises(PolicyError, match=r"max_runs: the ledger .* has 3 releases, and 3 are allowed"):
        study({"bob": replace(policy["bob"], max_runs=3)}).histogram("sex")


def test_a_missing_value_is_a_row_less(tmp_path: Path) -> None:
    own = rows(6, 1)
    own["dose"][2] = None
    tables, policy = [rows(12), own, rows(12, 2)], {"bob": sv.Policy(ledger=tmp_path / "ledger.sqlite")}
    study(policy, tables, missing="drop").mean("age")
    with pytest.raises(PolicyError, match="differ in fewer than 3 rows"):
        study(policy, tables, missing="drop").mean("dose")


def test_ledgers_that_say_the_same_say_it_once(tmp_path: Path) -> None:
    policy = {name: sv.Policy(ledger=tmp_path / name) for name in ("ann", "bob")}
    study({"ann": policy["ann"]}).mean("age")
    told = study(policy).variance("age").ledger or ""
    assert told.startswith("party ann: It is release 2 of the ledger, on the same rows as an earlier one.")
    assert "party bob: It is release 1 of the ledger; no combination" in told
    both = {name: sv.Policy(ledger=tmp_path / f"{name}-2") for name in ("ann", "bob")}
    assert (study(both).mean("age").ledger or "").startswith("party ann, party bob: It is release 1 of the ledger;")


def test_nobody_records_what_another_one_refuses(tmp_path: Path) -> None:
    policy = {"ann": sv.Policy(ledger=tmp_path / "ann"), "bob": sv.Policy(min_rows=7, ledger=tmp_path / "bob")}
    with pytest.raises(PolicyError, match=r"^party bob: min_rows"):
        study(policy).mean("age")
    assert list(tmp_path.iterdir()) == []


def test_who_a_row_is_of(tmp_path: Path) -> None:
    """Five rows of one person, and a new value in the row of another: another row by content, and not by id."""
    own = rows(9, 1) | {"patient": [*range(1, 5), *[5] * 5]}
    fewer = {name: values[:4] for name, values in own.items()}
    later = own | {"dose": [1.0, *own["dose"][1:]]}

    def asked(table: dict[str, Any], by: str | None) -> None:
        policy = sv.Policy(ledger=tmp_path / str(by), id=by)
        study({"bob": policy}, [rows(12), table, rows(12, 2)]).mean("age")

    asked(own, "patient")
    asked(own, None)
    asked(later, "patient")
    with pytest.raises(PolicyError, match="differ in fewer than 3 rows"):
        asked(later, None)
    with pytest.raises(PolicyError, match="a combination of it and the release in"):
        asked(fewer, "patient")
    asked(fewer, None)
    with pytest.raises(PolicyError, match=r"id names the column 'person', which the table .* has not"):
        asked(own, "person")
    with pytest.raises(PolicyError, match="id names the column 'patient', in which values are missing"):
        asked(own | {"patient": [None, *own["patient"][1:]]}, "patient")


@pytest.mark.parametrize(
    ("ask", "rare", "told"),
    [
        (lambda s: s.glm("death ~ age", family="binomial"), "death", "1 of 2 counts"),
        (lambda s: s.glm("death ~ age + sex", family="binomial"), "sex", "1 of 4 counts"),
        (lambda s: s.cox("age, death ~ dose"), "death", "1 of 2 counts"),
        (lambda s: s.linear("dose ~ sex"), "sex", "1 of 2 counts"),
        (lambda s: s.mean("death"), "death", "1 of 2 counts"),
        (lambda s: s.t_test("dose", by="sex"), "sex", "1 of 2 counts"),  # which counts them itself
    ],
    ids=["events", "level in a model", "events of cox", "level", "boolean", "groups"],
)
def test_sums_of_zeros_and_ones_are_counts(ask: Any, rare: str, told: str) -> None:
    """They are shown, exactly, whether an analysis calls them counts or not."""
    rng = np.random.default_rng(5)

    def table(few: bool) -> dict[str, Any]:
        half = [k % 2 == 1 for k in range(20)]
        yes = {"death": half, "sex": half} | ({rare: [k == 3 for k in range(20)]} if few else {})
        sex = ["m" if each else "f" for each in yes["sex"]]
        return {"age": rng.uniform(20, 90, 20), "dose": rng.uniform(0, 9, 20), "sex": sex, "death": yes["death"]}

    schema = {"age": "number", "dose": "number", "sex": {"type": "category", "levels": ["f", "m"]}, "death": "boolean"}
    tables, policy = [table(True), table(False), table(False)], {0: sv.Policy(min_cell=5)}
    with pytest.raises(PolicyError, match=f"^party 0: min_cell: {told} are of fewer than 5 rows, and not zero"):
        ask(sv.Study(sv.Network.ring(3), tables, schema=schema, policy=policy))


@pytest.mark.parametrize("kind", [kind for kind, options in EXAMPLES.items() if "formula" in options])
def test_a_rare_level_in_a_formula_is_a_small_count(kind: str) -> None:
    """In every analysis that takes a formula, also in those that count responses themselves."""
    levels = ["m" if k == 3 else "f" for k in range(len(SHARDS[0]["sex"]))]
    tables, policy = [{**SHARDS[0], "sex": levels}, *SHARDS[1:]], {0: sv.Policy(min_cell=2)}
    asked = sv.Study(sv.Network.ring(4), tables, schema=EVERY_COLUMN, policy=policy)
    with pytest.raises(PolicyError, match=r"^party 0: min_cell: 1 of \d counts are of fewer than 2 rows"):
        getattr(asked, kind)(**EXAMPLES[kind])


# By what rows are told apart


def words(source: Any, needs: tuple[str, ...] = ("age",), by: str | None = None, missing: Any = "raise") -> list[int]:
    schema = sv.Schema({"age": {"type": "number", "missing": ["-9"]}, "seen": "date", "dose": "number"})
    table = Table(open_source(source), schema, PlainColumns(needs), missing)
    return sorted(rows_in_use(table, b"k" * 32, by).tolist())


def test_a_row_is_the_same_wherever_it_is_kept(tmp_path: Path) -> None:
    table = {
        "age": [61.0, 58.5, -9.0, 44.0],
        "seen": [date(2022, 5, 4), None, date(2023, 1, 31), date(2022, 1, 1)],
        "dose": [1, 2, 3, 10**17 + 1],
        "note": ["as said", " blank ", "007", None],
    }
    arrow = pa.table(table)
    pyarrow.parquet.write_table(arrow, tmp_path / "rows.parquet")
    pyarrow.feather.write_feather(arrow, tmp_path / "rows.feather")
    (tmp_path / "rows.csv").write_text(
        "note,age,dose,seen\nas said,61,1,2022-05-04\nblank,58.50,2,\n007,-9,3,2023-01-31\n"
        f",44.0,{10**17 + 1},2022-01-01 00:00:00\n"
    )
    query = {"source": "duckdb", "query": "SELECT dose, age, note, seen FROM 'rows.parquet' ORDER BY age"}
    expected = words(table)
    assert len(set(expected)) == 4
    frames = [arrow, arrow.to_pandas(), tmp_path / "rows.parquet", tmp_path / "rows.feather", tmp_path / "rows.csv"]
    for source in [*frames, open_source(query, tmp_path)]:
        assert words(source) == expected
        assert words(source, ("dose",)) == expected  # whatever is asked of it
        assert words(source, by="dose") == words(table, by="dose")
    assert not set(words(table, by="dose")) & set(expected)


def test_only_rows_in_use_count(tmp_path: Path) -> None:
    """Also where a code stands for a missing value in a column in use, and for nothing in another."""
    text = "age,dose,seen\n61,1,2022-05-04\n-9,2,2022-05-05\n50,,2022-05-06\n"
    (tmp_path / "rows.csv").write_text(text)
    for source in (tmp_path / "rows.csv", {"age": [61, -9, 50], "dose": [1, 2, None], "seen": ["a", "b", "c"]}):
        every = words(source)
        by_dose = words(source, ("dose",), missing="drop")
        assert len(by_dose) == 2
        assert set(by_dose) < set(every)
    by_age = words(tmp_path / "rows.csv", ("age",), missing="drop")
    assert len(by_age) == 2
    assert set(by_age) | set(words(tmp_path / "rows.csv", ("dose",), missing="drop")) == set(
        words(tmp_path / "rows.csv")
    )


def test_another_key_gives_other_words() -> None:
    table = Table(open_source({"age": [1.0]}), sv.Schema({"age": "number"}), PlainColumns(("age",)))
    assert rows_in_use(table, b"k" * 32) != rows_in_use(table, b"l" * 32)
