"""One-way analysis of variance against values that NIST certifies, of the files in ``--outside`` (``anova_nist.py``).

The goal is 13 digits, as for regressions: up to seven leading digits of these responses are constant, which costs
nothing where sums are exact.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from outside import anova_nist, nist

from sottovoce.errors import SottovoceError

GOAL = 13
TODAY = "agreed sums of models have some eleven digits; and a small spread about a large mean is taken for none"


@pytest.mark.parametrize("name", anova_nist.NAMES)
def test_certified_values_are_those_of_the_data(outside, name):
    certified = anova_nist.read(outside, name)
    for quantity, value in certified.exact().items():
        right = nist.rounded(value, root=quantity == "residual deviation")
        assert right == Decimal(certified.values[quantity]), quantity


@pytest.mark.parametrize(
    ("name", "analysis"),
    [
        pytest.param(
            name,
            analysis,
            marks=()
            if analysis == "anova"
            else pytest.mark.xfail(strict=True, reason=TODAY, raises=(AssertionError, SottovoceError)),
        )
        for name in anova_nist.NAMES
        for analysis in anova_nist.ANALYSES
    ],
)
def test_digits(outside, name, analysis):
    found = anova_nist.read(outside, name).digits(analysis)
    assert min(found.values()) >= GOAL, found
