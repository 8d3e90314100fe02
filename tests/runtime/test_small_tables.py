"""What a party with small tables does not load: kernels, data frames and analyses that it has no use for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from runtime.trial import prepare

import sottovoce as sv

HEAVY = ("numba", "llvmlite", "scipy", "pandas", "narwhals", "pyarrow", "duckdb", "rich", "typer")
# Another party runs in the same process: it loads what this one does.
BOTH = """
import asyncio, json, sys
from pathlib import Path
from sottovoce.cli import run_node
run_node.load()
from sottovoce.runtime.process import serve
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.transport.in_memory import Hub

async def both():
    hub, configs = Hub(), [read_node_file(file) for file in sorted(Path(sys.argv[1]).glob("*/node.toml"))]
    return await asyncio.gather(*(serve(c, hub.transport(c.name, [n.name for n in c.neighbours])) for c in configs))

print(json.dumps({"ended": list(map(int, asyncio.run(both()))), "modules": sorted(sys.modules)}))
"""


def loaded(folder, kind: str) -> set[str]:
    trial = prepare(folder, sv.Network.complete(2), kind, overlay="tree", rows=200)
    done = subprocess.run([sys.executable, "-c", BOTH, str(trial.folder)], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["ended"] == [0, 0]
    trial.check(trial.cluster())
    return set(told["modules"])


# P-values of a regression are of SciPy's distributions.
@pytest.mark.parametrize(("kind", "needed"), [("mean", set()), ("linear", {"scipy"})])
def test_nothing_heavy_is_loaded_for_small_tables(tmp_path, kind, needed):
    """Numba alone takes half a second and 100 MB. Rows, pads and sums of few numbers are NumPy's and Python's."""
    assert loaded(tmp_path, kind) & set(HEAVY) == needed


def test_other_analyses_are_not_loaded(tmp_path):
    modules = loaded(tmp_path, "mean")
    assert "sottovoce.statistics.pooled_moments" in modules
    rooms = ("models", "survival", "groups", "evidence", "study")
    assert {
        name for name in modules if name.startswith(tuple(f"sottovoce.statistics.{room}" for room in rooms))
    } == set()
