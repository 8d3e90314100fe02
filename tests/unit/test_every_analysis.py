"""Every analysis, whatever it is: parties by themselves come to the answer of the simulator, and so does any partition
of the rows; files say it and read it again; a plan knows how much of it travels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from partitions import dealt
from unit.test_programs import Meeting, OneParty

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidFile
from sottovoce.files.toml_table import Table, TomlFile
from sottovoce.files.toml_text import toml
from sottovoce.runtime.plan.question import read_question
from sottovoce.statistics.agreements import SimulatedAgreements
from sottovoce.statistics.analyses import ANALYSES, read_asked, restored, table
from sottovoce.statistics.of_tables import Asked, ask_analysis, run_on_tables
from sottovoce.statistics.statistic import Statistic

SCHEMA = sv.Schema(
    {
        "age": {"type": "integer", "range": (18, 99)},
        "weight": {"type": "number", "range": (30, 160)},
        "dose": {"type": "number", "range": (0, 10)},
        "sex": {"type": "category", "levels": ["f", "m"]},
        "drug": {"type": "category", "levels": ["none", "a", "b"]},
        "death": {"type": "boolean"},
        "score": {"type": "number", "range": (0, 1)},
        "days": {"type": "integer", "range": (1, 60)},
        "visits": {"type": "integer", "range": (0, 50)},
        "cost": {"type": "number", "range": (0.01, 100)},
        "grade": {"type": "category", "levels": ["low", "middle", "high"]},
    }
)
EXAMPLES: dict[str, dict[str, Any]] = {
    "mean": {"columns": ["age", "weight", "death"]},
    "variance": {"columns": ["age", "weight"], "ddof": 0},
    "covariance": {"columns": ["age", "weight", "cost"]},
    "histogram": {"columns": ["drug"]},
    "linear": {"formula": "weight ~ age + sex + dose", "robust": "HC3"},
    "ridge": {"formula": "weight ~ age + sex + dose", "penalties": [100.0, 1.0, 0.01], "folds": 4},
    "lasso": {"formula": "weight ~ age + sex + dose + drug"},
    "pca": {"columns": ["age", "weight", "dose", "death"], "standardize": True},
    "multinomial": {"formula": "drug ~ age + sex"},
    "glm": {"formula": "death ~ age + sex + dose", "family": "binomial", "robust": "HC0"},
    "ordinal": {"formula": "grade ~ age + sex"},
    "cox": {"formula": "days, death ~ age + sex"},
    "mixed": {"formula": "weight ~ age + sex"},
    "crosstab": {"columns": ["sex", "drug"]},
    "t_test": {"column": "weight", "by": "sex"},
    "anova": {"column": "weight", "by": "drug"},
    "levene": {"column": "weight", "by": "drug"},
    "quantiles": {"column": "weight", "resolution": 0.5, "by": "sex"},
    "describe": {"columns": ["age", "weight", "drug"]},
    "table_one": {"columns": ["age", "weight", "drug"], "by": "sex", "nonnormal": ["weight"]},
    "mantel_haenszel": {"exposure": "sex", "outcome": "death"},
    "meta_analysis": {"effect": "mean_difference", "column": "weight", "by": "sex"},
    "roc": {"outcome": "death", "score": "score", "bins": 20},
    "calibration": {"outcome": "death", "score": "score"},
    "kaplan_meier": {"time": "days", "event": "death", "by": "sex", "grid": 6},
    "nelson_aalen": {"time": "days", "event": "death"},
    "log_rank": {"time": "days", "event": "death", "by": "sex"},
}
SIZES = (40, 0, 150, 90)
OF_PARTIES = {"mantel_haenszel", "meta_analysis", "mixed", "cox"}  # whose answers depend on who has which rows
ANYWHERE = {kind: (kind, options) for kind, options in EXAMPLES.items() if kind not in OF_PARTIES} | {
    "cox of one baseline": ("cox", {"formula": "days, death ~ age + sex", "baseline": "grid", "grid": (20, 40)}),
    "linear with weights": ("linear", {"formula": "weight ~ age * sex + drug", "weights": "cost", "robust": "HC1"}),
    "glm with weights": ("glm", {"formula": "visits ~ age + drug", "family": "poisson", "weights": "cost"}),
    "gamma": ("glm", {"formula": "cost ~ age + offset(log(days))", "family": "gamma", "link": "log"}),
    "multinomial with weights": ("multinomial", {"formula": "drug ~ age + sex", "weights": "cost", "ridge": 1.0}),
}


def shards() -> list[dict[str, Any]]:
    """Of four parties: very different sizes, one without rows, one without drug b."""
    rng = np.random.default_rng(8)
    found = []
    for i, rows in enumerate(SIZES):
        age, sex, dose = rng.integers(18, 99, rows), rng.integers(0, 2, rows), rng.uniform(0, 10, rows)
        drug = rng.integers(0, 2 if i == 0 else 3, rows)
        weight = 50 + 0.3 * age + 8 * sex - 0.5 * dose + rng.normal(0, 8, rows)
        eta = -3 + 0.03 * age + 0.4 * sex
        grade = np.digitize(0.05 * age + rng.logistic(size=rows), [1.5, 3.5])
        found.append(
            {
                "age": age.tolist(),
                "weight": np.clip(weight, 30, 160).tolist(),
                "dose": dose.tolist(),
                "sex": [["f", "m"][k] for k in sex],
                "drug": [["none", "a", "b"][k] for k in drug],
                "death": (rng.random(rows) < 1 / (1 + np.exp(-eta))).tolist(),
                "score": np.clip(1 / (1 + np.exp(-eta)) + rng.normal(0, 0.05, rows), 0, 1).tolist(),
                "days": np.ceil(60 * rng.beta(1.5, 1 + 0.01 * age)).clip(1, 60).astype(int).tolist(),
                "visits": rng.poisson(np.exp(0.5 + 0.01 * age)).tolist(),
                "cost": rng.gamma(2, np.exp(0.01 * age)).clip(0.01, 100).tolist(),
                "grade": [["low", "middle", "high"][k] for k in grade],
            }
        )
    return found


SHARDS = shards()


def written(folder: Path, values: dict[str, Any]) -> Table:
    """The table ``[statistic]`` of a file."""
    lines = [f"{key} = {toml(value)}" for key, value in values.items()]
    (folder / "plan.toml").write_text("\n".join(["[statistic]", *lines]) + "\n")
    return TomlFile(folder / "plan.toml").table("statistic")


@pytest.fixture
def asked(kind: str, tmp_path: Path) -> Asked:
    """As a file says it."""
    return read_asked(written(tmp_path, {"type": kind, **EXAMPLES[kind]}), SCHEMA)


def simulated(asked: Asked, parts: Sequence[Any] = SHARDS) -> Statistic:
    network = sv.Network.ring(len(parts)) if len(parts) > 2 else sv.Network.complete(2)
    tables = [asked.table(open_source(part)) for part in parts]
    return run_on_tables(asked, SimulatedAgreements(network), tables)


def one_by_one(asked: Asked) -> list[Statistic]:
    """Every party in a thread of its own, with its own rows and nothing else."""
    meeting = Meeting(len(SIZES))
    with ThreadPoolExecutor(len(SIZES)) as threads:
        futures = [
            threads.submit(run_on_tables, asked, OneParty(meeting, i), [asked.table(open_source(shard))])
            for i, shard in enumerate(SHARDS)
        ]
        return [future.result() for future in futures]


def test_all_of_them_are_here():
    assert EXAMPLES.keys() == ANALYSES.keys()


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_party_comes_to_the_answer_of_the_simulator(kind, asked):
    expected = simulated(asked)
    for answer in one_by_one(asked):
        assert repr(answer.to_dict()) == repr(expected.to_dict())
        assert answer.shown == expected.shown
    assert expected.traffic.agreements <= asked.spec.stages
    counts = sum(shown.numbers for shown in expected.shown if shown.counts and len(shown.counts) == shown.numbers)
    assert sum(shown.numbers for shown in expected.shown) - counts <= asked.spec.numbers
    assert counts <= asked.spec.counts
    assert all(shown.of for shown in expected.shown)
    assert expected.disclosure.to_dict()
    assert np.nanmax(expected.audit_total(corrupt={1}).excess) == 0


@pytest.mark.parametrize("case", ANYWHERE)
def test_any_partition_has_the_same_bits(case):
    """20 ways to deal the rows out to up to 50 parties, some without any."""
    kind, options = ANYWHERE[case]
    table = {name: [value for shard in SHARDS for value in shard[name]] for name in SHARDS[0]}
    asked = ask_analysis(ANALYSES[kind], SCHEMA, **options)
    answers = {repr(simulated(asked, parts).to_dict()) for parts in dealt(table, 20, most=50)}
    assert len(answers) == 1


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_file_says_it_and_reads_it_again(kind, asked, tmp_path):
    """What a plan writes down of an analysis is the same analysis; an answer read from a file has the same table."""
    again = read_question(written(tmp_path, asked.to_dict()), None, 4, SCHEMA)
    assert again.asked is not None
    assert again.asked.to_dict() == asked.to_dict()
    assert again.stages == asked.spec.stages
    found = simulated(asked)
    back = restored(kind, json.loads(json.dumps(found.to_dict())), found.parties)
    assert str(table(back)) == str(table(found))  # where NaN is NaN
    assert back.summary() == found.summary()
    for new in ("predict", "transform"):  # of rows, by a model that remembers its columns
        if hasattr(found, new) and kind not in ("kaplan_meier", "nelson_aalen"):
            rows = getattr(found, new)(SHARDS[0])
            assert len(rows) == SIZES[0]
            np.testing.assert_array_equal(getattr(back, new)(SHARDS[0]), rows)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_unknown_and_missing_options(kind, tmp_path):
    with pytest.raises(InvalidFile, match="nonsense is not a known key"):
        read_asked(written(tmp_path, {"type": kind, **EXAMPLES[kind], "nonsense": 1}), SCHEMA)
    if kind != "describe":  # which takes all columns
        with pytest.raises(InvalidFile, match=r"is missing|must|needs|has no|counts one column"):
            read_asked(written(tmp_path, {"type": kind}), SCHEMA)
