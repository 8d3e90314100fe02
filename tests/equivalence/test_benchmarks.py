"""The benchmarks run; their figures are for people, and no test depends on them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from picture_faults import faults, shown_texts

ROOT = Path(__file__).parents[2]


def test_the_cpu_is_stated(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.measure import cpu

    amd = """processor : 0
cpu family : 26
model : 2
model name : AMD EPYC
stepping : 1
flags : fpu sse4_2 avx fma avx2 avx512f avx512dq

processor : 1
cpu family : 27
model name : another
"""
    assert cpu(amd)["cpu"] == "AMD EPYC (family 26, model 2, stepping 1)"
    assert cpu(amd)["vectors"] == "sse4_2 avx avx2 fma avx512f avx512dq"
    assert cpu("Features : fp asimd\n")["vectors"] == "asimd"
    assert cpu("")["cpu"]  # systems without /proc


@pytest.mark.skipif(shutil.which("c++") is None, reason="the benchmarks build a C++ twin of the kernels")
def test_benchmarks_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.__main__ import BENCHMARKS

    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(tmp_path / "out.json")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    report = json.loads((tmp_path / "out.json").read_text())
    rows = report["rows"]
    assert {"cpu", "vectors", "code for", "cores", "load"} <= set(report["machine"])
    assert [*dict.fromkeys(row["group"] for row in rows)] == [*BENCHMARKS]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read there")
def test_growth_curves_are_measured_and_drawn(tmp_path):
    command = [sys.executable, "-m", "benchmarks.growth", "--quick", "--json", "out.json", "--picture", "out.png"]
    command[-3], command[-1] = str(tmp_path / "out.json"), str(tmp_path / "out.png")
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    curves = json.loads((tmp_path / "out.json").read_text())["curves"]
    assert [(curve["series"], len(curve["points"]), curve["stopped"]) for curve in curves] == [
        ("asynchronous", 2, ""),
        ("NumPy", 2, ""),
    ]
    assert all(point["ns"] > 0 and point["bytes"] > 0 for curve in curves for point in curve["points"])
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_growth_can_be_read(monkeypatch):
    """That of the page, and with curves of another machine beside."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.growth.picture import draw

    found = json.loads((ROOT / "benchmarks" / "results" / "growth.json").read_text())
    first = found["curves"][0]
    points = [{**point, "ns": point["ns"] / 30, "bytes": point["bytes"] / 3} for point in first["points"]]
    other = [{**first, "series": "GPU, synchronous", "points": points}]
    for figure in (draw(found, []), draw(found, other)):
        assert faults(figure) == []
        names = {text.get_text() for text in shown_texts(figure)}
        assert {curve["series"] for curve in found["curves"] if curve["points"]} <= names
