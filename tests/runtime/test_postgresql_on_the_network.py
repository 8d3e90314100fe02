"""A party whose rows are in PostgreSQL, between processes: the right answer, the password nowhere, and a server that
goes away in the middle of a run."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from runtime.tables import plan, put
from runtime.test_postgresql import SECRET, Server, start
from runtime.trial import results_of, status, wait_for

from sottovoce.files.toml_text import toml
from sottovoce.runtime.cluster import Cluster

SCHEMA = """
[schema.age]
type = "number"
range = [0, 120]
[schema.sex]
type = "category"
levels = ["f", "m"]
"""
TABLE = "CREATE TABLE visits AS SELECT * FROM (VALUES (61.5, 'f', 7), (NULL, 'm', 8), (40, 'm', 9)) AS t(age, sex, id)"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SOTTOVOCE_TEST_PASSWORD", SECRET)
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-postgresql-", dir="/tmp"))  # another user must get there
    try:
        running = start(folder)
        running.do(TABLE)
        yield running
        if running.process.poll() is None:
            running.process.send_signal(signal.SIGQUIT)
        running.process.wait(10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def up(server: Server) -> bool:
    with suppress(Exception):
        server.do("SELECT 1")
        return True
    return False


def test_a_server_that_goes_away_and_comes_back(server: Server, tmp_path: Path) -> None:
    about = 'type = "linear"\nformula = "age ~ sex"\nmissing = "drop"\ndigits = "full"\n'
    parties = plan(tmp_path, ["p0", "p1"], about, SCHEMA, "[audit]\nmax_corrupt = 0\n")
    settings = server.settings("SELECT * FROM visits")
    lines = "\n".join(f"{key} = {toml(value)}" for key, value in settings.items())
    put(parties / "p0", "", "unused", f"[party.data]\n{lines}")
    put(parties / "p1", "sex,age\nf,58.5\nm,44\n,3\n")
    with Cluster(parties) as cluster:
        cluster.start(["p0"])
        wait_for(lambda: status(cluster, "p0").get("neighbours"), what="p0")  # it has read its rows, and waits
        command = server.process.args
        server.process.send_signal(signal.SIGQUIT)
        server.process.wait(10)
        cluster.start(["p1"])
        assert cluster.processes["p0"].wait(60) == 2
        assert "database 'postgres': no server answers there. Is it running?" in cluster.log("p0")
        assert not cluster.results()
        server.process = subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL)
        wait_for(lambda: up(server), what="the server")
        cluster.start(["p0"])
        results = results_of(cluster)
        assert set(cluster.wait(60).values()) == {0}
    for result in results.values():
        answer = result["answer"]
        assert answer["dropped"] == {"rows": 2, "age": 1, "sex": 1}
        assert answer["params"] == pytest.approx([60.0, -18.0], rel=1e-14)
    for path in parties.rglob("*"):
        assert not path.is_file() or SECRET[:8].encode() not in path.read_bytes()
