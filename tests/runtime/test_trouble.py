"""Trouble of one party's own: a sentence each, a status that is not 0, and nothing half-written."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from runtime.trial import Trial, edit, prepare, status, wait_for

import sottovoce as sv
from sottovoce.runtime import identity
from sottovoce.runtime.config import read_node_file
from sottovoce.runtime.memory import Hub
from sottovoce.runtime.serve import serve


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return prepare(tmp_path, sv.Network.ring(3))


def run(trial: Trial, name: str = "p0", seconds: float = 30.0, **more: object) -> tuple[int, str]:
    """One party alone, until it ends: its status, and what it said."""
    command = [sys.executable, "-m", "sottovoce", "node", str(trial.folder / name / "node.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, **more)  # type: ignore[call-overload]
    assert "Traceback" not in done.stdout + done.stderr
    assert not (trial.folder / name / "result.json").exists()
    return done.returncode, done.stderr


def port_of(trial: Trial, name: str) -> int:
    return int(read_node_file(trial.folder / name / "node.toml").listen.rpartition(":")[2])


def test_a_port_that_is_taken(trial):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port_of(trial, "p2")))  # whom the others call
        taken.listen()
        code, said = run(trial, "p2")
    assert code == 2
    assert f"{port_of(trial, 'p2')}" in said


def test_a_second_process_on_one_journal(trial):
    with trial.cluster() as cluster:
        cluster.start(["p0"])
        wait_for(lambda: status(cluster, "p0"), what="p0")
        code, said = run(trial)
        assert code == 2
        assert "another process runs this party" in said
        assert cluster.running("p0")


@pytest.mark.parametrize("what", ["data", "run"])
def test_a_journal_is_for_one_run_on_one_set_of_data(trial, what):
    """Other data behind the same pads would show their difference."""
    with trial.cluster() as cluster:
        cluster.start(["p0"])
        wait_for(lambda: status(cluster, "p0"), what="p0")
    if what == "data":
        rows = (trial.folder / "p0" / "data.csv").read_text().splitlines()
        (trial.folder / "p0" / "data.csv").write_text("\n".join([*rows[:-1], "1.0,2.0,3.0"]) + "\n")
    else:
        edit(trial.folder / "p0" / "node.toml", "theta = 0.8", "theta = 0.7")
    code, said = run(trial)
    assert code == 2
    assert "changed since this run began" in said
    assert "Pads must not be used twice" in said


def test_a_key_that_others_can_read(trial):
    key = trial.folder / "p0" / "identity" / "key.pem"
    key.chmod(0o644)
    code, said = run(trial)
    assert code == 2
    assert "chmod 600" in said


def test_a_certificate_that_has_expired(trial, tmp_path):
    past = datetime.now(UTC) - timedelta(days=30)
    old = identity.create(tmp_path / "old", "p1", days=1, now=past)
    text = (trial.folder / "p0" / "node.toml").read_text()
    config = read_node_file(trial.folder / "p0" / "node.toml")
    p1 = next(neighbour for neighbour in config.neighbours if neighbour.name == "p1")
    text = text.replace(p1.certificate.strip(), old.certificate.strip()).replace(p1.fingerprint, old.fingerprint)
    (trial.folder / "p0" / "node.toml").write_text(text)
    code, said = run(trial)
    assert code == 2
    assert "expired" in said


def test_a_disk_that_is_full(trial):
    """The journal cannot be written: the party stops and says so; what it could not write down nobody hears."""

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))

    code, said = run(trial, preexec_fn=small_disk)
    assert code != 0
    assert "journal" in said


def test_a_name_that_does_not_resolve(trial):
    """Not an error: the neighbour is down, and is asked for again and again."""
    address = next(n.address for n in read_node_file(trial.folder / "p0" / "node.toml").neighbours if n.name == "p1")
    edit(trial.folder / "p0" / "node.toml", f'"{address}"', '"no-such-host.invalid:7401"')
    with trial.cluster() as cluster:
        cluster.start(["p0"])
        wait_for(lambda: "no-such-host.invalid" in status(cluster, "p0").get("neighbours", {}).get("p1", ""))
        assert cluster.status("p0")["neighbours"]["p1"].startswith("down: ")


def test_clocks_that_jump(trial, monkeypatch):
    """Waiting is by a clock that nobody sets: whatever the time of day does, the answer comes."""
    real, chance = time.time, random.Random(1)
    monkeypatch.setattr(time, "time", lambda: real() + chance.choice([-1e9, -3600.0, 0.0, 86400.0, 1e8]))
    hub = Hub()
    configs = [read_node_file(trial.folder / f"p{i}" / "node.toml") for i in range(3)]

    async def everybody() -> list[int]:
        parties = (serve(c, hub.transport(c.name, [n.name for n in c.neighbours])) for c in configs)
        return list(await asyncio.wait_for(asyncio.gather(*parties), 60))

    assert asyncio.run(everybody()) == [0, 0, 0]
    for config in configs:
        result = json.loads(config.result.read_text())
        np.testing.assert_allclose(result["answer"]["mean"], trial.answer, rtol=0, atol=1e-9)


def test_secret_files_are_for_their_owner_only(trial):
    with trial.cluster() as cluster:
        cluster.start()
        cluster.wait(60)
    for config in cluster.configs.values():
        for path in (config.journal, config.identity / "key.pem"):
            assert os.stat(path).st_mode & 0o077 == 0, path
