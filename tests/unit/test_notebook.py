"""What a person sees while a run goes on: in a notebook, with a real kernel, and on a terminal."""

from __future__ import annotations

import importlib.util
import time

import pytest

import sottovoce as sv
from sottovoce.pdmm.compiling import WORDS

CELLS = [
    "import sottovoce as sv\n"
    "import sottovoce.pdmm.progress as progress\n"
    "progress.APPEAR, progress.REFRESH = -1.0, 0.0\n"  # seconds after which a bar appears, and is drawn again
    "network = sv.Network.ring(4).with_labels(['Ada', 'Bob', 'Cid', 'Eve'])\n"
    "problem = sv.averaging(network, [1, 2, 3, 6])\n"
    "network",
    "problem",
    "sv.solve(problem, c=0.5, theta=0.05)",
    "sv.solve(problem, c=0.5, theta=0.05, progress=False)",
    "sv.solve(problem, c=0.5, tol=0, max_iter=3, record=[sv.Transcript()]).history['transcript']",
]


def test_a_notebook_shows_tables_and_progress():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    heard: list[tuple[int, str, str]] = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, cell, cell_index):
            data = message["content"].get("data", {})
            heard.append((cell_index, message["msg_type"], data.get("text/html", "")))
            return super().process_message(message, cell, cell_index)

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
    Client(book, timeout=60, kernel_name="python3").execute()
    shown = [[output for output in cell.outputs if output.output_type != "stream"] for cell in book.cells]
    assert not [output for cell in book.cells for output in cell.outputs if output.output_type == "stream"]
    for outputs, words in zip(
        shown, ("Ada, Bob, Cid, Eve", "Averaging at 4 nodes", "converged", "converged", "24 messages"), strict=True
    ):
        assert words in outputs[-1].data["text/html"]
    bars = [html for cell, kind, html in heard if cell == 2 and kind in ("display_data", "update_display_data")]
    assert len(bars) > 2
    assert all("<progress" in html and "iterations" in html for html in bars[:-1])
    assert "residual" in bars[-2]
    assert bars[-1] == ""  # and then it goes
    assert not [kind for cell, kind, _ in heard if cell == 3 and "display_data" in kind]


class Calls(sv.recorders.Recorder):
    """Calls a kernel, and takes the time of the first call."""

    name = "calls"

    def __init__(self, kernel):
        self.kernel, self.took = kernel, 0.0

    def __call__(self, run):
        started = time.perf_counter()
        value = self.kernel(1.0)
        self.took = self.took or time.perf_counter() - started
        return value


@pytest.fixture
def kernel(tmp_path):
    """Makes a kernel that is cached, anew each time, as another process would."""
    path = tmp_path / "kernel_of_mine.py"
    path.write_text("import numba\n\n\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n")

    def make():
        spec = importlib.util.spec_from_file_location("kernel_of_mine", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return make


def test_compiling_is_said_once_and_not_counted(kernel, capsys):
    problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    sv.solve(problem, c=0.5)  # whatever a run itself compiles
    said = []
    for progress, cached in ((True, False), (True, True)):
        recorder, started = Calls(kernel()), time.perf_counter()
        result = sv.solve(problem, c=0.5, record=[recorder], progress=progress)
        elapsed = time.perf_counter() - started
        assert recorder.kernel.stats.cache_hits.total() == cached
        assert result.wall_time < elapsed - 0.5 * recorder.took  # a part of it goes without the compiler's lock
        said.append(capsys.readouterr().err.count(WORDS))
    assert said == [1, 0]  # what is in the cache is not compiled


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_said_where_nobody_looks(kernel, capsys, progress):
    recorder = Calls(kernel())
    sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), c=0.5, record=[recorder], progress=progress)
    assert recorder.kernel.stats.cache_misses.total() == 1
    assert capsys.readouterr().err == ""
