"""The subspace ``Psi = ran C + ran PC`` and its orthogonal complement (paper, section 4).

``Psi`` is invariant under ``P``, so it is the orthogonal sum of a symmetric part, ``ran K+``, and an antisymmetric one,
``ran K-``, and a projection splits accordingly:

    Pi_Psi = K+ (K+'K+)^+ K+' + K- (K-'K-)^+ K-'
    K+ = C + PC,   K+'K+ = 2 (C'C + C'PC)      under consensus 2 (D - W)
    K- = C - PC,   K-'K- = 2 (C'C - C'PC)      under consensus 2 (D + W)

Two sparse symmetric systems with as many unknowns as ``x``; a ``2m x 2m`` matrix is never formed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from ...costs.base import Array
from ...errors import InvalidInput, SottovoceError, is_word
from ...network import Network
from ...numerics.unquoted import kind_of

if TYPE_CHECKING:
    from .cuda_projection import CudaProjection

Engine = Literal["auto", "cuda"]

DENSE = 400  # unknowns up to which the pseudo-inverse is simply computed
CHUNK = 1 << 24  # numbers of z that are projected at a time by a factorisation: bounds the memory of a batch
BAND = 10.0  # times sqrt(n): a network of this bandwidth or less lies in a plane, about, and is factorised at once
STEPS = 5000  # of conjugate gradients, before a factorisation takes over
PRECISION = 1e-13  # relative residual of the linear systems, by conjugate gradients
ROUNDING = 1e-14  # relative to z, what may be left of a residual: K'z itself is known to a few eps only
SHIFT = 1e-8  # share of the diagonal that makes a system with an unknown null space regular; refinement removes it


class Subspace:
    """Projections onto ``Psi`` and ``Psi_perp`` of a network, for vectors ``z`` with leading batch axes.

    Parameters
    ----------
    network
        With or without general constraints.
    engine : {"auto", "cuda"}
        ``"cuda"`` projects on an NVIDIA GPU, under consensus.

    Examples
    --------
    >>> Subspace(Network.ring(4)).dim_psi, Subspace(Network.ring(5)).dim_psi
    (6, 9)
    """

    def __init__(self, network: Network, engine: Engine = "auto") -> None:
        if not isinstance(network, Network):
            raise InvalidInput(f"network must be a Network; got {kind_of(network)}.")
        if not is_word(engine, get_args(Engine)):
            raise InvalidInput(f"engine must be 'auto' or 'cuda'; got {engine!r:.80}.")
        self.network, self.engine = network, engine
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
        if self._on_gpu is not None:
            return np.ascontiguousarray(self._on_gpu.psi(flat.T).T).reshape(array.shape)
        out = np.empty_like(flat)
        width = max(1, CHUNK // rows)
        for part in self._iterated(flat, out):
            for first in range(part.start, part.stop, width):
                few = slice(first, min(first + width, part.stop))
                out[few] = self._project(flat[few].T).T
        return out.reshape(array.shape)

    def perp(self, z: npt.ArrayLike, *, axis: int | None = None) -> Array:
        """``Pi_perp z = z - Pi_Psi z``."""
        psi = self.psi(z, axis=axis)
        return np.subtract(np.asarray(z, dtype=np.float64), psi, out=psi)  # no third array of this size

    def _placed(self, z: npt.ArrayLike, axis: int | None) -> tuple[Array, int]:
        """``z`` as an array, and which of its last two axes has the half-edges."""
        rows = int(self.C.shape[0])
        try:
            array = np.asarray(z)
            real = not np.iscomplexobj(array)
            array = array.astype(np.float64, copy=False) if real else array
        except (TypeError, ValueError):
            raise InvalidInput(f"z must be one array of numbers, with {rows} entries per draw.") from None
        if not real:
            raise InvalidInput("z must be real; got complex numbers. Project the two parts of z one by one.")
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

    @cached_property
    def _on_gpu(self) -> CudaProjection | None:
        if self.engine != "cuda":
            return None
        from .cuda_projection import CudaProjection

        return CudaProjection(self.network)

    def _project(self, z: Array) -> Array:
        if self._by_basis:
            return np.asarray(self._basis @ (self._basis.T @ z))
        unit = units(z, axis=0)
        z = z / unit
        size = self._size(inner(z, z))
        symmetric = self.plus @ self._solve_plus(self.plus.T @ z, size)
        return np.asarray(unit * (symmetric + self.minus @ self._solve_minus(self.minus.T @ z, size)))

    def _iterated(self, z: Array, out: Array) -> list[slice]:
        """By conjugate gradients, eight draws at a time, on all threads; returns the draws that are left to do."""
        # Both systems have the same pattern: where one is better factorised, so is the other.
        if self._by_basis or not self._solve_plus.iterates or not len(z):
            return [slice(0, len(z))]
        from numba import get_num_threads

        from ._projection_kernels import WIDTH

        parts = [slice(first, min(first + WIDTH, len(z))) for first in range(0, len(z), WIDTH)]
        if not self._eight(z[parts[0]], out[parts[0]]):  # nor would the others arrive
            self._solve_plus.iterates = False
            return [slice(0, len(z))]
        with ThreadPoolExecutor(get_num_threads()) as threads:
            arrived = threads.map(lambda part: self._eight(z[part], out[part]), parts[1:])
            return [part for part, done in zip(parts[1:], arrived, strict=True) if not done]

    def _eight(self, z: Array, out: Array) -> bool:
        """Project up to eight draws into ``out``; whether both systems were solved in time."""
        from ._projection_kernels import WIDTH, spread, sums

        network, consensus = self.network, self.network.constraints is None
        plus, minus = np.zeros((2, self.C.shape[1], WIDTH))
        unit, square = units(z, axis=1), np.zeros(WIDTH)
        if consensus:
            sums(network.indptr, network.twin, self.C.data, z, unit, plus, minus, square)
        else:
            scaled = z.T / unit
            plus[:, : len(z)], minus[:, : len(z)] = self.plus.T @ scaled, self.minus.T @ scaled
            square[: len(z)] = inner(scaled, scaled)
        size = self._size(square)
        u = self._solve_plus.iterate(plus, size)
        v = None if u is None else self._solve_minus.iterate(minus, size)
        if u is None or v is None:
            return False
        if consensus:
            spread(network.indptr, network.indices, self.C.data, u, v, unit, out)
        else:
            out[:] = ((self.plus @ u + self.minus @ v)[:, : len(z)] * unit).T
        return True

    def _size(self, square: Array) -> Array:
        """Of every draw, from its ``z'z``, what ``Solver`` needs to know."""
        return np.asarray(np.sqrt(square) * np.abs(self.C.data).max())

    @property
    def _by_basis(self) -> bool:
        return self.network.constraints is not None and self.C.shape[1] <= DENSE

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
    known. On all others (expanders, small worlds) that would fill up, and conjugate gradients are quick: ``iterate``.
    """

    def __init__(self, H: Any, nullity: int | None) -> None:
        self.H, self.nullity = sparse.csr_array(H), nullity
        diagonal = self.H.diagonal()
        self.diagonal = np.where(diagonal > 0, diagonal, 1.0)  # 0 is an unknown in no constraint: any value will do

    @cached_property
    def iterates(self) -> bool:
        """Whether conjugate gradients come first."""
        n = self.H.shape[0]
        return bool(n > DENSE and self._bandwidth() > BAND * np.sqrt(n))

    def iterate(self, r: Array, size: Array) -> Array | None:
        """Eight columns by conjugate gradients; None where they have not arrived in time. ``r`` is written over."""
        from ._projection_kernels import conjugate_gradients

        goal = np.maximum(PRECISION**2 * inner(r, r), (ROUNDING * size) ** 2)
        x, *work = (np.empty_like(r) for _ in range(4))
        arrived = conjugate_gradients(*self._sweeps, r, goal, STEPS, x, *work)
        return x if arrived else None

    @cached_property
    def _sweeps(self) -> tuple[Any, Any, Array]:
        """What is below and above the diagonal of ``H`` scaled to ones on it, by rows; and the root of the diagonal."""
        root = np.sqrt(self.diagonal)
        scale = sparse.diags_array(1 / root)
        lower = sparse.csr_array(sparse.tril(scale @ self.H @ scale, -1))
        below, above = ((part.indptr, part.indices, part.data) for part in map(_sorted, (lower, lower.T)))
        return below, above, root

    def __call__(self, r: Array, size: Array) -> Array:
        if self.H.shape[0] <= DENSE:
            return np.asarray(self._pseudo_inverse @ r)
        rounding = ROUNDING * size
        x, residual = np.zeros_like(r), r
        before = np.inf
        for _ in range(2 if self.nullity is not None else 20):  # the second time refines; a shift takes more to undo
            x[self._free] += self._factor.solve(np.ascontiguousarray(residual[self._free]))
            residual = r - self.H @ x
            left = np.abs(residual).max()
            if not left < before / 2:
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


def _sorted(matrix: Any) -> Any:
    rows = sparse.csr_array(matrix)
    rows.sort_indices()
    return rows


def units(z: Array, axis: int) -> Array:
    """For every draw a power of two near its largest entry, 1 where all are 0: divided by it, squares are in the range
    of float64, and no digit changes."""
    _, exponent = np.frexp(np.maximum(z.max(axis=axis, initial=0.0), -z.min(axis=axis, initial=0.0)))
    return np.asarray(np.ldexp(1.0, np.clip(exponent, -1000, 1000)))


def inner(a: Array, b: Array) -> Array:
    """Inner products, column by column."""
    return np.asarray(np.einsum("ij,ij->j", a, b))
