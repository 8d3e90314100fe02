"""What several agreements on the same data give away together: at most the sum.

All agreements on one network have noise of one shape, ``(sigma^2/2) L_h``, times what their mask says. Of a number that
is agreed on again, what is added is ``f(R) = I(S_i; R-fold information | answer)``, half the logarithm of
``1 / (e_i' A^{-1} e_i)`` with ``A`` affine in ``R``: a Schur complement is concave in ``A``, so is its logarithm, and
``f(0) = 0``; hence ``f(R + R') <= f(R) + f(R')``. Different numbers of independent parties add up, and numbers that are
functions of others tell less than fresh ones would (measured: 0.87 to 1.0000 of the sum).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...errors import InvalidInput
from ..methods.leaks import Guarantee
from .report import Report


class Audited(Protocol):
    """A statistic: an audit of it is a report per agreement."""

    def audit(self, **arguments: Any) -> tuple[Report, ...]: ...


def total(statistics: Audited | Sequence[Audited], **arguments: Any) -> Report:
    """One report on all agreements of one statistic, or of several on the same data, against the same adversary.

    Sums of what the results tell and of what the procedure adds, which are upper bounds.

    Parameters
    ----------
    statistics
        What ``private_mean`` and its like return, one or several.
    **arguments
        Of ``audit``. Leave ``prior`` out, and every agreement takes it from its own numbers: a square is not of the
        size of its root.

    Returns
    -------
    Report
        On all of them together.

    Raises
    ------
    InvalidInput
        For agreements on different networks.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> rows = [np.array([1.0, 2.0]), np.array([3.0]), np.array([2.0, 5.0])]
    >>> network = sv.Network.complete(3)
    >>> both = [sv.private_mean(network, rows), sv.private_variance(network, rows)]
    >>> sv.privacy.total(both, corrupt={0}).guarantee
    'upper bound'
    """
    if not isinstance(statistics, Sequence):
        statistics = [statistics]
    for statistic in statistics:
        if not hasattr(statistic, "audit"):
            raise InvalidInput(f"statistics must be results such as that of sv.private_mean; got {statistic!r}.")
    return added([report for statistic in statistics for report in statistic.audit(**arguments)])


def added(reports: Sequence[Report]) -> Report:
    """The sum of reports on one network and one adversary."""
    if not reports:
        raise InvalidInput("there is nothing to add up: give at least one statistic that was computed.")
    first = reports[0]
    for report in reports[1:]:
        if report.network.n != first.network.n or not np.array_equal(report.network.edges, first.network.edges):
            raise InvalidInput(
                "agreements on different networks cannot be added up: together they may cut the parties into smaller "
                "groups than each alone. Use one network for the same data."
            )
    if any(report.noise != first.noise for report in reports):
        raise InvalidInput("agreements with and without local noise, or with different noise, cannot be added up.")
    if len(reports) == 1:
        return first
    guarantee: Guarantee = "none" if any(report.guarantee == "none" for report in reports) else "upper bound"
    flags = {name: sentence for report in reports for name, sentence in report.flags.items()}
    told = [report for report in reports if report.public_answer and not report.published]
    if told and not first.adversary.corrupt and first.coalitions is None:
        flags["counts"] = (
            f"{len(told)} of {len(reports)} agreements are counts under modular pads: over open channels an "
            "eavesdropper learns their exact sums over all nodes, such as the number of rows."
        )
    mu = None
    if all(report.mu is not None for report in reports):
        mu = np.sqrt(sum(report.mu**2 for report in reports if report.mu is not None))
    return Report(
        network=first.network,
        leakage=_sum(reports, "leakage"),
        floor=_sum(reports, "floor"),
        excess=_sum(reports, "excess"),
        prior_std=np.hstack([report.prior_std for report in reports]),
        posterior_std=np.full((first.network.n, sum(report.dim for report in reports)), np.nan),
        method=f"the sum over {len(reports)} agreements: {_listed(report.method for report in reports)}",
        guarantee=guarantee,
        adversary=first.adversary,
        channels=first.channels,
        view=_listed(report.view for report in reports),
        mask=_listed(report.mask for report in reports),
        prior=_prior(reports),
        noise=first.noise,
        flags=flags,
        coalitions=first.coalitions,
        overall=first.overall,
        max_corrupt=first.max_corrupt,
        holds_answer=all(report.holds_answer for report in reports),
        public_answer=all(report.public_answer for report in reports),
        published=all(report.published for report in reports),
        mu=mu,
        mu_bound=any(report.mu_bound for report in reports),
    )


def _sum(reports: Sequence[Report], name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(np.sum([getattr(report, name) for report in reports], axis=0))


def _prior(reports: Sequence[Report]) -> str:
    """The range of the variances, and where they came from."""
    variances = np.concatenate([report.prior_std.ravel() for report in reports]) ** 2
    source = _listed(report.prior.partition(", ")[2] for report in reports)
    return f"Gaussian secrets of variance {variances.min():.4g} to {variances.max():.4g}, each {source}"


def _listed(words: Any) -> str:
    """Each once, in order."""
    return "; ".join(dict.fromkeys(words))
