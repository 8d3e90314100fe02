"""Every case of MIP's validation suite that there is an analysis for (``mip.py``), from the folder of ``--outside``."""

from __future__ import annotations

from pathlib import Path

import pytest
from outside.mip import PLAYERS, Suite, played

# Of Gaussian pads: what is compared here are answers.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

RANK = "columns of deficient rank, also of levels without rows, are refused and not dropped; there is no type I"
TODAY = {
    "anova": {number for number in range(25) if number != 8},
    "linear_regression": {1, 3, 15, 18, 27, 38, 45, 47, 48},
    "logistic_regression": {20},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases are those of the folder; without one there is one test, which is skipped."""
    folder = metafunc.config.getoption("--outside")
    if "case" not in metafunc.fixturenames:
        return
    if folder is None:
        metafunc.parametrize("case", [None], ids=["all"])
        return
    suite = Suite(Path(folder) / "mip")
    metafunc.parametrize(
        "case",
        [
            pytest.param(
                case,
                marks=pytest.mark.xfail(strict=True, reason=RANK, raises=AssertionError)
                if case.number in TODAY.get(algorithm, ())
                else (),
                id=f"{algorithm}-{case.number}",
            )
            for algorithm in suite.algorithms
            if algorithm in PLAYERS
            for case in suite.cases(algorithm)
        ],
    )


def test_a_case(outside, case):
    verdict, gap, where = played(case)
    assert verdict == "pass", (verdict, gap, where)


def test_nothing_new_is_left_out(outside):
    """Whoever adds an analysis plays its cases too."""
    without = set(Suite(outside / "mip").algorithms) - set(PLAYERS)
    assert {name.split("_")[-1] for name in without} == {"cv", "predict", "kmeans", "scikit"}
