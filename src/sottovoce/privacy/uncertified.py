"""What the machinery cannot certify: no guarantee, and the best attack we have (THEORY, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs import LeastSquares
from ..errors import Unsupported
from ..masks import GaussianMask, UniformMask
from ..modular import ModularMask
from ..problem import Problem
from .adversary import Adversary, Channels
from .attacks import gradient_attack, regression_attack
from .case import Setting, describe_mask
from .pads import CorrelatedPads
from .report import Report
from .secrets import secrets_of
from .uniform import uniform_attack

ATTACKED = 200  # nodes up to which an attack is played for the report
CURE = "Agree on the sufficient statistics instead: sv.private_least_squares is exact, and reveals sums only."


def uncertified(
    problem: Problem, mask: Any, adversary: Adversary, channels: Channels, setting: Setting, prior: npt.ArrayLike
) -> Report | None:
    """A report without a guarantee, or None where there is a certificate."""
    n = problem.network.n
    report = {
        "network": problem.network,
        "prior_std": np.full((n, max(1, int(problem.dims[0]))), np.nan),
        "posterior_std": np.full((n, max(1, int(problem.dims[0]))), np.nan),
        "guarantee": "none",
        "adversary": adversary,
        "channels": channels,
        "view": setting.describe(),
        "prior": "any secrets",
    }
    missing = np.full(n, np.nan)
    none = {"leakage": missing, "floor": missing, "excess": missing}
    report["mask"] = describe_mask(mask)
    if isinstance(mask, UniformMask) and problem.quadratic is not None and not _is_regression(problem):
        return _uniform(problem, mask, adversary, prior, report | none)
    if problem.consensus and problem.quadratic is not None and not _is_regression(problem):
        return None
    tapped = adversary.sees_all(channels)
    played = None
    if n <= ATTACKED and tapped and not isinstance(mask, CorrelatedPads | ModularMask):
        attack: Any = regression_attack if _is_regression(problem) else gradient_attack
        arguments = {"schedule": setting.schedule, "theta": setting.theta, "c": setting.c, "seed": setting.seed}
        played = attack(problem, mask=mask or GaussianMask(1.0), **arguments)
    if _is_regression(problem):
        return _regression(problem, adversary, tapped, played, report, none)
    return _other(problem, tapped, played, report | none)


def is_certifiable(problem: Problem) -> None:
    """Refuse what has no certificate."""
    if _is_regression(problem):
        raise Unsupported("no mask makes a regression private: traffic shows every A_i'A_i. " + CURE)
    if problem.quadratic is None or not problem.consensus:
        raise Unsupported(f"no certificate exists for {problem!r}: quadratic costs and consensus are needed.")


def _is_regression(problem: Problem) -> bool:
    """Whether Hessians are data: then masking ``z(0)`` cannot be private, whatever the mask."""
    return any(isinstance(cost, LeastSquares) for _, cost in problem.groups)


def _regression(
    problem: Problem, adversary: Adversary, tapped: bool, attack: Any, report: dict[str, Any], none: dict[str, Any]
) -> Report:
    if not tapped:
        flags = {
            "regression": "NOT PRIVATE: masking z(0) hides the constant of a gradient and nothing else, and a "
            "regression has data in its Hessian. Over encrypted channels we know of no attack, and of no guarantee. "
            + CURE
        }
        return Report(method="no attack implemented for these channels", flags=flags, **report, **none)
    honest = ~np.isin(np.arange(problem.network.n), list(adversary.corrupt))
    disclosed = np.where(honest, np.inf, np.nan)
    told = ""
    if attack is not None:
        error = attack.errors(problem)
        told = (
            f" The attack recovered {int(np.isfinite(error).sum())} of {len(error)} matrices A_i'A_i, the worst to a "
            f"relative error of {np.nanmax(error):.1e}."
        )
        disclosed = np.where(honest & ~np.isfinite(error), np.nan, disclosed)
    flags = {
        "regression": "NOT PRIVATE: gradient differences are public, so every A_i'A_i follows from the messages, "
        f"at any variance of the mask; only A_i'b_i is masked.{told} {CURE}"
    }
    numbers = {"leakage": disclosed, "floor": none["floor"], "excess": disclosed}
    return Report(method="attack on public traffic", flags=flags, attack=attack, **report, **numbers)


def _other(problem: Problem, tapped: bool, attack: Any, report: dict[str, Any]) -> Report:
    families = ", ".join(sorted({type(cost).__name__ for _, cost in problem.groups}))
    what = families if problem.consensus else f"{families} under general edge constraints"
    told = "" if tapped else " Over encrypted channels we know of no attack either."
    if attack is not None:
        i = int(np.argmax(attack.points))
        told = f" The attack: {attack.sentence(i)}"
    flags = {
        "not quadratic": f"No certificate exists for {what}: masking z(0) hides the constant of a node's gradient, and "
        f"how the gradient changes is public.{told}"
    }
    method = "attack on public traffic" if attack is not None else "no attack implemented for this case"
    return Report(method=method, flags=flags, attack=attack, **report)


def _uniform(
    problem: Problem, mask: UniformMask, adversary: Adversary, prior: npt.ArrayLike, report: dict[str, Any]
) -> Report:
    """Uniform pads: sum and difference are not independent, and no closed form holds."""
    attack, told = None, ""
    secrets = secrets_of(problem, prior)
    honest = [i for i in range(problem.network.n) if i not in adversary.corrupt]
    if adversary.corrupt and secrets.width == 1 and secrets.K.ndim == 1:
        around = [len(set(problem.network.neighbours(i).tolist()) - adversary.corrupt) for i in honest]
        node = honest[int(np.argmin(around))]
        variance, prior_variance = mask.variance, float(secrets.K[node])
        whom: Any = {"corrupt": adversary.corrupt, "node": node}
        attack = uniform_attack(secrets.problem, variance=variance, prior_variance=prior_variance, seed=0, **whom)
        told = f" {attack}"
    flags = {
        "uniform": "Uniform pads have no certificate, and are worse than Gaussian ones of the same variance: the "
        f"difference of an edge's pads, which traffic shows, narrows down their sum.{told} Use GaussianMask."
    }
    return Report(method="attack on the differences of pads", flags=flags, attack=attack, **report)
