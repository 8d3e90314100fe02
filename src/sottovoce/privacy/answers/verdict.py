"""The verdict on a run, in one word and in one line."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput, is_number

if TYPE_CHECKING:
    from .report import Report

DELTA = 0.01  # nats added by the procedure up to which a run is called safe: an interval 1 % narrower
LEFT = 0.01  # of an attacker's interval: with less than that left, a value is disclosed in effect


class Verdict(StrEnum):
    """What to think of a run; ``Report.verdict`` gives it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> sv.privacy.audit(problem, mask=None, corrupt={0}).verdict() is sv.privacy.Verdict.DISCLOSED
    True
    """

    SAFE = "safe"
    WEAK = "weak"
    DISCLOSED = "disclosed"
    NOT_ASSESSED = "not assessed"


def verdict(report: Report, delta: float = DELTA) -> Verdict:
    """``disclosed``: of somebody all is known, or (where the numbers are exact) less than 1 % of the interval is left,
    whatever told it. ``not assessed``: there is no guarantee. ``weak``: the procedure adds more than ``delta`` nats, or
    the data contradict the prior. Else ``safe``."""
    if not (is_number(delta) and 0 < delta < math.inf):
        raise InvalidInput(f"delta must be a positive number of nats; got {delta!r}.")
    if disclosed(report).any():
        return Verdict.DISCLOSED
    if report.guarantee == "none":
        return Verdict.NOT_ASSESSED
    if most(report.excess) > delta or "prior" in report.flags:
        return Verdict.WEAK
    return Verdict.SAFE


def disclosed(report: Report) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Who is, exactly or in effect: by the view, or by the answer that it leads to, or by both."""
    told = np.fmax(np.fmax(report.leakage, report.floor), report.excess)
    in_effect = told / report.dim > -math.log(LEFT) if report.guarantee == "exact" else np.zeros(len(told), dtype=bool)
    return np.asarray(np.isinf(told) | in_effect)


def headline(report: Report, delta: float = DELTA) -> str:
    """The verdict in one line."""
    honest = report.network.n - len(report.adversary.corrupt)
    parties = f"{honest} honest parties" if report.adversary.corrupt else f"{honest} parties"
    found, who = verdict(report, delta), disclosed(report)
    if found is Verdict.DISCLOSED:
        if report.exposed:
            worst = ", if the worst of the others are corrupt" if report.coalitions is not None else ""
            what = "by an attack, data of " if report.guarantee == "none" else ""
            return f"DISCLOSED: {what}{len(report.exposed)} of {parties}{worst}"
        if later := len(report.doomed):  # the view ends before the answer is there
            return f"DISCLOSED LATER: nobody yet; the answer will disclose {later} of {parties}"
        return (
            f"DISCLOSED in effect: of {int(who.sum())} of {parties} less than {100 * LEFT:g} % of the interval is left"
        )
    if found is Verdict.NOT_ASSESSED:
        return "NOT ASSESSED: there is no guarantee"
    least = "" if report.guarantee == "exact" else "at most "
    adds = f"the procedure adds {least}{most(report.excess):.2g} nats to what the result tells"
    if found is Verdict.SAFE:
        return f"SAFE: nobody is disclosed; {adds}"
    if most(report.excess) > delta:
        return f"WEAK: nobody is disclosed, but {adds}, more than {delta:g}"
    return f"WEAK: {adds} if the prior is right, but the data are larger than it says"


def most(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The largest, of those that are known."""
    known = values[~np.isnan(values)]
    return float(known.max(initial=0.0))
