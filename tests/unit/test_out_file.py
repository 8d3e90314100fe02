"""``sottovoce solve --out``: JSON or CSV by the suffix, whole or not at all, and refused before the run."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.files import atomic

AVERAGING = """[network]
generator = "ring"
[cost]
type = "averaging"
values = { Ada = [1.0, 3.0], Bo = [2.0, 3.0], "Cem, of the north" = [6.0, 3.0] }
columns = ["use", "peak, kW"]
[pdmm]
c = 1.0
seed = 1
"""


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(AVERAGING)
    return path


def solve(*words: object) -> Any:
    return CliRunner().invoke(app, ["solve", *(str(word) for word in words)])


def test_csv_has_a_row_per_party(problem: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.CSV"
    result = solve(problem, "--out", out, "--json")
    assert result.exit_code == 0
    with out.open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    assert header == ["party", "use", "peak, kW"]
    assert [row[0] for row in rows] == ["Ada", "Bo", "Cem, of the north"]
    assert [[float(cell) for cell in row[1:]] for row in rows] == json.loads(result.stdout)["x"]  # every digit


def test_json_is_what_is_printed(problem: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    out.write_text("old")
    printed = json.loads(solve(problem, "--out", out, "--json").stdout)
    written = json.loads(out.read_text())
    assert {**written, "wall_time": 0} == {**printed, "wall_time": 0}


@pytest.mark.parametrize(("name", "why"), [("a.txt", "must end in .json or .csv"), ("a", "must end in .json or .csv"),
                                           ("no/a.csv", "does not exist"), ("d.csv", "is a directory")])  # fmt: skip
def test_what_cannot_be_written_is_refused_before_the_run(
    problem: Path, tmp_path: Path, name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").mkdir()
    monkeypatch.setattr("sottovoce.statistics.statistic_file.read_file", lambda *_: pytest.fail("it was read"))
    result = solve(problem, "--out", tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --out")
    assert why in result.stderr


def test_a_failure_leaves_the_old_file_as_it_was(
    problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "answer.csv"
    out.write_text("old")
    monkeypatch.setattr(atomic.os, "replace", full)
    result = solve(problem, "--out", out)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert (out.read_text(), sorted(path.name for path in tmp_path.iterdir())) == (
        "old",
        ["answer.csv", "problem.toml"],
    )


def test_a_run_that_did_not_converge_has_no_csv(problem: Path, tmp_path: Path) -> None:
    problem.write_text(problem.read_text() + "max_iter = 1\n")
    result = solve(problem, "--out", tmp_path / "a.csv")
    assert result.exit_code == 1
    assert "a.csv is not written: the run did not converge." in result.stderr
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["solve"], ["audit", "--json"]])
def test_output_that_cannot_be_written(problem: Path, words: list[str], unbuffered: str) -> None:
    """No traceback, whether it is noticed at once or as the program ends, and never status 0."""
    command = [sys.executable, "-m", "sottovoce", *words, str(problem)]
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (2, "error: the output cannot be written: No space left on device.\n")


@pytest.mark.parametrize("words", [["solve"], ["solve", "--json"], ["audit"], ["audit", "--json"]])
def test_whoever_reads_may_stop(problem: Path, tmp_path: Path, words: list[str]) -> None:
    """As ``head`` does: no words, the status of a closed pipe, and the file is there."""
    out = tmp_path / "answer.json"
    more = ["--out", str(out)] if words[0] == "solve" else []
    command = [sys.executable, "-m", "sottovoce", *words, str(problem), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(60) == 141
    assert out.exists() == bool(more)
