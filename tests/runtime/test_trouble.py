"""What goes wrong on one's own machine: disk, port, names, certificates, files, signals, the clock. A sentence each."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from runtime.trial import ACCURACY, Trial, edit, journal_of, prepare, results_of, status, wait_for

import sottovoce as sv
from sottovoce.errors import JournalError
from sottovoce.runtime import operator_status, retention
from sottovoce.runtime import process as process_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.cluster import ask
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys import identity
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.process import serve
from sottovoce.runtime.protocol.frames import Snapshot, Verdict, decode
from sottovoce.runtime.transport.in_memory import Hub

PAIR = sv.Network.from_edges(2, [(0, 1)])
TRIANGLE = sv.Network.complete(3)


@pytest.fixture
def trial(tmp_path) -> Trial:
    return prepare(tmp_path, PAIR)


def node(trial: Trial, name: str = "p0") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sottovoce", "node", str(trial.folder / name / "node.toml")]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def refused(trial: Trial, *sentences: str, name: str = "p0") -> None:
    """The party does not start: exit status 2, one line that says why."""
    process = node(trial, name)
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 2, said
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, said
    for sentence in sentences:
        assert sentence in errors[0]
    assert "Traceback" not in said


# Files


def test_data_that_changed_are_refused(trial):
    """Pads that hide two different things show their difference (theory: Bad pads)."""
    with trial.cluster() as cluster:
        cluster.start()
        results_of(cluster)
        cluster.wait(30)
    own = trial.folder / "p0"
    text = (own / "data.csv").read_text()
    (own / "data.csv").write_text(text.replace("2.", "3.", 1))
    refused(trial, "the data changed since this run began", "Pads must not be used twice")
    (own / "data.csv").write_text(text)
    edit(own / "node.toml", 'name = "trial"', 'name = "another"')
    refused(trial, "the [run] table changed since this run began", "use a new journal")


@pytest.mark.parametrize(
    ("kind", "row", "sentence"),
    [
        ("mean", "1e200,2,3", "column 'a': too large for its unit in some rows"),  # exact sums do not hold it
        ("averaging", "1,2000,3", "the data are larger than this run hides"),  # the mask is not meant for that
    ],
)
def test_data_that_could_stop_a_party_later_stop_it_before_it_calls_anybody(tmp_path, kind, row, sentence):
    """Its neighbours would see that it goes, or that somebody objects."""
    trial = prepare(tmp_path, PAIR, kind)
    (trial.folder / "p0" / "data.csv").write_text(f"a,b,y\n{row}\n")
    refused(trial, sentence)
    assert not (trial.folder / "p0" / "journal.sqlite").exists()


def test_files_that_cannot_be_used(trial):
    own = trial.folder / "p0"
    (own / "identity" / "key.pem").chmod(0o644)
    refused(trial, "key.pem has mode 644: other users of this machine may have read it", "chmod 600")
    (own / "identity" / "key.pem").chmod(0o600)
    (own / "journal.sqlite").write_bytes(random.Random(0).randbytes(20_000))
    refused(trial, "journal.sqlite", "not a database")


def test_a_second_process_on_the_same_journal(trial):
    process = node(trial)
    try:
        wait_for(lambda: (trial.folder / "p0" / "journal.sqlite.sock").exists())
        refused(trial, "another process runs this party. End it first.")
        assert ask(trial.folder / "p0" / "journal.sqlite.sock")["party"] == "p0"  # the first one is not disturbed
    finally:
        process.kill()
        process.communicate()


def test_a_certificate_that_has_expired(trial, tmp_path):
    old = identity.create(tmp_path / "old", "p0", days=1, now=datetime(2020, 1, 1, tzinfo=UTC))
    own, other = trial.folder / "p0", trial.folder / "p1" / "node.toml"
    now = identity.load(own / "identity")
    text = other.read_text()
    other.write_text(text.replace(now.certificate, old.certificate).replace(now.fingerprint, old.fingerprint))
    refused(trial, "the certificate of p0 expired on 2020-01-02", "must create a new identity", name="p1")
    for file in (identity.KEY, identity.CERTIFICATE):
        os.replace(tmp_path / "old" / file, own / "identity" / file)
    refused(trial, "the certificate of p0 expired on 2020-01-02")


# The network of this machine


def test_a_port_that_is_taken(trial):
    """p1 is dialled, so it must listen."""
    host, _, port = read_node_file(trial.folder / "p1" / "node.toml").listen.rpartition(":")
    with socket.create_server((host, int(port))):
        refused(trial, f"cannot listen on {host}:{port}: Address already in use", "Choose another address", name="p1")
    with socket.create_server((host, 0)) as taken:
        metrics = f"{host}:{taken.getsockname()[1]}"
        edit(trial.folder / "p0" / "node.toml", "[party]\n", f'[party]\nmetrics = "{metrics}"\n')
        refused(trial, f"metrics = '{metrics}' cannot be listened on: Address already in use")


def test_a_name_that_does_not_resolve_is_shown_and_tried_again(trial):
    own = trial.folder / "p0" / "node.toml"
    edit(own, read_node_file(own).neighbours[0].address, "nowhere.invalid:7401")
    process = node(trial)
    try:
        path = trial.folder / "p0" / "journal.sqlite.sock"
        wait_for(path.exists)
        wait_for(lambda: "not connected yet" not in ask(path)["neighbours"]["p1"])
        assert ask(path)["neighbours"]["p1"] == "down: the name in the address nowhere.invalid:7401 does not resolve"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


# The disk


def test_a_full_disk_stops_the_party_and_nobody_else(tmp_path):
    """In the middle of the run; with room again it goes on, to the right answer."""
    trial = prepare(tmp_path, TRIANGLE, "linear", wake=25.0)
    with trial.cluster() as cluster:
        cluster.start(["p1", "p2"])
        limited = node(trial)
        try:
            wait_for(lambda: status(cluster, "p0").get("stage") == 1 and status(cluster, "p0")["wakes"] > 5)
            resource.prlimit(limited.pid, resource.RLIMIT_FSIZE, (0, 0))
            _, said = limited.communicate(timeout=90)
        finally:
            limited.kill()
        assert limited.returncode == 2, said
        (error,) = [line for line in said.splitlines() if line.startswith("error: ")]
        assert "the state cannot be written" in error
        assert "make room and start it again" in error
        assert "Traceback" not in said
        assert cluster.running("p1")
        assert cluster.running("p2")
        cluster.start(["p0"])
        results_of(cluster)
        trial.check(cluster)
        assert cluster.wait(30.0) == dict.fromkeys(cluster.names, 0)


def break_disk(monkeypatch, config: NodeConfig, when: str) -> None:
    """The disk of this party is full from the moment on at which something of this name is written."""
    put, full = Journal.put, False

    def failing(journal: Journal, blobs: dict[str, bytes], *drop: Any) -> None:
        nonlocal full
        if journal.path == config.journal:
            full = full or any(when in name for name in blobs)
            if full:
                raise JournalError("the state cannot be written: disk full.")
        put(journal, blobs, *drop)

    monkeypatch.setattr(Journal, "put", failing)


async def both(trial: Trial, said: list[tuple[str, bytes]]) -> int:
    """The whole program of both parties, in this process; until p0 ends."""

    def overheard(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        said.append((sender, frame))
        return [(0.0, frame)]

    hub = Hub(overheard)
    parties = []
    for name, other in (("p0", "p1"), ("p1", "p0")):
        config = read_node_file(trial.folder / name / "node.toml")
        parties.append(asyncio.create_task(serve(config, hub.transport(name, [other]))))
    try:
        return await asyncio.wait_for(asyncio.shield(parties[0]), 30.0)
    finally:
        parties[1].cancel()
        await asyncio.gather(*parties, return_exceptions=True)


def test_frozen_states_are_said(trial):
    """The control of the next test."""
    said: list[tuple[str, bytes]] = []
    assert asyncio.run(both(trial, said)) == 0
    assert {name for name, frame in said if isinstance(decode(frame), Snapshot)} == {"p0", "p1"}


def test_after_a_restart_a_party_knows_what_is_over_before_it_hears_anybody(trial, monkeypatch):
    """Its neighbours may be in the next stage, and must not be refused for it."""
    monkeypatch.setattr(retention, "bury", lambda *_, **__: None)
    assert asyncio.run(both(trial, [])) == 0
    config = read_node_file(trial.folder / "p0" / "node.toml")
    with journal_of(config) as journal:

        async def begun() -> Agent:
            return Agent(config, Hub().transport("p0", ["p1"]), identity.load(config.identity), journal)

        agent = asyncio.run(begun())
    assert (agent.party.stage, sorted(agent.party.ended)) == (1, [0, 1])


def test_what_could_not_be_written_is_not_said(trial, monkeypatch, caplog):
    """A frozen state that is not on the disk would be another one after a restart, under the same epoch."""
    said: list[tuple[str, bytes]] = []
    break_disk(monkeypatch, read_node_file(trial.folder / "p0" / "node.toml"), "/epoch")
    with pytest.raises(JournalError, match="disk full"):
        asyncio.run(both(trial, said))
    assert {name for name, frame in said if isinstance(decode(frame), Snapshot)} <= {"p1"}
    assert "Traceback" not in caplog.text


def test_a_disk_that_is_full_from_the_first_hello_on(trial, monkeypatch, caplog):
    break_disk(monkeypatch, read_node_file(trial.folder / "p0" / "node.toml"), "/theirs")
    with pytest.raises(JournalError, match="disk full"):
        asyncio.run(both(trial, []))
    assert "Traceback" not in caplog.text


# Signals and clocks


def test_parties_that_are_told_to_stop_go_on_later(tmp_path):
    trial = prepare(tmp_path, PAIR, wake=30.0)
    with trial.cluster() as cluster:
        cluster.start()
        wait_for(lambda: status(cluster, "p0").get("wakes", 0) > 5)
        for name, how, code in (("p0", signal.SIGTERM, 1), ("p1", signal.SIGINT, 130)):
            cluster.kill(name, how)
            assert cluster.processes[name].wait(10) == code
            assert "told to stop before the end" in cluster.log(name)
            assert "Traceback" not in cluster.log(name)
            assert "never retrieved" not in cluster.log(name)
        cluster.start()
        results_of(cluster)
        trial.check(cluster)
        assert cluster.wait(30.0) == {"p0": 0, "p1": 0}
        # Once more, alone: nobody needs it, and it says so.
        cluster.start(["p0"])
        assert cluster.processes["p0"].wait(10) == 0
        assert cluster.log("p0").count("this run is over, and all neighbours know; the result is in") == 1
        trial.check(cluster)


def test_a_party_that_missed_the_end_says_whom_to_start_again(tmp_path, monkeypatch, caplog):
    """p1 has its answer and is gone; p0 was killed before it heard, and waits alone. p1 comes back, and tells it."""
    trial = prepare(tmp_path, PAIR)
    monkeypatch.setattr(operator_status, "PATIENCE", 0.5)
    configs = {name: read_node_file(trial.folder / name / "node.toml") for name in ("p0", "p1")}
    agents: dict[str, Agent] = {}

    class Seen(Agent):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            agents[self.config.name] = self

    monkeypatch.setattr(process_module, "Agent", Seen)

    async def play() -> None:
        deaf = False

        def faults(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
            """p0 never hears that p1 accepts the last stage."""
            said = decode(frame)
            accepts = isinstance(said, Verdict) and said.stage == 1 and 1 in said.acceptances
            return [] if deaf and accepts and receiver == "p0" else [(0.0, frame)]

        hub = Hub(faults)

        told: list[str] = []

        def start(name: str, other: str) -> asyncio.Task[int]:
            transport = hub.transport(name, [other])
            return asyncio.create_task(serve(configs[name], transport, lambda result: told.append(result["party"])))

        deaf = True
        first, second = start("p0", "p1"), start("p1", "p0")
        while not configs["p1"].result.exists():
            await asyncio.sleep(0.02)
        assert not configs["p0"].result.exists()
        second.cancel()  # as after ten minutes
        await asyncio.gather(second, return_exceptions=True)
        deaf = False
        while not agents["p0"].status()["missed"]:
            await asyncio.sleep(0.02)
        assert agents["p0"].status()["missed"] == ["p1"]
        assert "p1 has been away for 0.5 s." in caplog.text
        assert "start it again if it has finished" in caplog.text
        hub.cut("p0", "p1")
        second = start("p1", "p0")
        while told != ["p1", "p1"]:
            await asyncio.sleep(0.02)
        assert not second.done()  # the answer is printed before the wait
        hub.heal("p0", "p1")
        assert await first == 0
        assert agents["p0"].status()["missed"] == []
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    asyncio.run(asyncio.wait_for(play(), 30.0))
    result = json.loads(configs["p0"].result.read_text())
    np.testing.assert_allclose(result["answer"]["mean"], trial.answer, rtol=0, atol=ACCURACY)


def test_a_clock_that_jumps_changes_nothing(trial, monkeypatch):
    """By years, both ways, at every look at it: what is measured is measured by a clock that cannot be set."""
    jumps = itertools.cycle([0.0, 4e9, -1.0, 1.7e9, 1e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    said: list[tuple[str, bytes]] = []
    began = time.monotonic()
    assert asyncio.run(both(trial, said)) == 0
    assert time.monotonic() - began < 20.0
    result = json.loads((trial.folder / "p0" / "result.json").read_text())
    np.testing.assert_allclose(result["answer"]["mean"], trial.answer, rtol=0, atol=ACCURACY)


def test_what_breaks_before_anybody_asks_is_not_lost(monkeypatch):
    """A neighbour can come in before the work begins, and find the disk full."""
    monkeypatch.setattr(Agent, "__init__", lambda self: None)

    async def scenario() -> None:
        agent = Agent()
        agent.broken, agent.trouble = None, asyncio.Event()
        agent.fail(JournalError("the first"))
        agent.fail(JournalError("the second"))
        await agent.failure()

    with pytest.raises(JournalError, match="the first"):
        asyncio.run(scenario())


def test_status_sockets_are_private_and_made_side_by_side(tmp_path):
    """Parties that share a process share its umask: setting it for a moment, two left each other's behind."""
    paths = [tmp_path / f"{k}.sock" for k in range(4)]

    async def made() -> None:
        servers = await asyncio.gather(*(process_module._status_server(path, None) for path in paths))
        assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
        for server in servers:
            server.close()

    before = os.umask(0o022)
    try:
        asyncio.run(made())
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
