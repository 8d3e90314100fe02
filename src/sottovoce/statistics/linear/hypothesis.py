"""Tests of hypotheses, from their statistics."""

from __future__ import annotations

from typing import NamedTuple


class Test(NamedTuple):
    """Of a hypothesis: the statistic, its probability if the hypothesis is true, and its degrees of freedom, of an F
    test those of the residuals as well."""

    statistic: float
    pvalue: float
    df: int
    df_resid: int | None = None


def f_ratio(statistic: float, df: int, df_resid: int) -> Test:
    """Against Fisher's distribution."""
    from scipy import special

    return Test(statistic, float(special.fdtrc(df, df_resid, statistic)), df, df_resid)


def chi_squared(statistic: float, df: int) -> Test:
    """Against the chi-squared distribution."""
    from scipy import special

    return Test(statistic, float(special.chdtrc(df, statistic)), df)
