"""The subspace ``Psi = ran C + ran PC`` and its orthogonal complement (paper, section 4).

``Psi`` is invariant under ``P``, so it is the orthogonal sum of a symmetric part, ``ran K+``, and an antisymmetric one,
``ran K-``, and a projection splits accordingly:

    Pi_Psi = K+ (K+'K+)^+ K+' + K- (K-'K-)^+ K-'
    K+ = C + PC,   K+'K+ = 2 (C'C + C'PC)      under consensus 2 (D - W)
    K- = C - PC,   K-'K- = 2 (C'C - C'PC)      under consensus 2 (D + W)

Two sparse symmetric systems with as many unknowns as ``x``; a ``2m x 2m`` matrix is never formed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from ...costs.base import Array
from ...errors import InvalidInput, SottovoceError
from ...network import Network

DENSE = 400  # unknowns up to which the pseudo-inverse is simply computed
CHUNK = 1 << 24  # numbers of z that are projected at a time: bounds the memory of a batch
BAND = 10.0  # times sqrt(n): a network of this bandwidth or less lies in a plane, about, and is factorised at once
STEPS = 5000  # of conjugate gradients, before a factorisation takes over
PRECISION = 1e-13  # relative residual of the linear systems, by conjugate gradients
GOOD = 3e-11  # relative residual of a factorisation's first answer that needs no refinement, which doubles the time
ROUNDING = 1e-14  # relative to z, what may be left of a residual: K'z itself is known to a few eps only
SHIFT = 1e-8  # share of the diagonal that makes a system with an unknown null space regular; refinement removes it


class Subspace:
    """Projections onto ``Psi`` and ``Psi_perp`` of a network, for vectors ``z`` with leading batch axes.

    Parameters
    ----------
    network
        With or without general constraints.

    Examples
    --------
    >>> Subspace(Network.ring(4)).dim_psi, Subspace(Network.ring(5)).dim_psi
    (6, 9)
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.C, self.P = network.C, network.P
        PC = self.C[self.P]
        self.plus, self.minus = sparse.csr_array(self.C + PC), sparse.csr_array(self.C - PC)

    @cached_property
    def rank_plus(self) -> int:
        """Dimension of the symmetric part of ``Psi``: ``n - 1`` (with general blocks the rank of ``K+``)."""
        if self.network.constraints is not None:
            return int(np.linalg.matrix_rank(self.plus.toarray()))
        return self.network.n - 1

    @cached_property
    def rank_minus(self) -> int:
        """Dimension of the antisymmetric part: ``n``, one less if bipartite (general blocks: the rank of ``K-``)."""
        if self.network.constraints is not None:
            return int(np.linalg.matrix_rank(self.minus.toarray()))
        return self.network.n - self._bipartite

    @property
    def dim_psi(self) -> int:
        """Dimension of ``Psi``; under consensus, per entry of ``x``."""
        return self.rank_plus + self.rank_minus

    @property
    def dim_perp(self) -> int:
        """Dimension of ``Psi_perp``; under consensus, per entry of ``x``."""
        return int(self.C.shape[0]) - self.dim_psi

    def psi(self, z: npt.ArrayLike, *, axis: int | None = None) -> Array:
        """``Pi_Psi z``; ``z`` is ``(..., 2m)`` or ``(..., 2m, d)``, shaped like ``Result.z`` under consensus.

        ``axis`` says where the half-edges are, -1 or -2, and is needed only where both fit. Under general constraints
        ``z`` is stacked, the entries of one half-edge after those of another: ``(..., sum of m_ij)``.
        """
        array, axis = self._placed(z, axis)
        if axis == -2:
            return np.moveaxis(self.psi(np.moveaxis(array, -1, 0), axis=-1), 0, -1)
        rows = int(self.C.shape[0])
        flat = array.reshape(-1, rows)
        out = np.empty_like(flat)
        width = max(1, CHUNK // rows)
        for first in range(0, len(flat), width):
            out[first : first + width] = self._project(flat[first : first + width].T).T
        return out.reshape(array.shape)

    def perp(self, z: npt.ArrayLike, *, axis: int | None = None) -> Array:
        """``Pi_perp z = z - Pi_Psi z``."""
        return np.asarray(z, dtype=np.float64) - self.psi(z, axis=axis)

    def _placed(self, z: npt.ArrayLike, axis: int | None) -> tuple[Array, int]:
        """``z`` as an array, and which of its last two axes has the half-edges."""
        rows = int(self.C.shape[0])
        try:
            array = np.asarray(z, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(f"z must be one array of numbers, with {rows} entries per draw.") from None
        fits = [a for a in (-1, -2) if array.ndim >= -a and array.shape[a] == rows and axis in (None, a)]
        if not fits:
            where = "in its last axis, or the one before it" if axis is None else f"in axis {axis}"
            raise InvalidInput(f"z must have {rows} entries per draw {where}; got shape {array.shape}.")
        if len(fits) > 1:
            raise InvalidInput(
                f"z of shape {array.shape} can be read in two ways: use axis=-1 for draws of {rows} half-edges, "
                f"axis=-2 for {rows} half-edges of dimension {rows}."
            )
        if not np.isfinite(array).all():
            raise InvalidInput("z must be finite.")
        return array, fits[0]

    def _project(self, z: Array) -> Array:
        if self.network.constraints is not None and self.C.shape[1] <= DENSE:
            return np.asarray(self._basis @ (self._basis.T @ z))
        size = np.sqrt(inner(z, z)) * np.abs(self.C.data).max()
        symmetric = self.plus @ self._solve_plus(self.plus.T @ z, size)
        # Both systems have the same pattern: where one is better factorised, so is the other.
        self._solve_minus.factorise = self._solve_plus.factorise
        return np.asarray(symmetric + self.minus @ self._solve_minus(self.minus.T @ z, size))

    @cached_property
    def _basis(self) -> Array:
        # Blocks of very different size are common in general constraints, and K'K would square the ratio.
        return self.basis()

    @cached_property
    def _solve_plus(self) -> Solver:
        return Solver(self.plus.T @ self.plus, 1 if self.network.constraints is None else None)

    @cached_property
    def _solve_minus(self) -> Solver:
        return Solver(self.minus.T @ self.minus, int(self._bipartite) if self.network.constraints is None else None)

    @property
    def _bipartite(self) -> bool:
        """Whether ``D + W`` is singular: its null vector is the two-colouring."""
        return self.network.two_colouring is not None

    def basis(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """An orthonormal basis of ``Psi``, ``(2m, dim_psi)``, to the precision of ``dtype``; for small networks."""
        parts = []
        for K, rank in ((self.plus.toarray(), self.rank_plus), (self.minus.toarray(), self.rank_minus)):
            _, singular, right = np.linalg.svd(K, full_matrices=False)
            # Whatever the rounding of the singular vectors, K times them lies in ran K.
            parts.append(K.astype(dtype) @ (right[:rank].T / singular[:rank]).astype(dtype))
        basis = np.concatenate(parts, axis=1)
        for _ in range(2):  # Newton-Schulz: each round squares the distance to orthonormality
            basis = basis @ (1.5 * np.eye(basis.shape[1], dtype=dtype) - 0.5 * (basis.T @ basis))
        return np.asarray(basis)


class Solver:
    """``x = H^+ r`` up to the null space, for a sparse positive semidefinite ``H`` and ``r`` in its range, column-wise.

    ``nullity`` is the dimension of the null space, 0 or 1 under consensus, or None where it is not known. ``size`` is
    the norm of the ``z`` that ``r = K'z`` was made from, times the largest entry of ``K``: it says how much of ``r`` is
    rounding.

    Small systems get a pseudo-inverse. Large ones that can be numbered with a small bandwidth (geometric graphs) get a
    sparse factorisation, with one unknown fixed per null vector, or a little added to the diagonal where it is not
    known. On all others (expanders, small worlds) that would fill up, and conjugate gradients are quick.
    """

    def __init__(self, H: Any, nullity: int | None) -> None:
        self.H, self.nullity = sparse.csr_array(H), nullity
        diagonal = self.H.diagonal()
        self.diagonal = np.where(diagonal > 0, diagonal, 1.0)  # 0 is an unknown in no constraint: any value will do
        self.scale = 1 / self.diagonal
        self.factorise: bool | None = None

    def __call__(self, r: Array, size: Array) -> Array:
        if self.H.shape[0] <= DENSE:
            return np.asarray(self._pseudo_inverse @ r)
        if self.factorise is None:
            self.factorise = self._bandwidth() <= BAND * np.sqrt(self.H.shape[0])
        rounding = ROUNDING * size
        x = None if self.factorise else self._conjugate_gradients(r, rounding)
        if x is not None:
            return x
        self.factorise = True
        x, residual = np.zeros_like(r), r
        before = np.inf
        for _ in range(2 if self.nullity is not None else 20):  # the second time refines; a shift takes more to undo
            x[self._free] += self._factor.solve(np.ascontiguousarray(residual[self._free]))
            residual = r - self.H @ x
            left = np.abs(residual).max()
            if not left < before / 2 or left <= GOOD * np.abs(r).max():
                break
            before = left
        if not (np.abs(residual).max(axis=0) <= np.maximum(1e-9 * np.abs(r).max(axis=0), rounding)).all():
            raise SottovoceError(
                "the projection's linear system could not be solved to 1e-9: it is singular to rounding."
            )
        return x

    def _bandwidth(self) -> int:
        order = csgraph.reverse_cuthill_mckee(self.H, symmetric_mode=True)
        number = np.empty_like(order)
        number[order] = np.arange(len(order), dtype=order.dtype)
        entries = self.H.tocoo()
        return int(np.abs(number[entries.coords[0]].astype(np.int64) - number[entries.coords[1]]).max())

    @cached_property
    def _pseudo_inverse(self) -> Array:
        return np.linalg.pinv(self.H.toarray(), hermitian=True, rcond=1e-11)

    @cached_property
    def _free(self) -> slice:
        return slice(self.nullity or 0, None)

    @cached_property
    def _factor(self) -> Any:
        H = self.H if self.nullity is not None else self.H + SHIFT * sparse.diags_array(self.diagonal)
        return splu(H[self._free, self._free].tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def _conjugate_gradients(self, r: Array, rounding: Array) -> Array | None:
        """With a diagonal preconditioner, all columns side by side; None where they have not arrived in time."""
        x = np.zeros_like(r)
        residual = r.copy()
        goal = np.maximum(PRECISION**2 * inner(r, r), rounding**2)
        scaled = self.scale[:, None] * residual
        direction = scaled
        old = inner(residual, scaled)
        for _ in range(STEPS):
            under_way = inner(residual, residual) > goal
            if not under_way.any():
                return x
            image = self.H @ direction
            # Columns that have arrived stay: what is left of them is rounding, with a part in the null space.
            length = under_way * old / np.maximum(inner(direction, image), 1e-300)
            x += length * direction
            residual -= length * image
            scaled = self.scale[:, None] * residual
            new = inner(residual, scaled)
            direction = scaled + (new / np.maximum(old, 1e-300)) * direction
            old = new
        return None


def inner(a: Array, b: Array) -> Array:
    """Inner products, column by column."""
    return np.asarray(np.einsum("ij,ij->j", a, b))
