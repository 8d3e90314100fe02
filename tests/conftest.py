"""Fixtures that several tests share. Seeds are fixed; every tolerance says where it comes from."""

from __future__ import annotations

import os

# Two workers share two cores: threads of the linear algebra would wait for each other. Before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Parties are processes: where this is set, each of them would compile all of the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Refused handshakes are what many tests are about, and gRPC would print each of them. Before it is loaded.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import shutil
from typing import Any

import numpy as np
import pytest

import sottovoce as sv


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it loudly where the pages of the studio were seen by no browser."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/browser/" in report.nodeid]
    if skipped:
        there = "a browser is there" if shutil.which("chromium") else "install it: apt-get install chromium"
        reasons = sorted({str(report.longrepr[-1]) for report in skipped})
        terminalreporter.write_sep("!", "THE STUDIO WAS NOT SEEN IN A BROWSER", red=True)
        terminalreporter.write_line(f"{len(skipped)} browser tests were skipped ({there}): {'; '.join(reasons)}")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def network() -> sv.Network:
    return sv.Network.random_geometric(12, seed=4)
