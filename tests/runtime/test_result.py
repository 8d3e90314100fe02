"""The result file: its schema takes what parties write, of every statistic and cost, and nothing else; and the page
that describes it leaves no key out."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from runtime.trial import prepare
from runtime.two_worlds import Program, StillLoop

import sottovoce as sv
from sottovoce.data.cost_table import TYPES
from sottovoce.runtime import process as process_module
from sottovoce.runtime.cluster import Cluster
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.process import serve
from sottovoce.runtime.self_audit import own_privacy
from sottovoce.runtime.transport.in_memory import Hub

SCHEMA = json.loads((Path(process_module.__file__).parent / "result.schema.json").read_text())
VALID = jsonschema.Draft202012Validator(SCHEMA)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plan-and-node-files.md"
FIT = 'features = ["a", "b"]\ntarget = "y"\n'
SCHEMA_TABLE = """
[schema.a]
type = "number"
range = [-9, 9]
[schema.b]
type = "number"
[schema.y]
type = "number"
[schema.label]
type = "category"
levels = ["0", "1"]
"""
RUNS = {
    "mean": '[statistic]\ntype = "mean"\ncolumns = ["a", "b"]',
    "variance": '[statistic]\ntype = "variance"\ncolumns = ["a"]',
    "covariance": '[statistic]\ntype = "covariance"\ncolumns = ["a", "b"]',
    "histogram": '[statistic]\ntype = "histogram"\ncolumns = ["a"]\nbins = [-1, 0, 1]',
    "linear": f'[statistic]\ntype = "linear"\n{FIT}',
    "formula": f'[statistic]\ntype = "linear"\nformula = "y ~ a + C(label)"\nmissing = "drop"\n{SCHEMA_TABLE}',
    "levels": f'[statistic]\ntype = "histogram"\ncolumns = ["label"]\n{SCHEMA_TABLE}',
    "mean of a table": f'[statistic]\ntype = "mean"\ncolumns = ["b", "a"]\nmissing = "drop"\n{SCHEMA_TABLE}',
    "noisy averaging": '[cost]\ntype = "averaging"\ncolumns = ["a", "b"]\n[noise]\nvariance = 0.5',
    "averaging": '[cost]\ntype = "averaging"\ncolumns = ["a", "b"]',
    "absolute_deviation": '[cost]\ntype = "absolute_deviation"\ncolumns = ["a"]',
    "huber": '[cost]\ntype = "huber"\ncolumns = ["a"]',
    "lasso": f'[cost]\ntype = "lasso"\n{FIT}l1 = 0.1',
    "elastic_net": f'[cost]\ntype = "elastic_net"\n{FIT}l1 = 0.1\nl2 = 0.1',
    "logistic": '[cost]\ntype = "logistic"\nfeatures = ["a"]\ntarget = "label"\nintercept = true',
    "hinge": '[cost]\ntype = "hinge"\nfeatures = ["a"]\ntarget = "label"',
}
ONE_ROW = ("absolute_deviation", "huber", "noisy averaging")
CLOSED = ("mean", "variance", "covariance", "histogram")  # every key of these answers is in the schema


def result(folder: Path, about: str, rows: int) -> Any:
    """Of one of two parties, from their plan to the file, in virtual time."""
    rng = np.random.default_rng(2)
    parties = "".join(f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{7401 + i}"\n' for i in range(2))
    tol = 1e-6 if "[statistic]" in about else 1e-3
    run = f'[run]\nname = "trial"\nc = 0.5\ntol = {tol}\n[network]\ngenerator = "complete"\n[audit]\nmax_corrupt = 0\n'
    (folder / "plan.toml").write_text(f"{run}{about}\n{parties}")
    write_plan(read_plan(folder / "plan.toml"), folder / "out", generate_keys=True)
    hub, configs = Hub(), []
    for name in ("p0", "p1"):
        lines = [",".join([*map(repr, rng.normal(size=3).tolist()), "0", str(k % 2)]) for k in range(rows)]
        (folder / "out" / name / "data.csv").write_text("\n".join(["a,b,y,zero,label", *lines]) + "\n")
        configs.append(read_node_file(folder / "out" / name / "node.toml"))

    async def play() -> None:
        around = [("p1",), ("p0",)]
        parties = [serve(c, hub.transport(c.name, others)) for c, others in zip(configs, around, strict=True)]
        assert await asyncio.gather(*parties) == [0, 0]

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=StillLoop) as runner:
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        runner.run(play())
    return json.loads(configs[1].result.read_text())


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp
    return {name: result(folder("run"), about, 1 if name in ONE_ROW else 6) for name, about in RUNS.items()}


def test_every_statistic_and_cost_is_there(results):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert {told["statistic"]["type"] for told in results.values() if "statistic" in told} == {*CLOSED, "linear"}
    assert {told["cost"] for told in results.values() if "cost" in told} == set(TYPES) - {"least_squares"}


@pytest.mark.parametrize("name", RUNS)
def test_the_schema_takes_what_parties_write(results, name):
    VALID.validate(results[name])


@pytest.mark.parametrize("name", RUNS)
def test_and_nothing_else(results, name):
    """Not one key more or less, at any level, nor an answer of another kind. Analyses have keys of their own."""
    told = results[name]
    is_open = told.get("statistic", {"type": CLOSED[0]})["type"] not in CLOSED
    for path in tables(told):
        if is_open and path[:1] in (("statistic",), ("answer",)):
            continue
        changed = copy.deepcopy(told)
        inner = at(changed, path)
        inner["surprise"] = "x"
        assert not VALID.is_valid(changed), f"a key more in {path}"
        for key in at(told, path):
            changed = copy.deepcopy(told)
            del at(changed, path)[key]
            free = path in (("answer", "dropped"), ("disclosure", "small_cells")) and key != "rows"
            free = free or (path == ("answer",) and "cost" in told and len(inner) > 2)
            assert VALID.is_valid(changed) is free, f"without {key} in {path}"
    for other in results.values() if not is_open else ():
        if "statistic" in told and other.get("statistic", told["statistic"])["type"] != told["statistic"]["type"]:
            assert not VALID.is_valid({**told, "answer": other["answer"]})


def tables(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the objects are in a result."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    own = [path] if isinstance(value, dict) else []
    return own + [inner for key, entry in entries for inner in tables(entry, (*path, key))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def test_nothing_is_added(tmp_path):
    prepare(tmp_path / "t", sv.Network.complete(3), "mean")
    configs = Cluster(tmp_path / "t" / "parties").configs
    privacy = own_privacy(configs["p0"])
    assert (privacy["guarantee"], privacy["sentence"].split(".")[0]) == ("exact", "Added by the procedure: nothing")
    assert [row["leakage_at_most"] for row in privacy["by_corrupt_neighbours"]] == [0.0, 0.0, None]


def test_the_page_describes_every_key():
    page = PAGE.read_text().split("## The result")[1].split("\n## ")[0]
    described = {key for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    answers = [SCHEMA["$defs"][f"{kind}_answer"] for kind in CLOSED]
    privacy = SCHEMA["$defs"]["privacy"]
    neighbours = privacy["properties"]["by_corrupt_neighbours"]["items"]
    parts = [SCHEMA, *(SCHEMA["$defs"][name] for name in ("left", "fallback", "noise")), *answers, privacy, neighbours]
    assert described == {key for part in parts for key in part["properties"]}
