"""Every case of MIP's validation suite that there is an analysis for (``mip.py``), from the folder of ``--outside``."""

from __future__ import annotations

from pathlib import Path

import pytest
from outside.mip import PLAYERS, Suite, played


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases are those of the folder; without one there is one test, which is skipped."""
    folder = metafunc.config.getoption("--outside")
    if "case" not in metafunc.fixturenames:
        return
    if folder is None:
        metafunc.parametrize("case", [None], ids=["all"])
        return
    suite = Suite(Path(folder) / "mip")
    cases = [case for name in suite.algorithms if name in PLAYERS for case in suite.cases(name)]
    metafunc.parametrize("case", [pytest.param(case, id=f"{case.algorithm}-{case.number}") for case in cases])


def test_a_case(outside, case):
    verdict, gap, where = played(case)
    assert verdict == "pass", (verdict, gap, where)


def test_nothing_new_is_left_out(outside):
    """Whoever adds an analysis plays its cases too."""
    without = set(Suite(outside / "mip").algorithms) - set(PLAYERS)
    assert {name.split("_")[-1] for name in without} == {"cv", "predict", "kmeans", "scikit"}
