"""``sottovoce sweep``: what is printed and written, and exit statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runtime.trial import wait_for
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app

PROBLEM = """[network]
generator = "random_geometric"
n = 5
[cost]
type = "averaging"
values = { Ada = 1.0, Bo = 2.0, Cem = 4.5, Dina = 9.0, Eli = 3.5 }
[pdmm]
schedule = "asynchronous"
c = 1.0
"""


def sweep(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["sweep", *(str(argument) for argument in arguments), "--jobs", "1"])


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "meters.toml"
    path.write_text(PROBLEM)
    return path


def test_a_table_for_people(problem: Path) -> None:
    done = sweep(problem, "--grid", "theta=0.5,1", "--seeds", 2)
    assert (done.exit_code, done.stderr) == (0, "")
    first, _, *lines = done.stdout.splitlines()
    assert first == "Sweep(4 points: 4 converged, 0 did not, 0 failed)"
    assert lines[0].split() == ["problem", "theta", "converged", "iterations", "messages"]
    assert [line.split()[:3] for line in lines[1:]] == [["meters", "0.5", "2/2"], ["meters", "1.0", "2/2"]]


def test_json_has_every_point_as_solve_gives_it(problem: Path) -> None:
    grid = ["--grid", "schedule=edge_bernoulli,node_bernoulli", "--grid", "p=0.5,0.9", "--grid", "mask.variance=1e6"]
    done = sweep(problem, *grid, "--seeds", 2, "--json")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    told = json.loads(done.stdout)
    assert (told["points"], told["converged"], told["settings"]) == (8, 8, ["schedule", "mask"])
    assert [row["schedule"] for row in told["rows"][::2]] == [
        "EdgeBernoulli(p=0.5)", "EdgeBernoulli(p=0.9)", "NodeBernoulli(p=0.5)", "NodeBernoulli(p=0.9)",
    ]  # fmt: skip
    network = sv.Network.random_geometric(5, seed=0)  # the file has no seed
    mean = sv.averaging(network, [1.0, 2.0, 4.5, 9.0, 3.5])
    result = sv.solve(mean, schedule=sv.EdgeBernoulli(0.9), c=1.0, mask=sv.GaussianMask(1e6), seed=1)
    row = told["rows"][3]
    assert (row["iterations"], row["messages"], row["seed"]) == (result.iterations, result.messages, 1)
    assert row["max_error"] == abs(result.x - 4.0).max()


def test_the_seed_of_the_file_is_that_of_its_network(problem: Path) -> None:
    problem.write_text(PROBLEM + "seed = 3\n")
    row = json.loads(sweep(problem, "--json").stdout)["rows"][0]
    mean = sv.averaging(sv.Network.random_geometric(5, seed=3), [1.0, 2.0, 4.5, 9.0, 3.5])
    assert row["messages"] == sv.solve(mean, schedule=sv.Asynchronous(), c=1.0, seed=0).messages


def test_overlays_are_told(problem: Path) -> None:
    done = sweep(problem, "--grid", "overlay=all,tree", "--grid", "c=auto", "--json")
    overlays = [row["overlay"] for row in json.loads(done.stdout)["rows"]]
    assert overlays == ["all", "tree"]


def test_the_file_and_the_same_command_again(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    out = problem.with_name("sweep.parquet")
    arguments = (problem, "--grid", "theta=0.5,1", "--out", out)
    done = sweep(*arguments)
    assert done.exit_code == 0
    assert f"All points are in {out}" in done.stdout.replace("\n", " ")
    assert out.exists()
    assert sweep(*arguments).stdout == done.stdout
    monkeypatch.chdir(problem.parent)
    assert sweep(problem.name, *arguments[1:]).stdout == done.stdout  # by another path to it
    other = sweep(*arguments, "--seeds", 2)
    assert other.exit_code == 2
    assert other.stderr.startswith(f"error: {out} is of another sweep, with other seeds.")


def test_points_that_do_not_converge_are_exit_status_1(problem: Path) -> None:
    done = sweep(problem, "--grid", "max_iter=3", "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert (told["converged"], told["settings"], told["rows"][0]["max_iter"]) == (0, ["max_iter"], 3)  # asked for


def test_points_that_fail_are_exit_status_1(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr("sottovoce.sweeps.play.solve", fails)
    done = sweep(problem, "--json")
    assert done.exit_code == 1
    assert done.stderr == "warning: 1 of 1 points failed; point 0 failed with RuntimeError: no luck\n"
    assert json.loads(done.stdout)["failed"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--grid", "theta"], "--grid takes a key and its values, such as theta=0.5,0.8,1; got 'theta'."),
        (["--grid", "theta=0.5,,1"], "--grid takes a key and its values, such as theta=0.5,0.8,1; got 'theta=0.5,,1'."),
        (["--grid", "theta=1,1"], "--grid theta=1,1: a value is there twice. Keep one of them."),
        (["--grid", "theta=1", "--grid", "theta=0.5"], "--grid names a key twice."),
        (["--grid", "pdmm.theta=1", "--grid", "theta=0.5"], "--grid names a key twice."),
        (
            ["--grid", ".theta=0.5"],
            "--grid .theta=0.5: it takes keys of [pdmm], and of [mask] and [noise] as mask.vari",
        ),
        (["--grid", "max_iter=99999999999999999999,10"], "grid['max_iter']: a whole number must be at most 2**63 - 1"),
        (["--grid", "seed=1,2"], "--grid seed: the seeds of a sweep are those of --seeds."),
        (
            ["--grid", "network.n=5"],
            "--grid network.n=5: it takes keys of [pdmm], and of [mask] and [noise] as mask.vari",
        ),
        (["--grid", "theta=2"], "with theta = 2: [pdmm] theta must be in (0, 1]; got 2."),
        (["--grid", "thta=1"], "with thta = 1: [pdmm] thta is not a known key; did you mean 'theta'?"),
        (["--out", "sweep.csv"], "out sweep.csv: the name must end in .parquet."),
    ],
)
def test_bad_input_is_a_sentence_and_exit_status_2(problem: Path, arguments: list[str], sentence: str) -> None:
    done = sweep(problem, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_sweep_that_is_interrupted(problem: Path, number: signal.Signals, jobs: int) -> None:
    """The problem, which processes are sent through a temporary folder, is not left there; what is done is kept."""
    pytest.importorskip("pyarrow")
    temporary, out = problem.with_name("temporary"), problem.with_name("sweep.parquet")
    temporary.mkdir()
    command = [
        sys.executable,
        "-m",
        "sottovoce",
        "sweep",
        str(problem),
        "--grid",
        "tol=0",
        "--grid",
        "max_iter=1000000",
    ]
    command += ["--seeds", "100000", "--jobs", str(jobs), "--out", str(out)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        try:
            wait_for(lambda: list(out.with_name("sweep.parquet.parts").glob("part-*")), what="a part")
            assert len(list(temporary.glob("sottovoce-*/job"))) == (jobs > 1)
            running.send_signal(number)
            printed, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 128 + number
    assert printed == ""
    assert f"interrupted: the points that are done are kept beside {out}, and the same command goes on\n" in said
    assert not list(temporary.glob("sottovoce-*"))
    assert list(out.with_name("sweep.parquet.parts").glob("part-*"))


def test_a_statistic_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "statistic.toml"
    path.write_text(sv.data.example("regression"))
    done = sweep(path)
    assert done.exit_code == 2
    assert "has a [statistic], which takes several runs. A sweep is of a [cost]: sottovoce solve" in done.stderr
