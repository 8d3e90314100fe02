"""One-way analysis of variance against values that NIST certifies, of the files in ``--outside`` (``anova_nist.py``).

The goal is 13 digits, as for regressions: up to seven leading digits of these responses are constant, which costs
nothing where sums are exact.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from outside import anova_nist, nist

GOAL = 13


@pytest.mark.parametrize("name", anova_nist.NAMES)
def test_certified_values_are_those_of_the_data(outside, name):
    certified = anova_nist.read(outside, name)
    for quantity, value in certified.exact().items():
        right = nist.rounded(value, root=quantity == "residual deviation")
        assert right == Decimal(certified.values[quantity]), quantity


@pytest.mark.parametrize("analysis", anova_nist.ANALYSES)
@pytest.mark.parametrize("name", anova_nist.NAMES)
def test_digits(outside, name, analysis):
    found = anova_nist.read(outside, name).digits(analysis)
    assert min(found.values()) >= GOAL, found
