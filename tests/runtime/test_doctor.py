"""The doctor: what it finds in a sound party, and every fault that it should."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import threading
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from runtime.trial import edit, prepare, wait_for
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.runtime import doctor
from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.doctor import Finding, examine
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys import identity
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.transport.addresses import Proxy

PAIR = sv.Network.complete(2)


@pytest.fixture
def party(tmp_path_factory) -> Path:
    """The folder of p0, which calls p1. Its path is short: a socket lies in it."""
    folder = tmp_path_factory.mktemp("t") / "t"
    prepare(folder, PAIR)
    folder.chmod(0o700)
    return folder / "parties" / "p0"


def config_of(party: Path) -> NodeConfig:
    return read_node_file(party / "node.toml")


def findings(party: Path, now: datetime | None = None, **environment: str) -> dict[str, Finding]:
    found = examine(config_of(party), now=now or datetime.now(UTC), environment=environment)
    return {each.check: each for each in sorted(found, key=lambda each: each.state == "fail")}


@contextmanager
def listener(party: Path, shows: Path | None, knows: Path) -> Iterator[None]:
    """Somebody at p1's address, who shows a certificate, and takes calls of one; without one, plain words."""
    host, port = config_of(party).neighbours[0].address.split(":")
    listening = socket.create_server((host, int(port)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if shows is not None:
        context.load_cert_chain(shows / identity.CERTIFICATE, shows / identity.KEY)
    context.load_verify_locations(knows / identity.CERTIFICATE)
    context.verify_mode = ssl.CERT_REQUIRED

    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            if shows is None:
                connection.sendall(b"who is there?\n" * 10)
                return
            try:
                with context.wrap_socket(connection, server_side=True) as secured:
                    secured.recv(1)  # until the other end hangs up
            except OSError:
                return

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        thread.join(10.0)
        listening.close()


def test_a_sound_party(party, monkeypatch):
    monkeypatch.setattr(doctor, "_synchronised", lambda: True)
    before = sorted(party.rglob("*"))
    with listener(party, party.parent / "p1" / "identity", party / "identity"):
        found = findings(party)
    assert {each.state for each in found.values()} == {"ok"}
    assert list(found) == [
        "versions", "port", "proxy", "clock", "disk", "folder", "journal", "permissions", "certificates",
        "neighbour p1",
    ]  # fmt: skip
    assert found["neighbour p1"].told.endswith("shows the pinned certificate")
    assert sorted(party.rglob("*")) == before


def test_the_command(party, monkeypatch):
    """Warnings are no reason not to start; a neighbour that has not started is one."""
    run = CliRunner().invoke(app, ["doctor", str(party / "node.toml"), "--json"])
    told = json.loads(run.stdout)
    assert (run.exit_code, told["ok"], run.stderr) == (0, True, "")
    states = {each["check"]: each["state"] for each in told["findings"]}
    assert (states["node file"], states["neighbour p1"]) == ("ok", "warn")
    assert set(told["findings"][0]) == {"check", "state", "told", "advice"}
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**30, 2**30, 0))
    run = CliRunner().invoke(app, ["doctor", str(party / "node.toml")])
    assert run.exit_code == 2
    assert "fail  disk          0 MiB free" in run.stdout
    assert "Make room" in run.stdout


def test_a_node_file_with_a_mistake_is_a_finding(party):
    edit(party / "node.toml", 'name = "p0"\n', 'name = "p7"\n')
    run = CliRunner().invoke(app, ["doctor", str(party / "node.toml"), "--json"])
    (found,) = json.loads(run.stdout)["findings"]
    assert (run.exit_code, found["check"], found["state"]) == (2, "node file", "fail")
    assert "is none of the parties of the run" in found["told"]


# The machine

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("free", "state"), [(2**20, "fail"), (50 * 2**20, "warn"), (2**30, "ok")])
def test_room_on_the_disk(party, monkeypatch, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**40, 2**40 - free, free))
    assert findings(party)["disk"].state == state


def test_a_port_that_is_taken(party):
    host, port = config_of(party).listen.split(":")
    with socket.create_server((host, int(port))):
        found = findings(party)["port"]
    assert (found.state, found.told) == ("fail", f"cannot listen on {host}:{port}: Address already in use")


def test_an_address_of_another_machine(party):
    (port,) = free_ports(1)
    text = (party / "node.toml").read_text()
    (party / "node.toml").write_text(text.replace(f'"{config_of(party).listen}"', f'"192.0.2.1:{port}"'))
    assert findings(party)["port"].state == "fail"


def test_the_port_of_the_metrics(party):
    (port,) = free_ports(1)
    edit(party / "node.toml", "[party]\n", f'[party]\nmetrics = "127.0.0.1:{port}"\n')
    assert findings(party)["metrics"].state == "ok"
    with socket.create_server(("127.0.0.1", port)):
        assert findings(party)["metrics"].state == "fail"


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_is_named_without_its_password(party, name):
    found = findings(party, **{name: "http://user:secret@proxy:3128"})["proxy"]
    assert found.state == "warn"
    assert name in found.told
    assert "secret" not in found.told + found.advice


def test_a_proxy_in_the_environment_is_not_used(party, monkeypatch):
    """As the doctor says. With one, a party would hear nobody, and say that its neighbour is down."""
    for name in doctor.PROXIES:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Cluster(party.parent) as cluster:
        cluster.start()
        assert cluster.wait(30.0) == {"p0": 0, "p1": 0}


def test_a_clock_that_is_behind(party):
    found = findings(party, now=datetime.now(UTC) - timedelta(hours=1))["clock"]
    assert (found.state, "the clock is behind" in found.told) == ("warn", True)


@pytest.mark.parametrize(("synchronised", "state"), [(False, "warn"), (True, "ok"), (None, "ok")])
def test_a_clock_that_nothing_keeps_right(party, monkeypatch, synchronised, state):
    monkeypatch.setattr(doctor, "_synchronised", lambda: synchronised)
    assert findings(party)["clock"].state == state


def test_the_kernel_can_be_asked():
    assert doctor._synchronised() in (True, False, None)


def test_a_folder_that_takes_no_journal(party, monkeypatch):
    """Of a file system without hard links, say."""
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "Operation not permitted")))
    found = findings(party)["folder"]
    assert (found.state, "Operation not permitted" in found.told) == ("fail", True)
    assert not list(party.glob(".doctor*"))


def test_a_slow_disk(party, monkeypatch):
    monkeypatch.setattr(doctor, "SLOW", 0.0)
    assert findings(party)["folder"].state == "warn"


def test_the_partys_own_journal(party):
    path = config_of(party).journal
    with Journal(path, identity.load(party / "identity").derive("journal")) as journal:
        journal.put({"name": b"what was said"})
    assert findings(party)["journal"].state == "ok"
    path.write_bytes(path.read_bytes().replace(b"what was said", b"what was sold"))
    found = findings(party)["journal"]
    assert (found.state, "its seal does not fit" in found.told) == ("fail", True)


@pytest.mark.parametrize("what", ["node.toml", "identity", "."])
def test_what_others_may_change(party, what):
    (party / what).chmod(0o777)
    assert findings(party)["permissions"].state == "ok"  # a folder above keeps them out
    with opened(party):
        assert findings(party)["permissions"].state == "fail"


def test_data_that_everybody_may_read(party):
    (party / "data.csv").chmod(0o644)
    with opened(party):
        assert findings(party)["permissions"].state == "warn"


@contextmanager
def opened(party: Path) -> Iterator[None]:
    """All folders above, as far as they are of tests."""
    closed = [folder for folder in party.resolve().parents if not folder.stat().st_mode & 0o011]
    before = [folder.stat().st_mode for folder in closed]
    for folder in closed:
        folder.chmod(0o755)
    try:
        yield
    finally:
        for folder, mode in zip(closed, before, strict=True):
            folder.chmod(mode)


# Certificates and neighbours


def test_a_certificate_that_ends_soon(party):
    assert findings(party)["certificates"].state == "ok"
    found = findings(party, now=datetime.now(UTC) + timedelta(days=3640))["certificates"]
    assert (found.state, "ends in 9 days" in found.told) == ("warn", True)


def test_nobody_is_there(party):
    found = findings(party)["neighbour p1"]
    assert (found.state, "nobody listens on" in found.told) == ("warn", True)


def test_a_name_that_does_not_resolve(party):
    address = config_of(party).neighbours[0].address
    edit(party / "node.toml", f'"{address}"', '"nowhere.invalid:7401"')
    found = findings(party)["neighbour p1"]
    assert (found.state, "does not resolve" in found.told) == ("fail", True)


def test_who_calls_is_not_called(party):
    found = findings(party.parent / "p1")["neighbour p0"]
    assert (found.state, "it calls this party" in found.told) == ("ok", True)


def test_another_certificate_under_the_same_name(party, tmp_path):
    identity.create(tmp_path / "other", "p1")
    with listener(party, tmp_path / "other", party / "identity"):
        found = findings(party)["neighbour p1"]
    assert (found.state, "another certificate than the pinned one" in found.told) == ("fail", True)


def test_a_neighbour_that_does_not_know_this_party(party, tmp_path):
    identity.create(tmp_path / "other", "p0")
    with listener(party, party.parent / "p1" / "identity", tmp_path / "other"):
        found = findings(party)["neighbour p1"]
    assert (found.state, "does it know this party's certificate?" in found.told) == ("fail", True)


def test_a_neighbour_without_tls(party):
    with listener(party, None, party / "identity"):
        found = findings(party)["neighbour p1"]
    assert (found.state, "does not speak TLS" in found.told) == ("fail", True)


def test_beside_a_party_that_runs(party):
    """Its port is its own, its journal is in use, and what it says of its neighbours counts."""
    with Cluster(party.parent) as cluster:
        cluster.start(["p0"])
        wait_for(config_of(party).socket.exists)
        found = findings(party)
    assert (found["port"].state, "the party runs" in found["port"].told) == ("ok", True)
    assert found["journal"].told == "the party runs, and uses it"
    assert (found["neighbour p1"].state, "the party says: down" in found["neighbour p1"].told) == ("warn", True)


def of(config: NodeConfig, **environment: str) -> dict[str, Finding]:
    return {found.check: found for found in examine(config, now=datetime.now(UTC), environment=environment)}


def test_a_party_that_nobody_can_call_calls(party):
    config = replace(config_of(party), name="p2", listen=None)  # its name sorts last
    found = of(config)
    assert found["port"].told == "this party listens on none: it calls all its neighbours"
    assert "nobody listens on" in found["neighbour p1"].told
    neighbour = replace(config.neighbours[0], address=None)
    found = of(replace(config_of(party), neighbours=(neighbour,)))
    assert found["neighbour p1"].told.startswith("it calls this party")


def test_the_way_out_is_the_proxy_of_the_node_file(party):
    (port,) = free_ports(1)
    found = of(replace(config_of(party), proxy=Proxy(f"127.0.0.1:{port}")), http_proxy="http://10.0.0.9:1")
    assert found["proxy"].told == f"neighbours are called through 127.0.0.1:{port}, as the node file says"
    assert found["neighbour p1"].told == f"nobody listens on the proxy 127.0.0.1:{port}"
