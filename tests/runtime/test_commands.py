"""keygen, plan, node and status as a user meets them, and parties as processes of this machine."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import run_node as run_node_module
from sottovoce.cli.app import app
from sottovoce.cli.status import status_facts
from sottovoce.errors import InvalidInput, PeerError
from sottovoce.runtime import cluster as cluster_module
from sottovoce.runtime import process
from sottovoce.runtime.cluster import ANSWER, Cluster, ask, free_ports
from sottovoce.runtime.keys import identity
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file

VALUES = {"ann": (1.0, 2.0), "bob": (4.0,), "cat": (5.0, 8.0, 10.0)}


def sottovoce(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """A party logs to what is stderr during its command, which is closed afterwards."""
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def write_plan_file(folder: Path, generator: str = "complete") -> Path:
    ports = free_ports(len(VALUES))
    text = f'[run]\nname = "trial"\nc = 0.6\n[network]\ngenerator = "{generator}"\n'
    text += '[statistic]\ntype = "mean"\ncolumns = ["x"]\n'
    for port, (name, values) in zip(ports, VALUES.items(), strict=True):
        text += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
        (folder / f"{name}.csv").write_text("".join(f"{value}\n" for value in ("x", *values)))
    (folder / "plan.toml").write_text(text)
    return folder / "plan.toml"


@pytest.fixture
def out() -> Iterator[Path]:
    """The node files of three parties."""
    with TemporaryDirectory(prefix="sv-") as short:  # the path of a Unix socket must be
        done = sottovoce("plan", write_plan_file(Path(short)), "--out", Path(short) / "out", "--generate-keys")
        assert done.exit_code == 0, done.stderr
        yield Path(short) / "out"


# keygen


def test_keygen(tmp_path):
    done = sottovoce("keygen", tmp_path / "id", "--name", "ann", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    made, loaded = json.loads(done.stdout), identity.load(tmp_path / "id")
    assert (made["name"], made["fingerprint"], made["telephone"]) == ("ann", loaded.fingerprint, loaded.digits)
    assert stat.S_IMODE(os.stat(made["key"]).st_mode) == 0o600
    assert Path(made["certificate"]).read_text() == loaded.certificate
    again = sottovoce("keygen", tmp_path / "id", "--name", "ann")
    assert again.exit_code == 2
    assert "is not overwritten" in again.stderr
    for_people = sottovoce("keygen", tmp_path / "other", "--name", "bob")
    other = identity.load(tmp_path / "other")
    assert other.fingerprint in for_people.stdout
    assert f"\n{other.digits}\n" in for_people.stdout
    assert "telephone" in for_people.stdout
    assert "PRIVATE" not in for_people.stdout
    assert sottovoce("keygen", tmp_path / "third", "--name", "b b").exit_code == 2


def test_fingerprints_for_the_telephone(out):
    """Before the data are there; of the certificates themselves, whatever else the file says."""
    true = {name: identity.load(out / name / "identity").digits for name in VALUES}
    file = out / "bob" / "node.toml"
    file.write_text(re.sub("^data = .*$", 'data = "later.csv"', file.read_text(), flags=re.MULTILINE))
    done = sottovoce("fingerprints", file, "--json")
    assert list(json.loads(done.stdout)["telephone"]) == ["bob", "ann", "cat"]
    assert json.loads(done.stdout)["telephone"] == true
    lines = sottovoce("fingerprints", file).stdout.splitlines()
    assert [line.strip().split(maxsplit=1) for line in lines] == [[name, true[name]] for name in ("bob", "ann", "cat")]
    file.write_text(file.read_text().replace(true["ann"], true["bob"]))
    done = sottovoce("fingerprints", file)
    assert done.exit_code == 2
    assert f"telephone are not the digits of the certificate: those are {true['ann']}. Ask ann." in done.stderr


# plan


def test_plan_prints_who_hides_how_well(tmp_path):
    done = sottovoce("plan", write_plan_file(tmp_path), "--out", tmp_path / "out", "--generate-keys")
    assert (done.exit_code, done.stderr) == (0, "")
    for word in ("mean between 3 parties over 3 edges", "ann", "127.0.0.1:", "added at most", "accuracy", "node.toml"):
        assert word in " ".join(done.stdout.split())
    again = sottovoce("plan", tmp_path / "plan.toml", "--out", tmp_path / "out", "--generate-keys")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_plan_refuses_where_somebody_is_exposed(tmp_path):
    plan = write_plan_file(tmp_path, "star")
    done = sottovoce("plan", plan, "--out", tmp_path / "out", "--generate-keys", "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert (told["out"], told["safe"], told["exposed"]) == (None, False, [1, 2])
    assert told["problems"][0] == "bob is DISCLOSED, at any mask, if ann is corrupt: nobody else talks to it."
    assert "bob - cat" in told["problems"][-1]
    assert not (tmp_path / "out").exists()
    for_people = sottovoce("plan", plan, "--out", tmp_path / "out", "--generate-keys")
    assert for_people.exit_code == 1
    assert "bob is DISCLOSED" in for_people.stdout
    assert not (tmp_path / "out").exists()
    forced = sottovoce("plan", plan, "--out", tmp_path / "out", "--generate-keys", "--force", "--json")
    assert forced.exit_code == 0
    assert json.loads(forced.stdout)["out"] == str(tmp_path / "out")
    assert (tmp_path / "out/cat/node.toml").exists()


def test_plan_without_certificates(tmp_path):
    done = sottovoce("plan", write_plan_file(tmp_path), "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "the party ann has no certificate. It makes one with: sottovoce keygen" in done.stderr


# node


@pytest.fixture
def party(out: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Replaces the run of a party: what it returns or raises, and whether it writes a result."""
    play: dict[str, Any] = {"code": 0, "error": None, "answer": {"use": 5.0, "peak": 1 / 3}}

    def run_party(config: NodeConfig, tell: Any) -> int:
        play["config"] = config
        logging.getLogger("sottovoce.runtime").info("party started", extra={"party": config.name})
        logging.getLogger("sottovoce.runtime").warning("something is odd")
        if play["error"] is not None:
            raise play["error"]
        if not play["code"]:
            tell({"status": "converged", "answer": play["answer"]})
        return int(play["code"])

    monkeypatch.setattr(process, "run_party", run_party)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield play
    root.handlers[:], root.level = before


def test_node_prints_the_answer(out, party):
    done = sottovoce("node", out / "ann/node.toml")
    assert done.exit_code == 0
    assert party["config"].name == "ann"
    assert done.stdout.split()[:4] == ["use", "5", "peak", "0.3333333333"]
    assert "result.json" in done.stdout
    assert "INFO party started party=ann" in done.stderr


def test_node_in_json(out, party):
    done = sottovoce("node", out / "ann/node.toml", "--json")
    assert json.loads(done.stdout) == {"status": "converged", "answer": party["answer"]}
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["level"], line["message"]) for line in lines] == [
        ("INFO", "party started"),
        ("WARNING", "something is odd"),
    ]
    assert lines[0]["party"] == "ann"
    quiet = sottovoce("node", out / "ann/node.toml", "--quiet", "--json")
    assert [json.loads(line)["level"] for line in quiet.stderr.splitlines()] == ["WARNING"]


@pytest.mark.parametrize("code", [1, 130])
def test_the_exit_status_of_a_party_is_that_of_the_command(out, party, code):
    party["code"] = code
    done = sottovoce("node", out / "ann/node.toml", "--quiet")
    assert (done.exit_code, done.stdout) == (code, "")


def test_errors_are_one_line(out, party):
    party["error"] = PeerError("bob broke the protocol.")
    done = sottovoce("node", out / "ann/node.toml", "--quiet")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == "error: bob broke the protocol."
    (out / "ann/node.toml").write_text("[party]\n")
    done = sottovoce("node", out / "ann/node.toml")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "the table [run] is missing" in done.stderr


def test_a_mistake_in_the_data_shows_before_anybody_is_called(out, monkeypatch):
    def called(*_: Any) -> None:
        raise AssertionError("the party is on the network")

    monkeypatch.setattr(process, "WebSocketTransport", called)
    config = read_node_file(out / "ann/node.toml")
    config.data.write_text("y\n1\n")
    done = sottovoce("node", out / "ann/node.toml")
    assert done.exit_code == 2
    assert "ann.csv has no column 'x'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not config.journal.exists()


# status


@contextmanager
def answering(path: Path, answer: bytes | None) -> Iterator[None]:
    """Something that listens on a socket; None says nothing at all."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve_one() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as asked:
                assert json.loads(asked.readline()) == {"ask": "status"}
                if answer is None:
                    connection.recv(1)  # until the other side gives up
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve_one)
        thread.start()
        yield
        thread.join(5)
        assert not thread.is_alive()


def test_status_prints_what_a_party_says(out):
    told = {
        "party": "ann", "run": "trial", "stage": 1, "done": False, "residual": 12.5, "tol": 1e-9, "wakes": 1234,
        "epoch": 2, "messages_sent": 10, "messages_received": 9, "messages_old": 1, "frames_refused": 0, "seconds": 3.2,
        "neighbours": {"bob": "up", "cat": "down: nobody listens on 127.0.0.1:7403"},
        "disagreements": {"cat": "c is 1"},
    }  # fmt: skip
    path = read_node_file(out / "ann/node.toml").socket
    with answering(path, json.dumps(told).encode() + b"\n"):
        done = sottovoce("status", out / "ann/node.toml")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    for word in (
        "stage agreement 2",
        "residual 1.25e+01 (tolerance 1e-09)",
        "wakes 1,234",
        "epochs 2",
        "10 sent, 9 received",
        "neighbour bob up",
    ):
        assert word in text
    assert "neighbour cat down: nobody listens on 127.0.0.1:7403" in text
    assert "dispute cat c is 1" in text
    path.unlink()
    with answering(path, json.dumps(told).encode() + b"\n"):
        assert json.loads(sottovoce("status", out / "ann/node.toml", "--json").stdout) == told


def result_of(kind: str) -> tuple[dict[str, Any], str]:
    """What a party writes of a statistic, and the table of it."""
    network, rng = sv.Network.ring(3), np.random.default_rng(0)
    rows = [rng.normal(size=(5, 3)) for _ in range(3)]
    if kind == "linear":
        found: Any = sv.private_linear(network, [(A[:, :2], A[:, 2]) for A in rows], names=["u", "v"])
        asked, table = {"formula": "t ~ u + v"}, found.summary()
    else:
        found = sv.private_variance(network, [A[:, :2] for A in rows])
        asked, table = {"columns": ["u", "v"]}, f"x0      {found.mean[0]:.9g}"
    return {"statistic": {"type": kind, **asked}, "answer": found.to_dict(), "covers": ["ann", "bob", "cat"]}, table


@pytest.mark.parametrize("kind", ["linear", "variance"])
def test_node_and_status_print_the_table_of_a_statistic(out, party, kind, monkeypatch):
    result, table = result_of(kind)
    config = read_node_file(out / "ann/node.toml")
    monkeypatch.setattr(process, "run_party", lambda config, tell: tell(result) or 0)
    done = sottovoce("node", out / "ann/node.toml")
    assert table in done.stdout
    assert f"All of it is in {config.result}" in done.stdout
    config.result.write_text(json.dumps(result))
    for finished in (True, False):
        with answering(config.socket, json.dumps({"party": "ann", "done": finished}).encode() + b"\n"):
            asked = sottovoce("status", out / "ann/node.toml")
        config.socket.unlink()
        assert (table in asked.stdout) is finished
    for strange in ('{"answer": 3}', "[" * 50_000):  # of who knows what
        config.result.write_text(strange)
        with answering(config.socket, b'{"party": "ann", "done": true}\n'):
            assert sottovoce("status", out / "ann/node.toml").exit_code == 0
        config.socket.unlink()
    assert f"An answer is there: {config.result}" in sottovoce("status", out / "ann/node.toml").stderr


def test_a_party_goes_on_where_nobody_reads_its_answer(out, party, monkeypatch):
    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(run_node_module, "print_json", closed)
    assert sottovoce("node", out / "ann/node.toml", "--json").exit_code == 0


def test_status_of_a_party_that_does_not_run(out):
    done = sottovoce("status", out / "ann/node.toml")
    assert done.exit_code == 2
    assert "nobody answers there. The party does not run" in done.stderr
    with socket.socket(socket.AF_UNIX) as crashed:  # its socket stays behind
        crashed.bind(str(read_node_file(out / "ann/node.toml").socket))
    assert "nobody answers there" in sottovoce("status", out / "ann/node.toml").stderr


@pytest.mark.parametrize("answer", [b"", b"{}", b"hello\n", b"[1]\n", b"[" * 100_000 + b"\n", b"x" * (ANSWER + 2)])
def test_what_answers_may_be_anything(tmp_path, answer):
    path = tmp_path / "s"
    with answering(path, answer), pytest.raises(InvalidInput, match="what answers there is no party of this version"):
        ask(path)


def test_what_answers_may_be_silent(tmp_path):
    with answering(tmp_path / "s", None), pytest.raises(InvalidInput, match=r"no answer within 0\.05 s"):
        ask(tmp_path / "s", timeout=0.05)


def test_what_answers_byte_by_byte_keeps_nobody_waiting(tmp_path):
    """The time is for the whole answer, not for each part of it."""
    with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor(1) as pool:
        listening.bind(str(tmp_path / "s"))
        listening.listen()

        def drip() -> int:
            connection, _ = listening.accept()
            with connection:
                for sent in range(200):  # four seconds of them
                    try:
                        connection.send(b"{")
                    except OSError:
                        return sent
                    time.sleep(0.02)
            return 200

        sent = pool.submit(drip)
        with pytest.raises(InvalidInput, match=r"no answer within 0\.2 s"):
            ask(tmp_path / "s", timeout=0.2)
        assert sent.result() < 100


# The page that leads there

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "deploy.md"


def test_the_plan_of_the_page_can_be_carried_out(tmp_path):
    """As the page says, and then in its trial."""
    plan = re.search(r"^```toml\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert plan is not None
    (tmp_path / "plan.toml").write_text(plan[1])
    (tmp_path / "certs").mkdir()
    for k in (1, 2, 3):
        assert sottovoce("keygen", tmp_path / f"{k}/identity", "--name", f"hospital-{k}").exit_code == 0
        (tmp_path / f"{k}/identity/certificate.pem").rename(tmp_path / f"certs/hospital-{k}.pem")
    done = sottovoce("plan", tmp_path / "plan.toml", "--out", tmp_path / "parties", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["safe"]
    assert max(told["excess"]) <= 1e-3
    for k in (1, 2, 3):
        (tmp_path / f"certs/hospital-{k}.pem").rename(tmp_path / f"{k}/identity/certificate.pem")
        (tmp_path / f"parties/hospital-{k}/node.toml").rename(tmp_path / f"{k}/node.toml")
        (tmp_path / f"{k}/data.csv").write_text("bmi,age,progression\n25,50,150\n")
    configs = [read_node_file(tmp_path / f"{k}/node.toml") for k in (1, 2, 3)]
    assert len({repr(config.parameters()) for config in configs}) == 1
    assert sottovoce("plan", tmp_path / "plan.toml", "--out", tmp_path / "trial", "--generate-keys").exit_code == 0


def test_the_page_knows_what_the_software_says():
    """Every sentence that it explains stands in the source, so that none is explained that is no longer said."""
    source = "".join(path.read_text() for path in (PAGE.parents[2] / "src" / "sottovoce").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # literals that go on in the next line
    table = PAGE.read_text().split("## When it says")[1]
    said = [
        cell for row in re.findall(r"^\| (`.*?) \| ", table, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", row)
    ]
    assert len(said) > 40
    assert [part for sentence in said for part in sentence.split(" ... ") if part not in source] == []


def test_status_names_who_has_not_agreed():
    facts = status_facts({"epoch": 7, "not_agreed": ["bern", "lyon"]})
    assert facts["not agreed"] == "bern, lyon: epoch 7 waits for them"
    many = status_facts({"epoch": 7, "not_agreed": [f"p{i}" for i in range(1012)]})
    assert many["not agreed"].endswith("p9 and 1,002 more: epoch 7 waits for them")
    assert "not agreed" not in status_facts({"not_agreed": []})


# Processes


def test_ports_are_free_and_different():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def until(condition: Any, seconds: float = 30.0) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answers(cluster: Cluster, name: str) -> bool:
    try:
        return cluster.status(name)["party"] == name
    except InvalidInput:
        return False


def test_parties_agree_although_one_is_killed(out):
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with Cluster(out) as cluster:
        assert cluster.names == ["ann", "bob", "cat"]
        cluster.start(["ann", "bob"])
        until(lambda: answers(cluster, "bob"))
        assert cluster.results() == {}  # cat is not there yet
        cluster.kill("bob")
        assert not cluster.running("bob")
        with pytest.raises(InvalidInput, match="bob does not run"):
            cluster.kill("bob")
        cluster.restart("bob")
        cluster.start(["cat"])
        assert cluster.wait(60) == {"ann": 0, "bob": 0, "cat": 0}
        for result in cluster.results().values():
            assert result["answer"]["observations"] == 6
            # Pads of the default mask leave 3.5e-10 of numbers of size 10.
            assert result["answer"]["mean"] == pytest.approx([5.0], abs=3.5e-9)
        assert "party started" in cluster.log("ann")
    assert stranger.poll() is None
    stranger.communicate(b"\n")


def handshake(role: str, out: Path, me: str, other: str, connection: socket.socket, version: ssl.TLSVersion) -> str:
    """Of a neighbour that has the right certificate, and this version of TLS only: the version, or what went wrong."""
    server = role == "server"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(out / me / "identity" / "certificate.pem", out / me / "identity" / "key.pem")
    context.load_verify_locations(out / other / "identity" / "certificate.pem")
    connection.settimeout(10)
    try:
        with context.wrap_socket(connection, server_side=server, server_hostname=None if server else other) as tls:
            tls.sendall(b"x")
            tls.recv(1)  # with 1.3, a refusal of the client's certificate comes after the handshake
            return str(tls.version())
    except OSError as error:
        return str(error)


def test_parties_speak_tls_1_3_only(out):
    """Whether they dial or are dialled: ann calls bob, and bob calls cat."""
    configs = {name: read_node_file(out / name / "node.toml") for name in VALUES}
    ports = {name: int(config.listen.rpartition(":")[2]) for name, config in configs.items()}
    found = {}
    with socket.create_server(("127.0.0.1", ports["cat"])) as cat, Cluster(out) as cluster:
        cluster.start(["bob"])
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            cat.settimeout(30)
            found["called", version] = handshake("server", out, "cat", "bob", cat.accept()[0], version)
            with socket.create_connection(("127.0.0.1", ports["bob"])) as ann:
                found["calling", version] = handshake("client", out, "ann", "bob", ann, version)
    assert found["called", ssl.TLSVersion.TLSv1_3] == found["calling", ssl.TLSVersion.TLSv1_3] == "TLSv1.3"
    assert "UNSUPPORTED_PROTOCOL" in found["called", ssl.TLSVersion.TLSv1_2]
    assert not found["calling", ssl.TLSVersion.TLSv1_2].startswith("TLS")


def test_leaving_ends_what_was_started(out, monkeypatch):
    with Cluster(out) as cluster:
        cluster.start(["ann"])
        until(lambda: answers(cluster, "ann"))
        process = cluster.processes["ann"]
        with pytest.raises(InvalidInput, match="ann runs already"):
            cluster.start(["ann"])
        with pytest.raises(TimeoutError, match=r"ann still runs after 0\.01 s"):
            cluster.wait(0.01)
        with pytest.raises(InvalidInput, match=r"'dan' is no party of .*; they are ann, bob, cat"):
            cluster.log("dan")
    assert process.returncode == 1  # it was asked to end, and had not finished
    monkeypatch.setattr(cluster_module, "GRACE", 0.1)
    with cluster:
        cluster.start(["ann"])
        until(lambda: answers(cluster, "ann"))
        cluster.kill("ann", signal.SIGSTOP)  # a party that hangs is not asked for ever
    assert cluster.processes["ann"].returncode == -signal.SIGKILL


def test_a_folder_without_parties(tmp_path):
    with pytest.raises(InvalidInput, match=r"holds no <party>/node\.toml"):
        Cluster(tmp_path)


def test_a_party_that_was_forked_is_its_own_process(out):
    """Signals reach it alone, and its status tells how it ended."""
    with Cluster(out) as cluster:
        cluster.start(["ann", "bob"])
        until(lambda: answers(cluster, "ann") and answers(cluster, "bob"))
        ann, bob = cluster.processes["ann"], cluster.processes["bob"]
        assert len({ann.pid, bob.pid, os.getpid()}) == 3
        cluster.kill("bob")
        assert (ann.poll(), bob.poll()) == (None, -signal.SIGKILL)
        bob.send_signal(signal.SIGTERM)  # to nobody: it has ended, and its number may be another's
        with pytest.raises(subprocess.TimeoutExpired):
            ann.wait(0.01)
        cluster.restart("bob")
        until(lambda: answers(cluster, "bob"))
        assert "INFO" in cluster.log("ann")
        again = cluster.processes["bob"]
    assert (ann.returncode, again.returncode) == (1, 1)


def test_a_forked_party_that_refuses_ends_with_status_2(out):
    with Cluster(out) as cluster:
        (out / "ann" / "node.toml").write_text("party = 3")
        cluster.start(["ann"])
        assert cluster.processes["ann"].wait(30) == 2
        assert cluster.log("ann").startswith("error: ")
        assert "Traceback" not in cluster.log("ann")


def test_without_the_process_that_parties_are_forked_from(out):
    """A sentence, and not a wait for ever."""
    cluster = Cluster(out)
    cluster.start(["ann"])
    server, party = cluster._server, cluster.processes["ann"]
    server._process.kill()
    server._process.wait()
    with pytest.raises(RuntimeError, match="has ended"):
        party.poll()
    os.kill(party.pid, signal.SIGKILL)
    server.close()
