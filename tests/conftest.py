"""Fixtures that several tests share. Seeds are fixed; every tolerance says where it comes from."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
from collections.abc import Iterator
from typing import Any

# Workers share two cores: threads of the linear algebra would wait for each other. Before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Parties are processes: where this is set, each of them would compile all of the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

import sottovoce as sv

# Ten thousand tests are many objects, all of which stay: they are not looked through again while tests are collected,
# nor afterwards.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--outside",
        metavar="FOLDER",
        default=os.environ.get("SOTTOVOCE_OUTSIDE"),
        help="a folder with data and expected values of others, nist/ and mip/, which are not in this repository",
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say loudly what was not seen: the pages of the studio by no browser, and data that lie elsewhere."""
    every_skipped = terminalreporter.stats.get("skipped", [])
    if unread := [report for report in every_skipped if "tests/outside/" in report.nodeid]:
        terminalreporter.write_sep("!", "DATA AND EXPECTED VALUES OF OTHERS WERE NOT READ", red=True)
        terminalreporter.write_line(f"{len(unread)} tests of tests/outside were skipped: pytest --outside FOLDER")
    skipped = [report for report in every_skipped if "tests/browser/" in report.nodeid]
    if skipped:
        there = "a browser is there" if shutil.which("chromium") else "install it: apt-get install chromium"
        reasons = sorted({str(report.longrepr[-1]) for report in skipped})
        terminalreporter.write_sep("!", "THE STUDIO WAS NOT SEEN IN A BROWSER", red=True)
        terminalreporter.write_line(f"{len(skipped)} browser tests were skipped ({there}): {'; '.join(reasons)}")


@pytest.fixture(autouse=True, scope="session")
def _kernels_are_compiled_once(tmp_path_factory) -> Iterator[None]:
    """By the first worker that needs one; the others wait, and find it in Numba's cache. Without this, several of them
    compile the same kernel at the same time wherever the cache is empty."""
    folder, held, compile_ = tmp_path_factory.getbasetemp().parent, set[str](), Dispatcher.compile

    def compiled(kernel: Dispatcher, signature: Any) -> Any:
        name = f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}.lock"
        # The lock between threads comes first, as whoever has it may need a kernel that calls this one.
        with global_compiler_lock, open(folder / name, "w") as lock:
            if name in held:
                return compile_(kernel, signature)
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
            held.add(name)
            try:
                return compile_(kernel, signature)
            finally:
                held.remove(name)

    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:  # else the folder is not one of this run
            patch.setattr(Dispatcher, "compile", compiled)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def network() -> sv.Network:
    return sv.Network.random_geometric(12, seed=4)
