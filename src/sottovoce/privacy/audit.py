"""The auditor: what does each party give away, to whom, by which channel (theory: Transcripts)?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy.typing as npt

from ..errors import InvalidInput
from ..pdmm.masks import GaussianMask, UniformMask
from ..pdmm.modular_mask import ModularMask, integer_secrets
from ..pdmm.problem import Problem
from ..pdmm.schedules import Schedule
from ..pdmm.settings import positive_integer
from .adversary import Adversary, Channels, Coalition, Eavesdropper
from .case import Case, Method, View, check, setting_of
from .pads import CorrelatedPads
from .report import Report
from .secrets_and_prior import prior_of, secrets_of
from .uncertified import Hessians, check_hessians, uncertified
from .worst import worst_case


def audit(
    problem: Problem,
    *,
    mask: GaussianMask | UniformMask | ModularMask | CorrelatedPads | None = None,
    corrupt: Iterable[int] = (),
    adversary: Adversary | None = None,
    channels: Channels = "open",
    prior: npt.ArrayLike | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: float | Literal["auto"] = "auto",
    seed: int | None = None,
    view: View = "transcript",
    iterations: int | None = None,
    runs: int = 1,
    pads: Literal["fresh", "reused"] = "fresh",
    nodes: Iterable[int] | None = None,
    max_corrupt: int | None = None,
    method: Method = "auto",
    answer: Literal["private", "public"] = "private",
    hessians: Hessians = "private",
) -> Report:
    """Exact leakage ``I(S_i; view)`` of every node, in nats.

    ``corrupt`` are the nodes that collude; over ``channels="open"`` they also tap every channel (``adversary=`` states
    another combination: ``Eavesdropper()``, ``Coalition({0, 3})``, or both with ``|``). ``max_corrupt=t`` asks for the
    worst coalition of at most ``t`` nodes for each node instead.

    ``prior``: the variance of a secret (one number, or one per node), or a covariance; by default the mean square of
    the data that the problem holds, or 1 where it holds none. ``answer="public"``: the result is published, so that
    eavesdroppers are told it too. ``mask=None`` is ``z(0) = 0``.
    ``view``: the ``"transcript"``, of ``iterations`` iterations or whole, or the paper's ``"snapshot"`` at one of them.
    ``runs``: how often the agreement was repeated on the same data, with fresh pads; ``pads="reused"`` asks what two
    runs with one set of pads show of the change in the data. ``nodes``: only these, for networks too large for all.
    ``method``: ``"closed form"`` or ``"elimination"``, to compare them; by default the fastest that applies.
    ``hessians``: no mask hides the ``Q_i`` of quadratic costs. Where they differ from node to node (or belong to a
    regression) they are taken for data, and there is no guarantee; ``"public"`` says that they are none, and what is
    certified are the linear terms, as ``s_i = -Q_i^{-1} q_i``: of a regression its own coefficients, given ``A_i'A_i``.
    """
    check(problem, channels)
    if pads not in ("fresh", "reused"):
        raise InvalidInput(f"pads must be 'fresh' or 'reused'; got {pads!r}.")
    if method not in ("auto", "closed form", "elimination"):
        raise InvalidInput(f"method must be 'auto', 'closed form' or 'elimination'; got {method!r}.")
    if mask is not None and not isinstance(mask, GaussianMask | UniformMask | ModularMask | CorrelatedPads):
        raise InvalidInput(f"mask must be a mask such as sv.GaussianMask(variance=1e6), or None; got {mask!r}.")
    check_hessians(hessians)
    positive_integer(runs, "runs")
    if pads == "reused" and runs < 2:
        raise InvalidInput("pads='reused' compares two runs; give runs=2 or more.")
    adversary = _adversary(problem, adversary, corrupt, max_corrupt)
    setting = setting_of(problem, schedule, theta, c, seed, view, iterations)
    if runs > 1 and setting.random and setting.iterations is not None:
        raise InvalidInput(
            f"runs={runs} of a random schedule wake different nodes, so {setting.describe()} of one of them does not "
            "stand for the others. Ask for the whole transcript, or give the sequence as a Trace if all runs share it."
        )
    if answer not in ("private", "public"):
        raise InvalidInput(f"answer must be 'private' or 'public'; got {answer!r}.")
    if answer == "public" and (
        view == "snapshot" or ((adversary.corrupt or max_corrupt) and setting.iterations is not None)
    ):
        raise InvalidInput("answer='public' is of a whole run: leave snapshots and iterations out.")
    assumed = prior_of(problem, prior)
    without = uncertified(problem, mask, adversary, channels, setting, assumed.value, hessians, max_corrupt)
    if without is not None:  # whoever listens
        return without
    assert not isinstance(mask, UniformMask)
    secrets = secrets_of(problem, assumed.value)
    if isinstance(mask, ModularMask):
        integer_secrets(problem, mask)  # refuses what it cannot hide
    case = Case(secrets, mask, channels, setting, runs, pads, method, assumed, answer == "public")
    if max_corrupt is not None:
        if nodes is not None:
            raise InvalidInput("nodes is for a named coalition; a worst case is over all nodes. Leave one of them out.")
        return worst_case(case, max_corrupt)
    return case.report(adversary, nodes)


def _adversary(
    problem: Problem, adversary: Adversary | None, corrupt: Iterable[int], max_corrupt: int | None
) -> Adversary:
    named = Coalition(corrupt).corrupt
    if adversary is not None and not isinstance(adversary, Adversary):
        raise InvalidInput(f"adversary must be Eavesdropper(), Coalition(...), or both with |; got {adversary!r}.")
    if (adversary is not None) + bool(named) + (max_corrupt is not None) > 1:
        raise InvalidInput("give one of corrupt, adversary and max_corrupt: each says who is corrupt.")
    found = Coalition(named) | Eavesdropper() if adversary is None else adversary
    found.check(problem.network)
    return found
