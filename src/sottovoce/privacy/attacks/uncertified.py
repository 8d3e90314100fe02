"""What the machinery cannot certify: no guarantee, and the attacks that we have, played (theory: Public gradients)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...costs import LeastSquares
from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...network.names import labels
from ...pdmm.local_noise import LocalNoise
from ...pdmm.masks import GaussianMask, UniformMask
from ...pdmm.modular_mask import ModularMask
from ...pdmm.problem import Problem
from ..adversary import Adversary, Channels
from ..answers.report import Report
from ..methods.case import Setting, describe_mask
from ..methods.correlated_pads import CorrelatedPads
from ..methods.secrets_and_prior import secrets_of
from .edge_attack import WAKES, hessians_on_edges, plans_of
from .kink_attack import RecoveredKinks, has_kinks, kinks_in_traffic, kinks_on_edges
from .recorded_transcript import RecordedTranscript, overhear
from .row_attack import RecoveredRows, is_logistic, rows_in_traffic
from .traffic import RecoveredGradients, RecoveredHessians, gradients_in_traffic, recover_hessians
from .uniform_attack import uniform_attack

Hessians = Literal["private", "public"]

ATTACKED = 200  # nodes up to which an attack is played for the report
OVERHEARD = 40  # wakes of each node that are listened to over open channels: times d + 1 for Hessians
MESSAGES = 60_000  # that are listened to at most: seconds
CORRUPT = 20  # nodes that are tried as the corrupt one where it may be any
ROUNDING = 1e-12  # relative difference up to which two Hessians are one
NAMED = 3  # parties of whom a sentence says what was recovered
CURE = (
    "Agree on the sufficient statistics instead: sv.private_linear, or the statistic linear of a plan, "
    "is exact, and reveals sums only."
)
NO_GUARANTEE = "That is no guarantee."


def uncertified(
    problem: Problem,
    mask: Any,
    adversary: Adversary,
    channels: Channels,
    setting: Setting,
    prior: npt.ArrayLike,
    hessians: Hessians = "private",
    max_corrupt: int | None = None,
    noise: LocalNoise | None = None,
) -> Report | None:
    """A report without a guarantee, or None where there is a certificate."""
    n, width = problem.network.n, max(1, int(problem.dims[0]))
    report: dict[str, Any] = {
        "network": problem.network,
        "prior_std": np.full((n, width), np.nan),
        "posterior_std": np.full((n, width), np.nan),
        "guarantee": "none",
        "adversary": adversary,
        "channels": channels,
        "view": setting.describe(),
        "prior": "any secrets",
        "mask": describe_mask(mask, noise=noise),
        "noise": noise,
        "floor": np.full(n, np.nan),
    }
    coalitions: list[Collection[int]] = [adversary.corrupt] if adversary.corrupt else []
    if max_corrupt:  # whoever it is: one alone shows what a worst coalition shows at least
        coalitions = [frozenset([j]) for j in _best_placed(problem)]
    tapped = adversary.sees_all(channels)
    if problem.consensus and problem.quadratic is not None:
        if isinstance(mask, UniformMask) and not _data_in_hessians(problem, hessians):
            missing = np.full(n, np.nan)
            return _uniform(problem, mask, adversary, prior, report | {"leakage": missing, "excess": missing})
        if not _data_in_hessians(problem, hessians) or not (tapped or coalitions or _is_regression(problem)):
            return None
    attack, silent = None, _unplayed(problem, mask, setting, tapped, coalitions)
    if not silent:
        attack = _played(setting.problem, mask, setting, tapped, coalitions)
        silent = "" if attack is not None else _unfit(tapped)
    disclosed = np.full(n, np.nan)
    disclosed[_disclosed(attack, adversary.corrupt, n)] = np.inf
    by = "attack on public traffic" if tapped else "attack from a corrupt node's own edges"
    return Report(
        method="no attack was played" if attack is None else by,
        flags=dict([_flag(problem, attack, silent, tapped, adversary.corrupt)]),
        attack=attack,
        leakage=disclosed,
        excess=disclosed.copy(),
        **report,
    )


def check_hessians(hessians: Hessians) -> None:
    """Refuse other words."""
    if hessians not in ("private", "public"):
        raise InvalidInput(f"hessians must be 'private' or 'public'; got {hessians!r}.")


def is_certifiable(problem: Problem, hessians: Hessians = "private") -> None:
    """Refuse what has no certificate."""
    if problem.quadratic is None or not problem.consensus:
        raise Unsupported(f"no certificate exists for {problem!r}: quadratic costs and consensus are needed.")
    if not _data_in_hessians(problem, hessians):
        return
    if _is_regression(problem):
        raise Unsupported("no mask makes a regression private: traffic shows every A_i'A_i. " + CURE)
    raise Unsupported(
        "no mask hides Hessians, and these differ from node to node: traffic shows each of them. If they are no "
        "secret, say hessians='public'."
    )


def _is_regression(problem: Problem) -> bool:
    return any(isinstance(cost, LeastSquares) for _, cost in problem.groups)


def _data_in_hessians(problem: Problem, hessians: Hessians) -> bool:
    """Whether Hessians are data: then masking ``z(0)`` cannot be private, whatever the mask.

    Those of a regression are, and others where they differ from node to node. A caller may say that they are public.
    """
    if hessians == "public" or problem.quadratic is None:
        return False
    Q = problem.quadratic.Q
    return _is_regression(problem) or bool(np.abs(Q - Q[0]).max() > ROUNDING * np.abs(Q).max())


def _unplayed(
    problem: Problem, mask: Any, setting: Setting, tapped: bool, coalitions: Collection[Collection[int]]
) -> str:
    """Why no attack is played, or nothing."""
    if not (tapped or coalitions):
        return "Nobody is corrupt, and no channel is tapped: nothing is seen."
    if problem.network.n > ATTACKED:
        return f"Attacks are played for up to {ATTACKED} nodes; this network has {problem.network.n}. {NO_GUARANTEE}"
    if isinstance(mask, CorrelatedPads | ModularMask):
        return f"Attacks are not played against {describe_mask(mask)}. {NO_GUARANTEE}"
    if setting.schedule.late:
        return f"Attacks are not played where messages are late. {NO_GUARANTEE}"
    return ""


def _unfit(tapped: bool) -> str:
    """What is said where none of the attacks fits."""
    if tapped:
        return f"No attack of ours fits these costs. {NO_GUARANTEE}"
    return (
        "A corrupt neighbour knows x_i at every wake of i, and its own part of what pulls on it; no attack of ours "
        f"makes more of that here. {NO_GUARANTEE}"
    )


def _best_placed(problem: Problem) -> list[int]:
    """Those whose neighbours have fewest others to hear from: an attack from own edges gets most out of them."""
    degrees, network = problem.network.degrees, problem.network
    order = sorted(range(network.n), key=lambda j: (int(degrees[network.around(j)].min()), j))
    return order[:CORRUPT]


def _played(problem: Problem, mask: Any, setting: Setting, tapped: bool, coalitions: list[Collection[int]]) -> Any:
    """The attack that fits problem, adversary and channels, on one run; None where none does."""
    hessians = problem.quadratic is not None and (problem.consensus or not tapped)
    if not tapped and not (hessians or has_kinks(problem)):
        return None
    wakes = 4 * (problem.dim + 1) if tapped and hessians else OVERHEARD if tapped else WAKES
    wakes = min(wakes, max(problem.dim + 1, MESSAGES // (2 * problem.network.m)))
    transcript, pads = overhear(
        problem, schedule=setting.schedule, theta=setting.theta, c=setting.c, mask=mask or GaussianMask(1.0),
        seed=setting.seed, wakes=wakes, iterations=setting.iterations,
    )  # fmt: skip
    if not tapped:
        return _on_edges(problem, setting, transcript, pads, coalitions, hessians)
    if hessians:
        return recover_hessians(transcript)
    attack: Any = None
    if has_kinks(problem):
        attack = kinks_in_traffic(problem, transcript, pads, coalitions[0] if coalitions else ())
    elif is_logistic(problem):
        attack = rows_in_traffic(problem, transcript, coalitions[0] if len(coalitions) == 1 else ())
    if attack is not None and attack.found.any():
        return attack
    return gradients_in_traffic(problem, transcript, pads)


def _on_edges(
    problem: Problem,
    setting: Setting,
    transcript: RecordedTranscript,
    pads: Array,
    coalitions: Iterable[Collection[int]],
    hessians: bool,
) -> Any:
    if not hessians:
        return kinks_on_edges(problem, transcript, pads, coalitions)
    try:
        known = plans_of(setting.schedule)
    except Unsupported:
        return None
    return hessians_on_edges(transcript, coalitions, known)


def _disclosed(attack: Any, corrupt: Collection[int], n: int) -> npt.NDArray[np.bool_]:
    """Of whom the attack has taken something exactly."""
    honest = ~np.isin(np.arange(n), list(corrupt))
    if isinstance(attack, RecoveredHessians):
        return honest & np.isfinite(attack.residuals)
    if isinstance(attack, RecoveredKinks):
        return honest & attack.found & (not attack.shifted)
    return honest & (attack.found if isinstance(attack, RecoveredRows) else False)


def _flag(problem: Problem, attack: Any, silent: str, tapped: bool, corrupt: Collection[int]) -> tuple[str, str]:
    """Its name, and what is wrong, with what the attack recovered in units of data."""
    told = f" {silent}" if silent else f" {_told(problem, attack, tapped, corrupt)}"
    if _is_regression(problem):
        why = (
            "gradient differences are public, so every A_i'A_i follows from the messages, at any variance of the mask; "
            "only A_i'b_i is masked."
            if tapped
            else "masking z(0) hides the constant of a gradient and nothing else, and a regression has data in its "
            "Hessian."
        )
        return "regression", f"NOT PRIVATE: {why}{told} {CURE}"
    if problem.quadratic is not None and problem.consensus:
        return "hessians", (
            "Hessians differ from party to party, and no mask hides them: how a gradient changes with x shows, and "
            "with it what the Hessian was made of, such as numbers of rows (a mean over rows has Q = 2 x rows), or A'A."
            f'{told} If they are no secret, say hessians="public" (--public-hessians): then what is masked, the linear '
            "terms, is certified."
        )
    families = ", ".join(sorted({type(cost).__name__ for _, cost in problem.groups}))
    what = families if problem.consensus else f"{families} under general edge constraints"
    return "not quadratic", (
        f"No certificate exists for {what}: masking z(0) hides the constant of a node's gradient, and how the gradient "
        f"changes {'is public' if tapped else 'is not masked'}.{told}"
    )


def _told(problem: Problem, attack: Any, tapped: bool, corrupt: Collection[int]) -> str:
    """What an attack recovered of the honest nodes."""
    if isinstance(attack, RecoveredGradients):
        changed = attack.ranges.max(initial=0.0) > 0
        return (
            f"The attack: {attack.sentence(name=problem.network.name)}"
            if changed
            else f"In what was seen no gradient changed. {NO_GUARANTEE}"
        )
    where = "" if tapped else ", from own edges alone,"
    if isinstance(attack, RecoveredKinks | RecoveredRows):
        told = f"The attack{where.rstrip(',')}: {attack.sentence(problem)}."
        return told if attack.found.any() else f"{told} {NO_GUARANTEE}"
    assert isinstance(attack, RecoveredHessians)
    error = attack.errors(problem)
    error[list(corrupt)] = np.nan
    known = np.flatnonzero(np.isfinite(error))
    if not len(known):
        needs = "enough wakes of a node" if tapped else "wakes of a node between which nobody else had news for it"
        return f"The attack{where} found none in this run: it needs {needs}. {NO_GUARANTEE}"
    kind = "A_{0}'A_{0}" if _is_regression(problem) else "Q_{0}"
    names = [problem.network.name(i) for i in known[:NAMED]]
    some = ", ".join(_shown(kind.format(name), attack.matrices[i]) for name, i in zip(names, known, strict=False))
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return (
        f"The attack{where} recovered {len(known)} of {len(error) - len(corrupt)} matrices, the worst "
        f"to a relative error of {np.nanmax(error):.1e}: {some}{more}."
    )


def _shown(name: str, Q: Array) -> str:
    """A number is shown; a matrix is named."""
    multiple = np.abs(Q - Q[0, 0] * np.eye(len(Q))).max() <= 1e-6 * np.abs(Q).max()
    return f"{name} = {Q[0, 0]:.6g}" if name.startswith("Q") and multiple else name


def _uniform(
    problem: Problem, mask: UniformMask, adversary: Adversary, prior: npt.ArrayLike, report: dict[str, Any]
) -> Report:
    """Uniform pads: sum and difference are not independent, and no closed form holds."""
    attack, told = None, ""
    secrets = secrets_of(problem, prior)
    honest = [i for i in range(problem.network.n) if i not in adversary.corrupt]
    if adversary.corrupt and secrets.width == 1 and secrets.K.ndim == 1:
        around = [len(set(problem.network.around(i).tolist()) - adversary.corrupt) for i in honest]
        node = honest[int(np.argmin(around))]
        variance, prior_variance = mask.variance, float(secrets.K[node])
        network = problem.network
        whom: Any = {"corrupt": labels(network, adversary.corrupt), "node": network.label(node)}
        attack = uniform_attack(secrets.problem, variance=variance, prior_variance=prior_variance, seed=0, **whom)
        told = f" {attack}"
    flags = {
        "uniform": "Uniform pads have no certificate, and are worse than Gaussian ones of the same variance: the "
        f"difference of an edge's pads, which traffic shows, narrows down their sum.{told} Use GaussianMask."
    }
    return Report(method="attack on the differences of pads", flags=flags, attack=attack, **report)
