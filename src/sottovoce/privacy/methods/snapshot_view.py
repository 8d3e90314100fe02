"""The paper's metric: what one iteration shows of a node whose ``x_i`` is known (eq. 8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from ...errors import InvalidInput
from ...pdmm.overlay import Overlay, unfolded
from ...pdmm.penalties import Penalty
from ...pdmm.schedules import Schedule
from ..moments.exact_moments import LinearRun, play
from ..moments.information import honest_rows
from .leaks import Answer, Leaks, leaks
from .posterior import Posterior, diagonal_blocks, observe
from .secrets_and_prior import Secrets


class SnapshotView:
    """``Y_i(k) = grad f_i(x_i) + sum_{j honest} A_ij' z_{i|j}(k)`` for every honest node, at one ``k``."""

    def __init__(
        self,
        secrets: Secrets,
        schedule: Schedule,
        *,
        corrupt: frozenset[int],
        theta: float,
        c: Penalty,
        iteration: int,
        seed: int | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        if not corrupt:
            raise InvalidInput(
                "eq. 8 takes x_i for known, which needs a corrupt node; an eavesdropper knows differences only. "
                "Name corrupt nodes, or audit the transcript."
            )
        self.answer = Answer(secrets, corrupt)
        problem = secrets.problem
        run = LinearRun(problem, schedule, theta=theta, c=c, overlay=overlay, seed=seed)
        for _ in play(run, iteration, max(1, iteration)):
            pass
        x, z, w, n = run.fresh(), run.stacked_z(), secrets.width, secrets.n
        pads, q = np.eye(run.rows, z.shape[1]), np.eye(run.N, z.shape[1], run.rows)
        if overlay is not None:
            z = unfolded(problem, overlay, z, pads)
        Q = secrets.hessian(np.arange(n)).toarray()
        self.maps = []
        for i in self.answer.honest:
            own = slice(i * w, (i + 1) * w)
            honest = set(problem.network.around(i).tolist()) - corrupt
            Y = Q[own, own] @ x[own] + q[own] + honest_rows(problem, int(i), honest) @ z
            from_q = Y[:, run.rows : run.rows + run.N]
            self.maps.append((Y[:, : run.rows], -from_q @ Q))  # q = -Q s

    def leaks(self, variance: float) -> Leaks:
        """For pads of this variance (divided by the number of runs)."""
        answer, w = self.answer, self.answer.secrets.width
        own = np.repeat(np.isin(np.arange(answer.secrets.n), answer.honest), w)
        prior, seen, left = answer.secrets.covariance(), [], []
        root = linalg.cholesky(prior, lower=True)
        for at, (i, (from_z, from_s)) in enumerate(zip(answer.honest, self.maps, strict=True)):
            noise = variance * from_z @ from_z.T
            # The metric knows nothing but Y_i: all other secrets and pads are noise, those of corrupt nodes too.
            seen.append(observe(root, from_s, noise, w, wanted=slice(i * w, (i + 1) * w)))
            noise += np.eye(w) * np.finfo(float).tiny  # a node alone: its Y is known with the answer
            left.append(observe(answer.root_given, from_s[:, own], noise, w, slice(at * w, (at + 1) * w)))
        heard = np.ones(answer.secrets.n, dtype=bool)
        alone = replace(_joined(seen), before=diagonal_blocks(prior, w)[answer.honest])
        return leaks(answer, answer.honest, alone, _joined(left), complete=False, heard=heard)


def _joined(parts: list[Posterior]) -> Posterior:
    arrays = ([getattr(part, name) for part in parts] for name in ("before", "after", "gained"))
    return Posterior(*(np.concatenate(blocks) for blocks in arrays))
