"""Fair terms: every method with its best steps, found on other draws than those that are reported, and at one leakage.

The procedure is the same for all. A method names its candidates; each is played on the draws for tuning, and the best
is kept: of those whose answers are exact the one with the fewest messages, of the noisy ones that with the smallest
error once its noise is such that it leaks as much as all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..pdmm.problem import Problem
from ..privacy.adversary import Adversary
from .base import Leakage, Method

SPAN = 1e-14, 1e10  # times the variance of a secret: noise outside hides nothing, or drowns the data in rounding
CLOSE = 1e-4  # relative, in the parameter that is searched for


@dataclass(frozen=True)
class Target:
    """So many nats of the worst honest node, against this adversary."""

    adversary: Adversary
    prior: float
    nats: float

    def leakage(self, method: Method, problem: Problem) -> Leakage:
        """Of a run with a fixed seed: for most methods, of every run."""
        return method.run(problem, seed=0).leakage(self.adversary, prior=self.prior)


def at_leakage(method: Method, problem: Problem, target: Target) -> Method | None:
    """The method with the smallest value of its ``hides`` at which it leaks at most what the target says; None where
    none does, as below the floor of exact answers."""
    low, high = (float(np.log(target.prior * span)) for span in SPAN)

    def above(log: float) -> float:
        worst = target.leakage(method_with(method, float(np.exp(log))), problem).worst
        return float(np.log(min(max(worst, 1e-300), 1e3) / target.nats))

    if above(high) > 0:
        return None
    found = low if above(low) <= 0 else brentq(above, low, high, xtol=CLOSE)
    return method_with(method, float(np.exp(found)))


def method_with(method: Method, value: float) -> Method:
    """With another value of what it hides by."""
    return changed(method, **{method.hides: value})


def changed(method: Method, **parameters: Any) -> Method:
    """The same method with other parameters, of which it takes those it has."""
    known = {field.name for field in fields(method)}  # type: ignore[arg-type]
    return replace(method, **{name: value for name, value in parameters.items() if name in known})  # type: ignore[type-var]


def tuned(method: Method, problems: Sequence[Problem], target: Target | None = None) -> Method:
    """The best of the method's candidates on these problems; itself where there is nothing to choose, or where none
    comes to its answer."""
    candidates = method.candidates(problems[0])
    if len(candidates) == 1:
        return candidates[0]
    best, record = method, np.inf
    for candidate in candidates:
        if method.noisy and target is not None:
            score = noisy_error(candidate, problems, target)
        else:
            score = rounds(candidate, problems, record)
        if score < record:
            best, record = candidate, score
    return best


def noisy_error(method: Method, problems: Sequence[Problem], target: Target) -> float:
    """The mean error at the target's leakage."""
    found = at_leakage(method, problems[0], target)
    if found is None:
        return float("inf")
    return float(np.mean([found.run(problem, seed=k).error for k, problem in enumerate(problems)]))


def rounds(method: Method, problems: Sequence[Problem], record: float) -> float:
    """To their answers, of all problems together; ``inf`` as soon as the record is not beaten. The candidates of a
    method send as much in a round, so these are its messages."""
    total = 0
    for k, problem in enumerate(problems):
        most = getattr(method, "max_rounds", np.inf)
        left = min(most, record - total)
        if left < 1:
            return float("inf")
        outcome = (changed(method, max_rounds=int(left)) if np.isfinite(left) else method).run(problem, seed=k)
        if not outcome.converged:
            return float("inf")
        total += outcome.traffic.rounds
    return float(total)
