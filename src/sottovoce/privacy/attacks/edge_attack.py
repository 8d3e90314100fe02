"""Encrypted channels do not hide Hessians from a neighbour: ``Q_i`` from one's own edges alone
(theory: Public gradients).

A corrupt neighbour ``j`` of ``i`` reads ``dx_i`` between two wakes of ``i`` from its own edge, as
``A_ij dx = (dr - dD)/(2c)`` (eq. 3). With a quadratic cost the optimality condition of eq. 2 is
``H x_i + q_i + sum_k A_ik' z_{i|k} = const`` with ``H = Q_i + c sum_k A_ik'A_ik``. Where no other neighbour of ``i``
spoke between the two wakes, all that changed is ``z_{i|j}``, which ``j`` wrote itself:

    H dx_i = g,    g = -A_ij' dz_{i|j}                                                                (a *clean* pair)

``d`` clean pairs give ``H``, and blocks and ``c`` are public. Who wakes when is public under a trace, or if all wake at
once, and then so is which pairs are clean. If nodes wake at random, one at a time, ``j`` does not know. But ``H`` is
symmetric, so any two clean pairs agree, ``dx_a' g_b = dx_b' g_a``, to rounding; a pair with somebody else's news in it
agrees with no other except by chance. So the largest set of pairs that all agree is the clean ones: no pad, no secret,
no channel of others is used, and whatever the variance of the pads. (Where a schedule is nearly periodic, a run near
its end moves along one mode, and pairs agree that are not clean: hence uniform random wakes only.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...pdmm.masks import Mask
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule
from ...pdmm.settings import positive_integer, settled_schedule
from ..adversary import Coalition
from .recorded_transcript import C, OnEdges, RecordedTranscript, overhear
from .traffic import RecoveredHessians, quadratic_terms, relative, symmetric_solution

WAKES = 100  # of each node; by then most runs stand still
SLACK = 32  # roundings that a move may be off: r, D and a step take a few each
DIGITS = 1e4  # a pair that moved by less than this many times that says nothing
AGREE = 3  # clean pairs needed at least: with d of them or more, two equations or more are left over as a check
PRECISE = 1e-6  # error of H, by the attacker's own estimate, above which it says nothing
TRIED = 40  # pairs from which a set that agrees is grown


def edge_attack(
    problem: Problem,
    *,
    corrupt: Collection[int],
    mask: Mask,
    wakes: int = WAKES,
    seed: int | None = None,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
) -> RecoveredHessians:
    """``Q_i`` of the neighbours of corrupt nodes, from these nodes' own edges: over encrypted channels.

    Parameters
    ----------
    problem
        Network and quadratic costs.
    corrupt
        Whose edges are seen.
    mask
        Of the run.
    wakes
        Of each node, that are waited for.
    schedule, theta, c, seed
        How the run goes, as for ``solve``.

    Returns
    -------
    RecoveredHessians
        ``nan`` where no set of pairs agrees; what it does return it is sure of.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.from_edges(3, [(0, 1), (1, 2)]), [1, 2, 3])
    >>> run = {"mask": sv.GaussianMask(100.0), "schedule": sv.Asynchronous(), "seed": 1, "c": 0.5}
    >>> found = sv.privacy.research.edge_attack(problem, corrupt={0}, **run)
    >>> round(float(found.matrices[1, 0, 0]), 6)
    2.0
    """
    quadratic_terms(problem)
    members = Coalition(corrupt).on(problem.network)
    if not members.corrupt:
        raise InvalidInput("corrupt is empty: over encrypted channels somebody must be corrupt to see anything.")
    positive_integer(wakes, "wakes")
    transcript, _ = overhear(problem, schedule=schedule, theta=theta, c=c, mask=mask, seed=seed, wakes=wakes)
    return hessians_on_edges(transcript, [members.corrupt], plans_of(settled_schedule(problem, schedule)))


def plans_of(schedule: Schedule) -> bool:
    """Whether everybody knows who wakes when; refused where this attack could be fooled."""
    if schedule.planned:
        return True
    if schedule.law is not None and schedule.law.of == "one node" and schedule.law.rates is None:
        return False
    raise Unsupported(
        "this attack is for synchronous runs, traces, and nodes that wake one at a time at equal rates; got "
        f"{schedule!r}."
    )


def hessians_on_edges(
    transcript: RecordedTranscript, coalitions: Iterable[Collection[int]], sequence_known: bool
) -> RecoveredHessians:
    """The same from a recorded run; of several coalitions each node's Hessian by the first that gets it."""
    n, d = len(transcript.blocks), transcript.blocks[0].shape[1]
    matrices, residuals = np.full((n, d, d), np.nan), np.full(n, np.nan)
    for corrupt in coalitions:
        for i in set(range(n)) - set(corrupt):
            if np.isnan(residuals[i]) and (view := transcript.on_edges(i, corrupt)) is not None:
                A = transcript.blocks[i]
                found = _hessian(view, view.quiet if sequence_known else None, transcript.along[i] * A.T @ A)
                if found is not None:
                    matrices[i], residuals[i] = found
    return RecoveredHessians(matrices, residuals)


def _hessian(
    view: OnEdges, clean: npt.NDArray[np.bool_] | None, penalty: Array
) -> tuple[Array, npt.NDArray[np.float64]] | None:
    """``Q_i`` and the relative residual of its pairs, or None."""
    X, G, d = np.diff(view.x, axis=0), -np.diff(view.pull, axis=0), view.x.shape[1]
    off_x, off_g = (SLACK * rounding for rounding in view.rounding)
    size_x, size_g = np.linalg.norm(X, axis=1), np.linalg.norm(G, axis=1)
    telling = (size_x > DIGITS * off_x) & (size_g > DIGITS * off_g)
    if clean is not None:
        telling &= clean
    X, G, size_x, size_g = X[telling], G[telling], size_x[telling], size_g[telling]
    S = X @ G.T
    off = off_x * (size_g[:, None] + size_g) + off_g * (size_x[:, None] + size_x)
    agree = np.abs(S - S.T) <= off
    for members in [np.arange(len(X))] if clean is not None else _sets(agree):
        if len(members) < max(AGREE, d) or not agree[np.ix_(members, members)].all():
            continue
        H = symmetric_solution(X[members], G[members])
        size = float(np.linalg.norm(H, 2))
        error = (off_g + off_x * size) / float(np.linalg.svd(X[members], compute_uv=False)[-1])
        # A convex cost: what is not is a chance agreement.
        if error <= PRECISE * size and np.linalg.eigvalsh(H - penalty)[0] >= -error:
            misfit = np.linalg.norm(X[members] @ H - G[members])
            return H - penalty, relative(misfit, np.linalg.norm(G[members]))
    return None


def _sets(agree: npt.NDArray[np.bool_]) -> Iterable[npt.NDArray[np.int64]]:
    """Sets of pairs that all agree with each other, grown from those that agree with most."""
    order = np.argsort(-agree.sum(axis=1), kind="stable")
    for first in order[:TRIED]:
        members = [first]
        for other in order:
            if other != first and agree[other, members].all():
                members.append(other)
        yield np.array(members)
