"""The command line as a user meets it: exit status, what is on stdout and what on stderr, and real pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sottovoce.cli import demo_simulated
from sottovoce.cli.app import app
from sottovoce.cli.solve import Example
from sottovoce.data.problem_file import EXAMPLES
from sottovoce.network import Network, pictures
from sottovoce.pdmm.pictures import plot_run
from sottovoce.pdmm.result import Result, Status

ROOT = Path(__file__).parents[2]
AVERAGING = """[network]
generator = "ring"
[cost]
type = "averaging"
values = { Ada = 1.0, Bo = 2.0, Cem = 4.5, Dina = 9.0 }
[pdmm]
schedule = "asynchronous"
c = 1.0
[mask]
variance = 1e6
"""


def sottovoce(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sottovoce", *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(AVERAGING)
    return path


# solve


def test_solve_prints_a_table_for_people(problem: Path) -> None:
    result = sottovoce("solve", problem)
    assert result.exit_code == 0
    assert result.stderr == ""
    words = ["averaging between 4 parties over 4 edges", "4.125", "converged", "residual", "iterations", "activations"]
    words += ["messages", "wall time", "only a simulation can compute", "secret, from the operating system's generator"]
    for word in words:
        assert word in " ".join(result.stdout.split())


def test_a_mask_that_hides_nothing_is_said_on_stderr_and_in_the_table(problem: Path) -> None:
    problem.write_text(AVERAGING.replace("Dina = 9.0", "Dina = 9e6").replace("1e6\n", "1\n"))
    result = sottovoce("solve", problem)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: node Dina: its data are hidden badly")
    assert "9" not in result.stderr
    assert "TOO SMALL to hide the data" in " ".join(result.stdout.split())
    assert json.loads(sottovoce("solve", problem, "--json").stdout)["hidden"] is False


def test_json_is_one_object_and_nothing_else(problem: Path) -> None:
    done = process("solve", problem, "--json", "--seed", 5)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    out = json.loads(done.stdout)
    assert out["answer"]["x"] == pytest.approx(4.125, rel=1e-7)
    assert out["parties"] == ["Ada", "Bo", "Cem", "Dina"]
    assert (out["status"], out["seed"], out["secret"]) == ("converged", 5, False)
    assert out["check"]["pooled"] == [4.125]
    np.testing.assert_allclose(out["x"], 4.125, rtol=1e-7)


def test_a_penalty_per_edge_is_shown_and_listed(problem: Path) -> None:
    problem.write_text(AVERAGING.replace("c = 1.0", "c = [0.5, 1, 1.25, 2]"))
    assert "0.5 to 2 by edge, 1" in " ".join(sottovoce("solve", problem).stdout.split())
    out = json.loads(sottovoce("solve", problem, "--json").stdout)
    assert (out["status"], out["c"]) == ("converged", [0.5, 1.0, 1.25, 2.0])


def test_a_seed_repeats_the_run(problem: Path) -> None:
    problem.write_text(AVERAGING.replace("c = 1.0", "c = 1.0\nmax_iter = 5"))  # before all end at the same float
    one, two, other = (json.loads(sottovoce("solve", problem, "--json", "--seed", seed).stdout) for seed in (1, 1, 2))
    assert one["x"] == two["x"] != other["x"]


def test_csv_example_against_the_pooled_regression() -> None:
    rows = [np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
            for path in (ROOT / "examples" / "hospitals" / "data").glob("*.csv")]  # fmt: skip
    table = np.concatenate(rows)
    A = np.column_stack([np.ones(len(table)), table[:, :3]])
    expected = np.linalg.lstsq(A, table[:, 3], rcond=None)[0]
    out = json.loads(sottovoce("solve", ROOT / "examples" / "hospitals" / "leaking.toml", "--json").stdout)
    assert list(out["answer"]) == ["age", "bmi", "dose", "intercept"]
    assert list(out["answer"].values()) == pytest.approx(np.roll(expected, -1), rel=1e-5)
    assert "A'A" in out["leaks"]
    out = json.loads(sottovoce("solve", ROOT / "examples" / "hospitals" / "problem.toml", "--json").stdout)
    assert out["answer"]["terms"] == ["Intercept", "age", "bmi", "dose"]
    assert out["answer"]["params"] == pytest.approx(expected, rel=1e-12)  # what float64 and QR have


def test_not_converged_is_said_and_is_exit_status_1(problem: Path) -> None:
    problem.write_text(AVERAGING.replace("c = 1.0", "c = 1.0\nmax_iter = 3"))
    result = sottovoce("solve", problem)
    assert result.exit_code == 1
    assert "not converged: max_iter reached before tol" in result.stdout
    result = sottovoce("solve", problem, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["status"] == "max_iter"


def test_names_are_printed_as_they_are(problem: Path) -> None:
    text = AVERAGING.replace("{ Ada = 1.0, Bo = 2.0, Cem = 4.5, Dina = 9.0 }", "[[1, 2], [3, 4], [5, 6]]")
    problem.write_text(text.replace("[pdmm]", "columns = ['dose [mg]', '[red]$x$ :smile:']\n[pdmm]"))
    result = sottovoce("solve", problem, "--plot", problem.with_name("out.svg"))
    assert result.exit_code == 0
    assert "dose [mg]" in result.stdout
    assert "[red]$x$ :smile:" in result.stdout


def test_an_interrupt_is_exit_status_130(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["sottovoce.pdmm.solve"], "solve", interrupt)
    result = sottovoce("solve", problem)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_without_a_mask_the_table_says_so(problem: Path) -> None:
    problem.write_text(AVERAGING.split("[mask]")[0])
    assert "no mask: the run is not private" in sottovoce("solve", problem).stdout
    assert json.loads(sottovoce("solve", problem, "--json").stdout)["secret"] is None


def test_a_warning_is_one_clean_line_on_stderr(problem: Path) -> None:
    problem.write_text(AVERAGING.replace("1e6", "1e20"))
    done = process("solve", problem, "--json", "--seed", 2)  # one that converges; some do not, which is another warning
    assert done.returncode == 0
    assert json.loads(done.stdout)["parties"]
    assert done.stderr.startswith("warning: rounding at the size of z(0)")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (("c = 1.0", "theta = 1.3"), "problem.toml, line 8: [pdmm] theta must be in (0, 1]; got 1.3."),
        (("c = 1.0", "c = [1, 2, 3]"), "problem.toml, line 8: [pdmm] c has 3 numbers, and messages go over 4 edges"),
        (("c = 1.0", "c ="), "problem.toml, line 8: not valid TOML"),
        (('type = "averaging"', 'type = "averageing"'), "line 4: [cost] type = 'averageing' is not known; did"),
        (('generator = "ring"', 'edge_list = "none"'), "none does not exist."),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_status_2(problem: Path, edit: tuple[str, str], expected: str) -> None:
    problem.write_text(AVERAGING.replace(*edit))
    plot = problem.with_name("out.png")
    done = process("solve", problem, "--json", "--plot", plot)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert os.listdir(problem.parent) == ["problem.toml"]


@pytest.mark.parametrize("arguments", [["nowhere.toml"], ["."], [], ["a.toml", "--example", "lasso"], ["--seed", "-1"],
                                       ["--example", "ridge"], ["--nonsense"]])  # fmt: skip
def test_wrong_arguments_are_exit_status_2(arguments: list[str]) -> None:
    result = sottovoce("solve", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr
    assert "Traceback" not in result.stderr


def test_examples_are_those_of_the_parser() -> None:
    assert tuple(Example) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_printed_example_runs_when_saved(tmp_path: Path, name: str) -> None:
    printed = sottovoce("solve", "--example", name)
    assert printed.exit_code == 0
    path = tmp_path / "problem.toml"
    path.write_text(printed.stdout)
    out = json.loads(sottovoce("solve", path, "--json").stdout)
    assert out["status"] == "converged"
    assert "answer" in out or out["secret"] is True  # statistics have no seed to choose
    assert all(np.isfinite(value) for value in np.hstack(out["x"] if "x" in out else out["answer"]["params"]))


# --plot

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", MAGIC)
def test_plots_are_real_pictures(problem: Path, suffix: str) -> None:
    path = problem.with_name(f"out{suffix}")
    result = sottovoce("solve", problem, "--plot", path, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["history"]["residual"][-1] < 1e-6
    content = path.read_bytes()
    assert content.startswith(MAGIC[suffix])
    if suffix == ".svg":
        assert b"Dina" in content
        assert b"converged after" in content
    assert sorted(os.listdir(problem.parent)) == sorted([path.name, "problem.toml"])  # no temporary file is left


def test_a_png_has_the_size_and_the_colours_of_a_picture(problem: Path) -> None:
    from matplotlib.image import imread

    path = problem.with_name("out.png")
    sottovoce("solve", problem, "--plot", path)
    pixels = imread(path)
    assert pixels.shape[:2] == (704, 1696)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing/out.png", "missing does not exist."),
        ("out.gif", "the name must end in .png, .pdf or .svg."),
        ("out", "the name must end in"),
        ("folder.png", "is a directory. Name a file in it."),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_the_run(
    problem: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    monkeypatch.setattr(
        sys.modules["sottovoce.pdmm.solve"], "solve", lambda *_, **__: pytest.fail("the run was started")
    )
    (problem.parent / "folder.png").mkdir()
    result = sottovoce("solve", problem, "--plot", problem.parent / name)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert sorted(os.listdir(problem.parent)) == ["folder.png", "problem.toml"]


def test_without_matplotlib_the_extra_is_named(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)
    result = sottovoce("solve", problem, "--plot", problem.with_name("out.png"))
    assert result.exit_code == 2
    assert "error: --plot needs matplotlib. Install it with: pip install 'sottovoce[plot]'" in result.stderr


def test_a_failed_picture_leaves_nothing_behind(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    path = problem.with_name("out.png")
    path.write_bytes(b"an older picture")
    monkeypatch.setattr(os, "replace", fail)
    result = sottovoce("solve", problem, "--plot", path)
    assert result.exit_code == 2
    assert "converged" in result.stdout  # the answer is not lost
    assert "out.png cannot be written: disk full." in result.stderr
    assert path.read_bytes() == b"an older picture"
    assert sorted(os.listdir(problem.parent)) == ["out.png", "problem.toml"]


@pytest.mark.parametrize("network", [Network.star(9), Network.grid(3, 3), Network.random_geometric(150, seed=1)])
def test_any_network_can_be_drawn(tmp_path: Path, network: Network) -> None:
    history = {"iteration": np.arange(3), "residual": np.array([1.0, np.inf, 0.0])}
    x, z = np.zeros(network.n), np.zeros(2 * network.m)
    result = Result(x, z, Status.DIVERGED, 3, 3, 3, np.inf, history, 0.1, 1.0, 1.0, None)
    plot_run(tmp_path / "out.svg", result, network, 1e-9)
    text = (tmp_path / "out.svg").read_text()
    assert "diverged after 3 iterations" in text
    assert f"{network.n} parties, {network.m} edges" in text


def test_spring_layout_keeps_neighbours_closer_than_others() -> None:
    network = Network.from_edges(8, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7)])
    places = pictures.spring_layout(network)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    joined = network.adjacency.toarray() > 0
    assert apart[joined].mean() < 0.7 * apart[~joined & ~np.eye(8, dtype=bool)].mean()


# demo


def test_demo_in_a_pipe_is_a_few_plain_lines() -> None:
    done = process("demo", "--simulate")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    text = " ".join(done.stdout.split())
    for words in ("iteration residual error", "305.7", "converged", "secret, from the operating system's generator",
                  "no audit was run", "the sum over each connected group", "0.0527 nats"):  # fmt: skip
        assert words in text
    assert len(done.stdout.splitlines()) < 35


def test_demo_says_when_its_pads_are_not_secret() -> None:
    result = sottovoce("demo", "--simulate", "--fast", "--seed", 1)
    assert result.exit_code == 0
    assert "from a seed: reproducible, not secret" in result.stdout
    assert "iteration  residual" not in result.stdout


def test_demo_json() -> None:
    result = sottovoce("demo", "--simulate", "--json", "--seed", 1)
    out = json.loads(result.stdout)
    assert out["answer"] == pytest.approx(demo_simulated.VALUES.mean(), rel=1e-9)
    assert out["floor_nats"] == pytest.approx(-0.5 * np.log(0.9))
    assert (out["status"], out["secret"], out["audited"]) == ("converged", False, False)
    assert out["history"]["error"][-1] < 1e-6
    assert out["overlay"]["type"] == "tree"
    assert out["messages"] < 500  # some 46; 2,983 over all edges
    again = json.loads(sottovoce("demo", "--simulate", "--json", "--seed", 1).stdout)
    assert again["x"] == out["x"]


def test_demo_on_a_terminal_is_animated() -> None:
    pty = pytest.importorskip("pty")  # not on Windows
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "50"}
    command = [sys.executable, "-m", "sottovoce", "demo", "--simulate", "--seed", "1"]
    child = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, env=environment)
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 65536):
            seen += chunk
    except OSError:  # Linux: the other end is closed
        pass
    assert child.wait(timeout=30) == 0
    text = seen.decode()
    assert text.count("now believes") > 10
    assert "█" in text
    assert "iteration    0" in text
    assert "converged" in text


def test_demo_without_the_extra_is_simulated_and_says_so() -> None:
    code = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'websockets' else find(name, *more)\n"
        "import sottovoce.cli.app; sottovoce.cli.app.app(['demo', '--json', '--fast', '--seed', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["parties"] == list(demo_simulated.NAMES)
    assert done.stderr == "A simulation; for ten real processes: pip install 'sottovoce[network]'\n"


def test_demo_with_a_seed_must_be_simulated() -> None:
    result = sottovoce("demo", "--seed", 1)
    assert result.exit_code == 2
    assert "--seed is for --simulate" in result.stderr


# The rest


def test_version_and_help() -> None:
    assert process("--version").stdout == "sottovoce 0.1.0\n"
    assert "Start with:" in sottovoce("--help").stdout
    for command in ("solve", "demo"):
        result = sottovoce(command, "--help")
        assert result.exit_code == 0
        assert "Examples:" in result.stdout
        assert f"sottovoce {command}" in result.stdout
        assert "--json" in result.stdout


def test_an_unknown_command_is_exit_status_2() -> None:
    result = sottovoce("slove")
    assert result.exit_code == 2
    assert "solve" in result.stderr


def test_help_loads_nothing_heavy() -> None:
    """Only what the package itself imports, on top of Typer."""
    code = (
        "import sys, sottovoce; before = set(sys.modules); sys.argv = ['sottovoce', 'solve', '--help']\n"
        "import sottovoce.cli.app\n"
        "try: sottovoce.cli.app.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'rich.live'} & (set(sys.modules) - before)\n"
        "print('heavy:', sorted(heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "heavy: []"
