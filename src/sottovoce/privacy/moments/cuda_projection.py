"""``Pi_Psi z`` on a GPU, under consensus: conjugate gradients for all draws side by side (engine: On a GPU).

In the gauge of ``pdmm/cuda/kernels.cu`` the two systems of ``subspace`` are ``2 (D - W)`` and ``2 (D + W)``, their
right sides are sums and differences of ``C'z`` and ``C'Pz``, and their answers ``s`` and ``t`` give

    (K+ s + K- t)_{i|j} = A_ij ((s + t)_i - (s - t)_j),

which is what a run in node space makes of its ``a`` and ``b``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...costs.base import Array
from ...errors import SottovoceError, Unsupported
from ...network import Network
from ...pdmm.cuda.device import device
from .subspace import units

NUMBERS = 1 << 27  # of z that are projected at a time: with what conjugate gradients need, ten gigabytes
PRECISION = 1e-8  # relative residual of each of two passes: the second projects what the first has left
ROUNDING = 2e-15  # relative to z, what may be left of a residual: K'z itself is known to a few eps only
STEPS = 50_000  # of conjugate gradients; there is no factorisation to take over
LOOK = 10  # steps between two looks at the residual, for which the host has to wait
THREADS = 1 << 17  # that add up products, about


class CudaProjection:
    """Projections onto ``Psi`` of one network, whose graph stays on the GPU."""

    def __init__(self, network: Network) -> None:
        if network.constraints is not None:
            raise Unsupported("engine='cuda' projects under consensus only. Use engine='auto' for general constraints.")
        self.gpu, layout, self.n = device(), network.layout, network.n
        with self.gpu.memory():
            self.indptr, self.indices = (self.gpu.array(part, np.uint32) for part in (layout.indptr, layout.indices))
            self.slots = self.gpu.array(layout.slots, np.uint32)
            self.slot = self.gpu.array(layout.slot, np.int64)
            self.user = None if layout.user is None else self.gpu.array(layout.user, np.int64)
            self.signs = self.gpu.array(np.where(network.holders > network.indices, 1.0, -1.0))[:, None]
            self.diagonal = self.gpu.array(2 * np.diff(layout.indptr).astype(np.float64))

    def psi(self, z: Array) -> Array:
        """``Pi_Psi z`` for ``z (2m, draws)`` in the user's order."""
        width, found = max(1, NUMBERS // len(z)), np.empty_like(z)
        with self.gpu.memory():
            for first in range(0, z.shape[1], width):
                some = z[:, first : first + width]
                unit = self.gpu.array(units(some, axis=0))
                part = self.gpu.array(some) / unit
                rounding = ROUNDING * self.gpu.xp.sqrt(self._inner(part, part))
                projected = self._project(part, rounding)
                projected += self._project(part - projected, rounding)
                found[:, first : first + width] = self.gpu.xp.asnumpy(projected * unit)
        return found

    def _project(self, z: Any, rounding: Any) -> Any:
        xp, draws, columns = self.gpu.xp, z.shape[1], np.int32(z.shape[1])
        w = xp.empty_like(z)
        w[self.slot] = self.signs * z
        own, other, size = xp.empty((self.n, draws)), xp.empty((self.n, draws)), self.n * draws
        self.gpu.launch("row_sums", size, self.n, columns, self.indptr, self.slots, w, own, other)
        s, t = self._solve(own + other, -1.0, rounding), self._solve(own - other, 1.0, rounding)
        self.gpu.launch(
            "node_space_z", size, self.n, columns, self.indptr, self.indices, None, s + t, s - t, w
        )  # fmt: skip
        if self.user is None:
            return self.signs * w
        found = xp.empty_like(w)
        found[self.user] = w
        return self.signs * found

    def _solve(self, r: Any, sign: float, rounding: Any) -> Any:
        """``2 (D + sign W) x = r``, column-wise, with a diagonal preconditioner."""
        xp, launch, columns, size = self.gpu.xp, self.gpu.launch, np.int32(r.shape[1]), r.size
        graph = self.n, columns, self.indptr, self.indices, sign
        x, residual, image = xp.zeros_like(r), r, xp.empty_like(r)
        goal = xp.maximum(PRECISION**2 * self._inner(r, r), rounding**2)
        direction = residual / self.diagonal[:, None]
        old = self._inner(residual, direction)
        for step in range(STEPS):
            under_way = self._inner(residual, residual) > goal
            if step % LOOK == 0 and not bool(under_way.any()):
                return x
            launch("laplacian", size, *graph, direction, image)
            # Columns that have arrived stay: what is left of them is rounding, with a part in the null space.
            length = under_way * old / xp.maximum(self._inner(direction, image), 1e-300)
            launch("cg_move", size, size, columns, length, direction, image, x, residual)
            new = self._inner(residual, residual, self.diagonal)
            along = new / xp.maximum(old, 1e-300)
            launch("cg_turn", size, size, columns, along, self.diagonal, residual, direction)
            old = new
        raise SottovoceError(
            f"the projection's linear system is not solved after {STEPS} steps of conjugate gradients. Use "
            "engine='auto', which factorises it on the CPU."
        )

    def _inner(self, u: Any, v: Any, weights: Any = None) -> Any:
        """Inner products, column by column; with each row divided by its weight."""
        draws = u.shape[1]
        threads = draws * max(1, min(THREADS // draws, len(u)))
        parts = self.gpu.xp.empty(threads)
        self.gpu.launch("inner", threads, threads, u.size, np.int32(draws), u, v, weights, parts)
        return self._added(parts.reshape(-1, draws))

    def _added(self, parts: Any) -> Any:
        """Columns added up: as a product with a row of ones, which CuPy does far faster than a sum along rows."""
        return self.gpu.xp.ones(len(parts)) @ parts
