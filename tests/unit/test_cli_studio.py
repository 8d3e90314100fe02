"""``sottovoce studio`` from the command line: what cannot be gets a sentence and status 2, and it ends in order."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app

pytest.importorskip("nicegui")


def said(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["studio", "--no-browser", *arguments])
    return done.exit_code, done.stderr


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, sentence = said("--port", str(taken.getsockname()[1]))
    assert status == 2
    assert "Another studio may run there; take another with --port" in sentence


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--host", "nowhere.invalid"], "is no address"),
        (["--host", "192.0.2.1", "--port", "0"], "This machine has no such address"),
        (["nothing.toml"], "nothing.toml does not exist"),
        (["--cluster", "nothing-there"], "holds no <party>/node.toml"),
        (["--port", "70000"], "65535"),
    ],
)
def test_what_cannot_be(arguments, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, sentence = said(*arguments)
    assert status == 2
    assert why in sentence
    assert "Traceback" not in sentence


def test_a_network_that_is_too_large_for_a_page(tmp_path):
    values = ", ".join(["1"] * 201)
    (tmp_path / "large.toml").write_text(
        f"[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nvalues = [{values}]\n"
    )
    assert said(str(tmp_path / "large.toml")) == (
        2, "error: a network on this page has 2 to 200 parties; this one has 201.\n",
    )  # fmt: skip


@pytest.mark.parametrize("command", [["studio", "--port", "0"], ["demo", "--studio"]])
def test_without_the_extra(command):
    """In a process of its own: modules that are loaded again are others."""
    code = "import sys; sys.modules['nicegui'] = None; from sottovoce.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "error: the studio needs nicegui. Install it with: pip install 'sottovoce[studio]'\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_it_says_where_it_is_and_ends_when_told(number, status, tmp_path):
    """Also without a screen: then it asks for a browser. It leaves nothing in the folder where it was started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "studio", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().split()[2]
    with urllib.request.urlopen(f"{address}paper", timeout=30) as answer:
        assert answer.status == 200
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert errors == f"No browser could be opened here. Open {address} in one.\n"
    assert list(tmp_path.iterdir()) == []
