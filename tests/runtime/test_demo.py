"""The demonstration: the pooled answer, by ten processes of which one is killed, and nothing left behind."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sottovoce.cli import demo_network, demo_table
from sottovoce.cli.demo_table import FINISHED, KILLED, STARTING, UP, Lines, Seen, live_table, overview
from sottovoce.runtime.plan.plan import read_plan

FOLDER = Path(str(resources.files("sottovoce.data"))) / "examples" / "diabetes"
COMMAND = [sys.executable, "-m", "sottovoce", "demo", "--json", "--fast"]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Short, as the paths of sockets must be."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_hospitals_find_the_pooled_answer_and_leave_nothing_behind(temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    out = json.loads(done.stdout)
    assert out["check"]["max_error"] < 1e-12
    assert out["parameters"] == pytest.approx(independent_fit(), rel=1e-10)  # normal equations of float64
    assert out["observations"] == 442
    assert out["crash"]["party"] == "hospital-3"
    assert out["crash"]["seconds"] > demo_network.DOWN
    assert out["privacy"]["exposed"] == []
    assert max(out["privacy"]["excess"]) == 0
    assert len(out["pids"]) == 11  # the victim twice
    assert not any(alive(pid) for pid in out["pids"])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_ends_its_processes(temporary: Path, number: int) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    child = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 60
    while len(pids := parties(child.pid)) < 10:
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.02)
    servers = children(child.pid)
    child.send_signal(number)
    assert child.wait(timeout=60) == 128 + number
    assert child.communicate() == (b"", b"interrupted\n" if number == signal.SIGINT else b"")
    assert not any(alive(pid) for pid in [*servers, *pids])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_in_the_browser_ends_its_processes(temporary: Path, number: int) -> None:
    pytest.importorskip("nicegui")
    command = [sys.executable, "-m", "sottovoce", "demo", "--studio", "--no-browser", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    assert child.stdout is not None
    assert "/live  (Ctrl-C ends it)" in child.stdout.readline()
    deadline = time.monotonic() + 60
    while len(pids := parties(child.pid)) < 10:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    servers = [server for server in children(child.pid) if children(server)]  # Python has helpers of its own
    child.send_signal(number)
    assert child.wait(timeout=60) == (0 if number == signal.SIGINT else 128 + number)
    assert child.communicate() == ("", "")
    assert not any(alive(pid) for pid in [*servers, *pids])
    assert list(temporary.iterdir()) == []


def independent_fit() -> np.ndarray:
    """From the files, by the normal equations of centred columns."""
    files = [csv.DictReader(path.open()) for path in sorted(FOLDER.glob("*.csv"))]
    rows = np.array([[float(value) for value in row.values()] for file in files for row in file])
    means = rows.mean(axis=0)
    A, b = (rows - means)[:, :-1], (rows - means)[:, -1]
    slopes = np.linalg.solve(A.T @ A, A.T @ b)
    return np.append(means[-1] - means[:-1] @ slopes, slopes)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def children(pid: int) -> list[int]:
    if not Path(f"/proc/{pid}/task/{pid}/children").exists() and alive(pid):
        pytest.skip("this system does not list the children of a process")
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended, or one of its threads
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):  # by the thread that started them
            found += map(int, listed.read_text().split())
    return found


def parties(pid: int) -> list[int]:
    """The processes that its fork server has forked."""
    return [party for server in children(pid) for party in children(server)]


def test_the_shards_are_the_published_data() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    published = datasets.load_diabetes(scaled=False)
    rows = []
    sizes = []
    for k in range(10):
        with (FOLDER / f"hospital-{k}.csv").open() as file:
            header, *shard = csv.reader(file)
        assert header == ["age", "sex", "bmi", "bp", "tc", "ldl", "hdl", "tch", "ltg", "glu", "progression"]
        rows += [[float(value) for value in row] for row in shard]
        sizes.append(len(shard))
    assert sizes == [75, 68, 61, 54, 48, 42, 36, 28, 19, 11]
    assert np.array_equal(rows, np.column_stack([published.data, published.target]))


def test_the_plan_is_safe() -> None:
    plan = read_plan(FOLDER / "plan.toml")
    assert plan.prospect.exposure.connectivity == 3
    assert plan.prospect.safe
    assert (plan.question.kind, plan.question.stages) == ("linear", 1)


def moment(state: str, stage: int, **more: float) -> dict[str, Seen]:
    return {name: Seen(name, state, stage, **more) for name in ("ann", "bob")}


def test_a_line_tells_where_the_slowest_are() -> None:
    assert overview(moment(STARTING, -1)) == "2 starting"
    seen = moment(UP, 0, residual=3e4, rate=100.0)
    assert overview(seen) == "2 up; agreement 1 of 1, residual 3e+04; 200 messages/s"
    seen["bob"] = Seen("bob", KILLED, 0)
    assert overview(seen) == "1 up, 1 killed; agreement 1 of 1, residual 3e+04; 100 messages/s"
    assert overview(moment(FINISHED, 3)) == "2 finished"


def test_lines_tell_every_event_once(capsys: pytest.CaptureFixture[str]) -> None:
    show = Lines()
    show(moment(STARTING, -1), [])
    show(moment(UP, 0), ["killed bob"])
    show(moment(UP, 0), ["killed bob", "started bob again"])
    out = capsys.readouterr().out
    assert [line.split("  ")[-1] for line in out.splitlines()] == ["2 starting", "killed bob", "started bob again"]


def test_the_live_table_has_a_row_for_each_party() -> None:
    from rich.console import Console

    seen = moment(UP, 0, residual=2.0, wakes=30, sent=90, rate=120.0)
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(live_table("title", seen, ["killed bob"], 4.2))
    text = console.export_text()
    assert [line.split() for line in text.splitlines() if "patients" in line] == [
        ["ann", "up", "1.", "patients", "and", "products", "2e+00", "30", "120"],
        ["bob", "up", "1.", "patients", "and", "products", "2e+00", "30", "120"],
    ]
    assert "4.2 s   180 messages, 240 a second" in text
    assert "* killed bob" in text
    assert len(demo_table.AGREEMENTS) == 1
