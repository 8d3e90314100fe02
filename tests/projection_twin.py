"""Conjugate gradients in NumPy, with a diagonal preconditioner: the readable twin of the compiled ones, which sweep
(engine: Projections)."""

from __future__ import annotations

import numpy as np

from sottovoce.privacy.moments import subspace as module
from sottovoce.privacy.moments.subspace import Solver, Subspace, inner


def iterate(self: Solver, r: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    """As ``Solver.iterate``, of any number of columns."""
    scale, rounding = 1 / self.diagonal, module.ROUNDING * size
    x = np.zeros_like(r)
    residual = r.copy()
    goal = np.maximum(module.PRECISION**2 * inner(r, r), rounding**2)
    scaled = scale[:, None] * residual
    direction = scaled
    old = inner(residual, scaled)
    for _ in range(module.STEPS):
        under_way = inner(residual, residual) > goal
        if not under_way.any():
            return x
        image = self.H @ direction
        # Columns that have arrived stay: what is left of them is rounding, with a part in the null space.
        length = under_way * old / np.maximum(inner(direction, image), 1e-300)
        x += length * direction
        residual -= length * image
        scaled = scale[:, None] * residual
        new = inner(residual, scaled)
        direction = scaled + (new / np.maximum(old, 1e-300)) * direction
        old = new
    return None


def psi(subspace: Subspace, z: np.ndarray) -> np.ndarray:
    """``Pi_Psi z`` of draws ``(B, 2m)``, all of them at once."""
    z, size = z.T, np.linalg.norm(z, axis=1) * np.abs(subspace.C.data).max()
    parts = ((subspace.plus, subspace._solve_plus), (subspace.minus, subspace._solve_minus))
    return sum(K @ iterate(solver, K.T @ z, size) for K, solver in parts).T
