"""``sottovoce studio`` from the command line: what cannot be gets a sentence and status 2, and it ends in order."""

from __future__ import annotations

import builtins
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

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


def test_without_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("nicegui", "sottovoce.studio"))]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "nicegui":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    status, sentence = said("--port", "0")
    assert status == 2
    assert sentence == "error: the studio needs nicegui. Install it with: pip install 'sottovoce[studio]'\n"


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
