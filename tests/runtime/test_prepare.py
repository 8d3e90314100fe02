"""A party is light, and has what it needs before it is open to others."""

from __future__ import annotations

import json
import re
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from runtime.trial import prepare, results_of, wait_for

import sottovoce as sv
from sottovoce.cli.run_node import is_plain

WATCHED = Path(__file__).with_name("watched.py")
LASSO = '[run.cost]\ntype = "lasso"\nfeatures = ["a", "b"]\ntarget = "y"\nl1 = 0.1\nmask = { variance = 1e8 }\n'


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a process imported that played these runs, one after the other."""
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in ("mean", "linear", "lasso")}
    two = sv.Network.from_edges(2, [(0, 1)])
    folders = {
        kind: prepare(folder, two, "mean" if kind == "lasso" else kind, rows=None if kind == "lasso" else 200).folder
        for kind, folder in folders.items()
    }
    for path in folders["lasso"].glob("*/node.toml"):
        text = re.sub("(?m)^tol = .*$", "tol = 1e-3", path.read_text())
        begin = text.index("[run.statistic]")
        path.write_text(text[:begin] + LASSO + text[text.index("[[neighbour]]") :])
    command = [sys.executable, str(WATCHED), *map(str, folders.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return dict(zip(folders, json.loads(done.stdout), strict=True))


def test_a_party_that_averages_is_light(told):
    """Numba alone takes half a second and 100 MB. Rows, pads and sums of few numbers are NumPy's and Python's."""
    assert told["mean"]["ended"] == [0, 0]
    assert told["mean"]["heavy"] == []


def test_other_analyses_are_not_loaded(told):
    """Not by the registry, nor by the public names of the package."""
    assert "sottovoce.statistics.pooled" in told["mean"]["own"]
    rooms = (
        "statistics.models",
        "statistics.survival",
        "statistics.groups",
        "statistics.evidence",
        "sweeps",
        "privacy",
    )
    others = tuple(f"sottovoce.{room}" for room in (*rooms, "statistics.study"))
    assert [name for name in told["mean"]["own"] if name.startswith(others)] == []


@pytest.mark.parametrize("kind", ["mean", "linear", "lasso"])
def test_nothing_is_imported_once_a_party_has_started(told, kind):
    """An import needs files, of which strangers may leave none; and its time shows."""
    assert told[kind]["ended"] == [0, 0]
    assert told[kind]["started"]
    assert told[kind]["late"] == []


def test_which_command_lines_need_no_parser():
    for plain in (["node", "a.toml"], ["node", "--json", "a.toml"], ["node", "a.toml", "--quiet", "--json"]):
        assert is_plain(plain)
    for other in ([], ["node"], ["node", "--help"], ["node", "a.toml", "b.toml"], ["solve", "a.toml"],
                  ["--json", "node", "a.toml"], ["node", "a.toml", "--jso"], ["node", "-h"]):  # fmt: skip
        assert not is_plain(other)


def test_a_party_takes_all_the_files_it_may_have():
    code = (
        "from sottovoce.runtime.prepare import *; raise_file_limit(); print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = min(hard, 256) if hard != resource.RLIM_INFINITY else 256
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (least, hard)),
    )  # fmt: skip
    assert done.stdout.strip() == str((hard, hard))


def test_idle_connections_leave_files_to_the_party(tmp_path):
    """Three hundred of strangers, while 128 files may be open: the run ends as if they were not there."""
    trial = prepare(tmp_path, sv.Network.from_edges(2, [(0, 1)]), "linear")
    with trial.cluster() as cluster:
        cluster.start()
        resource.prlimit(cluster.processes["p1"].pid, resource.RLIMIT_NOFILE, (128, 128))  # before it looks
        host, _, port = cluster.configs["p1"].listen.rpartition(":")
        with ExitStack() as idle:
            wait_for(lambda: "stage begins" in cluster.log("p1"))
            for _ in range(300):
                idle.enter_context(socket.create_connection((host, int(port)), timeout=5))
            results_of(cluster, 30)
        trial.check(cluster)
        assert set(cluster.wait(20).values()) == {0}
