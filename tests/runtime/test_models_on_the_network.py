"""Models between parties: every analysis gives at each of them what the simulator gives, a party that is killed at any
stage goes on, and what all rows together do not determine is refused by all with one sentence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from runtime import virtual_time
from runtime.test_result import VALID
from runtime.trial import results_of, status, wait_for
from unit.test_every_analysis import EXAMPLES, SCHEMA, SHARDS

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import Undetermined
from sottovoce.files.toml_text import toml
from sottovoce.runtime import Cluster, read_plan, serve, write_plan
from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.transport.in_memory import Hub
from sottovoce.statistics.agreements import SimulatedAgreements
from sottovoce.statistics.of_tables import run_on_tables

NAMES = [f"p{i}" for i in range(len(SHARDS))]
EDGES = [["p0", "p1"], ["p1", "p2"], ["p2", "p3"], ["p3", "p0"]]


def planned(folder: Path, asked: dict[str, Any], tables: list[dict[str, Any]], pace: float | None = None) -> Path:
    """Folders of parties on a ring, each with its own table."""
    lines = ["[run]", 'name = "models"', *([] if pace is None else [f"pace = {pace}"])]
    lines += ["[network]", f"edges = {json.dumps(EDGES)}", SCHEMA.to_toml("schema"), "[statistic]"]
    lines += [f"{key} = {toml(value)}" for key, value in asked.items()]
    for name, port, table in zip(NAMES, free_ports(len(NAMES)), tables, strict=True):
        lines += ["[[party]]", f'name = "{name}"', f'address = "127.0.0.1:{port}"', f'data = "{name}.csv"']
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
    (folder / "plan.toml").write_text("\n".join(lines) + "\n")
    write_plan(read_plan(folder / "plan.toml"), folder / "parties", generate_keys=True)
    return folder / "parties"


async def _played(parties: Cluster) -> list[Any]:
    hub = Hub()
    around = {name: [other for edge in EDGES if name in edge for other in edge if other != name] for name in NAMES}
    tasks = [serve(parties.configs[name], hub.transport(name, around[name])) for name in NAMES]
    return await asyncio.gather(*tasks, return_exceptions=True)


# One of each program; tests/unit/test_every_analysis.py has all of them at parties that are a little apart.
PROGRAMS = ("linear", "lasso", "pca", "glm", "ordinal", "cox", "mixed", "kaplan_meier", "quantiles", "table_one", "roc")


@pytest.mark.parametrize("kind", PROGRAMS)
def test_every_program(kind, tmp_path):
    """In one process and in virtual time, over the protocol as it is."""
    parties = Cluster(planned(tmp_path, {"type": kind, **EXAMPLES[kind]}, SHARDS, pace=0.01))
    assert virtual_time.run(_played(parties)) == [0] * len(NAMES)
    asked = parties.configs["p0"].question.asked
    assert asked is not None
    agreements = SimulatedAgreements(sv.Network.ring(len(NAMES)))
    expected = run_on_tables(asked, agreements, [asked.table(open_source(shard)) for shard in SHARDS])
    for result in parties.results().values():
        assert result["answer"] == finite(expected.to_dict())  # to the bit
        assert result["agreements"] == len(expected.shown)
        assert result["disclosure"]["shown"] == expected.disclosure.to_dict()["shown"]
        VALID.validate(result)


def finite(value: Any) -> Any:
    """As a result file has it: null for what is no finite number."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def test_killed_at_several_stages(tmp_path):
    """Real processes; statsmodels on all rows in one place."""
    import statsmodels.formula.api as smf
    from statsmodels.genmod.families import Binomial

    asked = {"type": "glm", "formula": "death ~ age + sex + dose", "family": "binomial", "digits": "full"}
    whole = pd.concat([pd.DataFrame(table) for table in SHARDS]).astype({"age": float, "dose": float})
    fit = smf.glm("death ~ age + sex + dose", whole.assign(death=whole.death.astype(float)), family=Binomial()).fit()
    with Cluster(planned(tmp_path, asked, SHARDS, pace=0.1)) as cluster:
        cluster.start()
        for name, stage in (("p1", 1), ("p2", 2), ("p1", 4)):
            wait_for(lambda name=name, stage=stage: status(cluster, name).get("stage", -1) >= stage, what=name)
            cluster.kill(name)
            cluster.start([name])
        results = results_of(cluster)
    for result in results.values():
        found = dict(zip(result["answer"]["terms"], result["answer"]["params"], strict=True))
        errors = dict(zip(result["answer"]["terms"], np.sqrt(np.diag(result["answer"]["covariance"])), strict=True))
        for name, estimate in fit.params.items():
            assert found[name] == pytest.approx(estimate, rel=1e-9)  # how far statsmodels climbs
            assert errors[name] == pytest.approx(fit.bse[name], rel=1e-9)
        VALID.validate(result)


GLM = {"type": "glm", "formula": "death ~ age + sex", "family": "binomial"}
COX = {"type": "cox", "formula": "days, death ~ age + sex"}


@pytest.mark.parametrize(
    ("table", "asked", "sentence"),
    [
        (lambda t: t | {"death": [age > 50 for age in t["age"]]}, GLM, "estimate of 'age' is infinite"),
        (lambda t: t | {"death": [False] * len(t["death"])}, GLM, "'death'"),
        (lambda t: t | {"death": [False] * len(t["death"])}, COX, "'death'"),
        (lambda t: t | {"weight": [70.0] * len(t["weight"])}, EXAMPLES["t_test"] | {"type": "t_test"}, "'weight'"),
        (lambda t: {name: [] for name in t}, EXAMPLES["crosstab"] | {"type": "crosstab"}, "no party has any rows"),
    ],
    ids=[
        "separation",
        "zero events",
        "all censored",
        "constant",
        "no rows",
    ],
)
def test_refused_by_all_with_one_sentence(table, asked, sentence, tmp_path):
    tables = [table(shard) for shard in SHARDS]
    parties = Cluster(planned(tmp_path, asked, tables, pace=0.01))
    ended = virtual_time.run(_played(parties))
    assert all(isinstance(error, Undetermined) for error in ended), ended
    assert len({str(error) for error in ended}) == 1
    assert sentence in str(ended[0])
    assert not parties.results()


@pytest.mark.parametrize(
    ("table", "asked", "aliased"),
    [
        (lambda t: t | {"sex": ["f"] * len(t["sex"])}, GLM, ["sex[T.m]"]),
        (lambda t: t, GLM | {"formula": "death ~ age + I(2 * age)"}, ["I(2 * age)"]),
        (lambda t: t | {"dose": [1.0] * len(t["dose"])}, EXAMPLES["linear"] | {"type": "linear"}, ["dose"]),
    ],
    ids=["empty level", "collinear", "constant column"],
)
def test_columns_that_follow_from_others_are_left_out_by_all(table, asked, aliased, tmp_path):
    tables = [table(shard) for shard in SHARDS]
    parties = Cluster(planned(tmp_path, asked | {"digits": "full"}, tables, pace=0.01))
    assert virtual_time.run(_played(parties)) == [0] * len(NAMES)
    answers = [result["answer"] for result in parties.results().values()]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["aliased"] == aliased
