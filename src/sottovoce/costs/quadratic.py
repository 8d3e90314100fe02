"""Quadratic costs: ``Quadratic``, ``Averaging`` and ``LeastSquares``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost
from ..files.frames import read_columns
from .base import Array, Cost, QuadraticForm, Step, as_floats, as_vector, nonnegative


class Quadratic(Cost):
    """``f(x) = x'Qx/2 + q'x + r``.

    Parameters
    ----------
    Q : array_like
        Symmetric positive semidefinite; a number ``a >= 0`` stands for ``aI``.
    q : array_like
        A number or a vector, whose shape is that of ``x``.
    r : float, optional
        A constant, which changes the value only.

    Raises
    ------
    InvalidCost
        Where ``Q`` is not convex or not symmetric, shapes do not agree, or something is not finite.

    Examples
    --------
    >>> import sottovoce as sv
    >>> costs = [sv.Quadratic([[2.0, 1.0], [1.0, 2.0]], [-3.0, 0.0]), sv.Quadratic(1.0, [0.0, 0.0])]
    >>> sv.solve(sv.Problem(sv.Network.complete(2), costs)).x[0].round(6).tolist()
    [1.125, -0.375]
    """

    _fields = ("Q", "q", "r")
    Q: Array  # (count,) or (count, d, d)
    q: Array  # (count, d)
    r: Array  # (count,)

    def __init_subclass__(cls) -> None:
        """A subclass that steps otherwise is no quadratic form, unless it says which."""
        super().__init_subclass__()
        if cls.step is not Quadratic.step and cls.bind is Quadratic.bind:
            cls.bind = Cost.bind  # type: ignore[method-assign]
        alike = cls.bind is Quadratic.bind and cls.bind_from is Quadratic.bind_from
        if not alike and cls.quadratic is Quadratic.quadratic:
            cls.quadratic = Cost.quadratic  # type: ignore[assignment,method-assign]

    def __init__(self, Q: npt.ArrayLike, q: npt.ArrayLike, r: float = 0.0) -> None:
        rows, shape = as_vector(q, "q")
        matrix = as_floats(Q, "Q")
        d = rows.shape[1]
        constant = as_floats(r, "r")
        if constant.shape != () or not all(np.isfinite(part).all() for part in (matrix, rows, constant)):
            raise InvalidCost("Q, q and r must be finite, and r a number.")  # not quoted: they are data
        if matrix.ndim == 2 and matrix.shape == (1, 1):
            matrix = matrix.reshape(())
        if matrix.ndim not in (0, 2) or (matrix.ndim == 2 and matrix.shape != (d, d)):
            raise InvalidCost(f"Q must be a number or {d} x {d}, like q; got shape {matrix.shape}.")
        if matrix.ndim == 2 and not np.allclose(matrix, matrix.T, rtol=1e-12, atol=1e-300):
            raise InvalidCost("Q must be symmetric. Use (Q + Q.T)/2, which has the same quadratic form.")
        smallest = float(np.linalg.eigvalsh(matrix)[0]) if matrix.ndim else float(matrix)
        if smallest < (-1e-12 * float(np.abs(matrix).max()) if matrix.ndim else 0.0):
            raise InvalidCost("Q must be positive semidefinite (convex); it has a negative eigenvalue.")
        self._fill(shape, Q=matrix[None], q=rows, r=constant.reshape(1))

    @classmethod
    def many(cls, Q: Array, q: Array) -> Quadratic:
        """One node a row: ``Q`` is ``(count,)`` or ``(count, d, d)``, ``q`` is ``(count, d)``."""
        Q, q = as_floats(Q, "Q"), as_floats(q, "q")
        if q.ndim != 2 or Q.shape not in ((len(q),), (len(q), q.shape[1], q.shape[1])):
            raise InvalidCost(f"Q must be (n,) or (n, d, d) for q of shape (n, d); got {Q.shape} and {q.shape}.")
        if not (np.isfinite(Q).all() and np.isfinite(q).all()):
            raise InvalidCost("Q and q must be finite.")
        return cls.trusted((q.shape[1],), Q, q)

    @classmethod
    def trusted(cls, shape: tuple[int, ...], Q: Array, q: Array) -> Quadratic:
        """``many`` of arrays that are known to fit, for nodes whose variable has this shape."""
        return Quadratic._make(shape, Q=Q, q=q, r=np.zeros(len(q)))

    def value(self, x: Array) -> Array:
        Qx = self.Q[:, None] * x if self.Q.ndim == 1 else np.einsum("kij,...kj->...ki", self.Q, x)
        return np.asarray(np.sum(x * (0.5 * Qx + self.q), axis=-1) + self.r)

    def step(self, g: Array, rho: Array) -> Array:
        return Quadratic.bind(self, rho)(g)  # that of a subclass may be made of this

    def bind(self, rho: Array) -> Step:
        """``x = -(Q + rho)^{-1} (q + g)``: a division for ``Q = aI``, else one explicit inverse per node, made once."""
        if self.Q.ndim == 1 and rho.ndim == 1:
            curvature = (self.Q + rho)[:, None]
            return lambda g: -(self.q + g) / curvature
        inverse = self.inverse(rho)
        # einsum sums in an order that depends on the memory layout; one layout gives a batch and a node the same bits.
        return lambda g: -np.einsum("kij,...kj->...ki", inverse, np.ascontiguousarray(self.q + g))

    def inverse(self, rho: Array) -> Array:
        """``(Q_i + rho_i)^{-1}`` as ``(count, d, d)``; engine: Quadratic steps says why it is explicit."""
        eye = np.eye(self.dim)
        Q = self.Q[:, None, None] * eye if self.Q.ndim == 1 else self.Q
        H = rho[:, None, None] * eye if rho.ndim == 1 else rho
        try:
            inverse = np.asarray(np.linalg.inv(Q + H), dtype=np.float64)
        except np.linalg.LinAlgError:
            inverse = np.full_like(Q, np.nan)
        # Singular to rounding is singular: half the digits of x must be right.
        if not np.abs((Q + H) @ inverse - eye).max(initial=0.0) < 1e-8:
            raise InvalidCost(
                "a node's argmin is not unique, or lost to rounding: neither its Q nor its edge blocks determine x "
                "well enough. Add a ridge, scale the columns, or raise c."
            )
        return inverse

    @property
    def sizes(self) -> tuple[float, float]:
        """``|q| / |Q|`` and ``|q|``, at the largest node."""
        q = np.abs(self.q).max(axis=1)
        Q = self.Q if self.Q.ndim == 1 else np.abs(self.Q).max(axis=(1, 2))
        return float((q / np.where(Q > 0, Q, np.inf)).max()), float(q.max())

    @property
    def quadratic(self) -> QuadraticForm:
        return QuadraticForm(self.Q, self.q)

    @property
    def irregular(self) -> str | None:
        if self.Q.ndim == 1:
            singular = bool((self.Q <= 0).any())
        else:
            eigenvalues = np.linalg.eigvalsh(self.Q)
            singular = bool((eigenvalues[:, 0] <= 1e-12 * np.maximum(eigenvalues[:, -1], 1e-300)).any())
        return "a node's quadratic form is singular, so its cost is not strongly convex" if singular else None


class Averaging(Quadratic):
    """``f(x) = ||x - s||^2``, the paper's cost for average consensus: ``Q = 2I``, ``q = -2s``, ``r = s's``.

    Parameters
    ----------
    s : array_like
        A number or a vector.

    Raises
    ------
    InvalidCost
        Where ``s`` is empty or not finite.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(3), [sv.Averaging(s) for s in (1, 2, 6)])
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [3.0, 3.0, 3.0]
    """

    def __init__(self, s: npt.ArrayLike) -> None:
        rows, shape = as_vector(s, "s")
        self._fill_data(rows, shape)

    def _fill_data(self, s: Array, shape: tuple[int, ...]) -> None:
        if s.size == 0:
            raise InvalidCost("s is empty; every node needs at least one number.")
        if not np.isfinite(s).all():
            raise InvalidCost("s must be finite (it has NaN or inf). Remove or impute the missing values first.")
        self._fill(shape, Q=np.full(len(s), 2.0), q=-2.0 * s, r=np.einsum("kd,kd->k", s, s))

    @classmethod
    def many(cls, s: npt.ArrayLike) -> Averaging:  # type: ignore[override]
        """One node a row: ``s`` of shape ``(count,)`` or ``(count, d)``."""
        rows = as_floats(s, "s")
        if rows.ndim not in (1, 2):
            raise InvalidCost(f"s must have one row per node, (n,) or (n, d); got shape {rows.shape}.")
        cost = cls.__new__(cls)
        cost._fill_data(rows.reshape(len(rows), -1) if rows.size else rows, rows.shape[1:])
        return cost

    @property
    def s(self) -> Array:
        """The private values, ``(count, d)``."""
        return -0.5 * self.q

    def value(self, x: Array) -> Array:
        return np.asarray(np.sum((x - self.s) ** 2, axis=-1))


class LeastSquares(Quadratic):
    """``f(x) = ||Ax - b||^2 + ridge ||x||^2``: ``Q = 2(A'A + ridge I)``, ``q = -2A'b``, ``r = b'b``.

    Parameters
    ----------
    A : array_like
        One observation a row.
    b : array_like
        One number a row.
    ridge : float, optional
        At least 0.

    Raises
    ------
    InvalidCost
        Where an argument is not finite, lengths do not agree, or ``A'A`` overflows.

    Examples
    --------
    >>> import sottovoce as sv
    >>> costs = [sv.LeastSquares([[1.0, t]], [2 * t + 1], ridge=1e-9) for t in (0.0, 1.0, 3.0)]
    >>> sv.solve(sv.Problem(sv.Network.ring(3), costs)).x[0].round(6).tolist()
    [1.0, 2.0]
    """

    def __init__(self, A: npt.ArrayLike, b: npt.ArrayLike, ridge: float = 0.0) -> None:
        matrix, target = as_rows(A, b, "A", "b")
        extra = float(nonnegative(ridge, "ridge")[0])
        d = matrix.shape[1]
        Q = 2.0 * (matrix.T @ matrix + extra * np.eye(d))
        if not np.isfinite(Q).all():
            raise InvalidCost("A'A overflows. Divide the columns of A by numbers of their size.")
        Q = Q[None] if d > 1 else Q.reshape(1)
        self._fill((d,), Q=Q, q=(-2.0 * matrix.T @ target)[None], r=np.array([target @ target]))


def as_rows(A: npt.ArrayLike, b: npt.ArrayLike, A_name: str, b_name: str) -> tuple[Array, Array]:
    """A data matrix and its targets, finite and of one length."""
    if read_columns(A, A_name) is not None:  # whose names would be lost, and with them the order at another node
        raise InvalidCost(
            f"{A_name} is a frame, and a cost by itself cannot match its columns with those of other nodes. Use "
            "sv.least_squares or sv.logistic with the frames of all, or frame[names].to_numpy() with the same names."
        )
    matrix, target = as_floats(A, A_name), as_floats(b, b_name)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidCost(f"{A_name} must be a matrix with one row per observation; got shape {matrix.shape}.")
    if target.shape != (len(matrix),):
        raise InvalidCost(f"{b_name} must have one entry per row of {A_name}, {len(matrix)}; got {target.shape}.")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise InvalidCost(f"{A_name} and {b_name} must be finite. Remove or impute the missing values first.")
    return matrix, target
