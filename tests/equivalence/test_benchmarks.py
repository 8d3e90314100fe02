"""The benchmarks run; their figures are for people, and no test depends on them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("c++") is None, reason="the benchmarks build a C++ twin of the kernels")
def test_benchmarks_run(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(tmp_path / "out.json")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert {row["group"] for row in rows} >= {
        "native",
        "roof",
        "node-space",
        "numpy",
        "solve",
        "import",
        "auto",
        "pairs",
        "kinked",
        "batch",
        "messages",
        "reading",
    }
