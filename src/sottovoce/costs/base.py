"""What a cost is: its value, and the argmin step that a node performs (theory: The iteration).

A ``Cost`` holds the costs of ``count`` nodes of one family. Every parameter is an array whose leading
axis is the node, so that a million nodes are one object, stepped by one vectorised or compiled call,
and one node is the same object with ``count == 1``.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..errors import InvalidCost, Unsupported
from ..numerics.unquoted import kind_of, not_numbers

Array = npt.NDArray[np.float64]
Step = Callable[[Array], Array]
StepFrom = Callable[[Array, Array], Array]


class QuadraticForm(NamedTuple):
    """``f_i(x) = x'Q_i x / 2 + q_i'x + const``, as ``cost.quadratic`` tells it.

    Parameters
    ----------
    Q : ndarray
        ``(count,)`` for ``Q_i = a_i I``, else ``(count, d, d)``.
    q : ndarray
        ``(count, d)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.Averaging(3.0).quadratic
    QuadraticForm(Q=array([2.]), q=array([[-6.]]))
    """

    Q: Array
    q: Array


class Cost(ABC):
    """The base of costs: those of ``count`` nodes of one family, closed and convex.

    A subclass names its arrays in ``_fields``, each with the node as leading axis, and stores them with
    ``_fill(shape, ...)``; ``join``, ``take`` and ``signature`` follow. It must define

    * ``value(x)``: ``f_i(x_i)``;
    * ``step(g, rho)``: ``argmin_x f_i(x) + g_i'x + (rho_i/2)||x||^2``, to rounding. That is the prox of ``f_i`` at
      ``-g_i/rho_i`` with ``t = 1/rho_i``. A step that cannot be exact raises ``InvalidCost`` or ``Unsupported``;
    * ``irregular``: why ``theta = 1`` may not converge, or None.

    It may define ``bind``, ``bind_from``, ``quadratic``, ``sizes``, ``bounded_slopes``, ``gradient``, ``hessian``,
    ``mean_curvature`` and ``piece``. One node's cost is simpler to write as ``FromGradient`` or ``Custom``.

    Examples
    --------
    ``f(x) = w (x - s)^2``, whose consensus is a weighted mean:

    >>> import numpy as np
    >>> import sottovoce as sv
    >>> class Weighted(sv.costs.Cost):
    ...     _fields = ("s", "w")
    ...     irregular = None  # strongly convex and differentiable
    ...     def __init__(self, s, w):
    ...         self._fill((), s=np.array([[float(s)]]), w=np.array([[float(w)]]))
    ...     def value(self, x):
    ...         return (self.w * (x - self.s) ** 2).sum(axis=-1)
    ...     def step(self, g, rho):
    ...         return (2 * self.w * self.s - g) / (2 * self.w + rho[:, None])
    >>> problem = sv.Problem(sv.Network.complete(2), [Weighted(0.0, 1.0), Weighted(3.0, 2.0)])
    >>> [round(float(x), 6) for x in sv.solve(problem).x]
    [2.0, 2.0]
    """

    _fields: ClassVar[tuple[str, ...]]
    step_work: ClassVar[int] = 2_000  # of one node's step, in multiplications, about; for budgets
    shape: tuple[int, ...]  # of one node's variable: () for one number, (d,) for a vector
    count: int

    def _fill(self, shape: tuple[int, ...], **arrays: npt.NDArray[Any]) -> Self:
        """Store the parameters, node first; refuse NaN (infinite bounds of a box are fine)."""
        for name in self._fields:
            array = arrays[name]
            if array.dtype != object and np.isnan(array).any():
                raise InvalidCost(f"{type(self).__name__}: {name} contains NaN. Remove or impute it first.")
            setattr(self, name, array)
        self.shape = shape
        self.count = len(arrays[self._fields[0]])
        return self

    @classmethod
    def _make(cls, shape: tuple[int, ...], **arrays: npt.NDArray[Any]) -> Self:
        """A batch, from arrays that already have the node as leading axis."""
        return cls.__new__(cls)._fill(shape, **arrays)

    @property
    def dim(self) -> int:
        """Length of one node's variable."""
        return self.shape[0] if self.shape else 1

    @property
    def signature(self) -> tuple[object, ...]:
        """Nodes whose costs have equal signatures are stored, and stepped, together."""
        return (type(self), self.shape, *(getattr(self, name).shape[1:] for name in self._fields))

    @classmethod
    def join(cls, costs: Sequence[Self]) -> Self:
        """One batch out of costs with equal signatures."""
        arrays = {name: np.concatenate([getattr(f, name) for f in costs]) for name in cls._fields}
        return cls._make(costs[0].shape, **arrays)

    def take(self, nodes: npt.NDArray[np.intp] | slice) -> Self:
        """The costs of some of the nodes."""
        return self._make(self.shape, **{name: getattr(self, name)[nodes] for name in self._fields})

    @abstractmethod
    def value(self, x: Array) -> Array:
        """``f_i(x_i)`` for ``x`` of shape ``(..., count, dim)``; ``inf`` outside the domain."""

    @abstractmethod
    def step(self, g: Array, rho: Array) -> Array:
        """``argmin_x f_i(x) + g_i'x + (rho_i/2)||x||^2``, for ``g (..., count, dim)`` and ``rho (count,) > 0``."""

    def bind(self, rho: Array) -> Step:
        """The step for a fixed ``rho``: what does not depend on ``g`` is computed here, once.

        ``rho`` of shape ``(count, dim, dim)`` stands for ``(1/2) x'rho_i x`` and needs a quadratic cost.
        """
        if rho.ndim == 3:
            raise Unsupported(
                f"{type(self).__name__} has no exact step for edge blocks whose sum A_ij'A_ij is not a multiple "
                "of the identity. Use a quadratic cost there, or orthogonal blocks."
            )
        return lambda g: self.step(g, rho)

    def bind_from(self, rho: Array) -> StepFrom:
        """The step for a fixed ``rho``, given also the node's ``x`` so far: a step that searches may begin there.

        To rounding the answer does not depend on it. ``x`` is part of every node's state, so the same history gives
        the same bits.
        """
        step = self.bind(rho)
        return lambda g, x: step(g)

    @property
    def quadratic(self) -> QuadraticForm | None:
        """The quadratic form, where the cost is one."""
        return None

    @property
    def sizes(self) -> tuple[float, float]:
        """The size of ``x`` and of gradients that the data suggest, for a residual that has no units; 0 is unknown."""
        return 0.0, 0.0

    @property
    def bounded_slopes(self) -> bool:
        """Whether subgradients stay as small as they are near the data, however far away ``x`` is."""
        return False

    def gradient(self, x: Array) -> Array | None:
        """``grad f_i(x_i)`` at ``x (count, dim)``, where the cost is differentiable everywhere in its domain; NaN
        outside. PDMM never asks for it: gradient methods do, to be compared with."""
        form = self.quadratic
        if form is None:
            return None
        Qx = form.Q[:, None] * x if form.Q.ndim == 1 else np.einsum("kij,kj->ki", form.Q, x)
        return np.asarray(Qx + form.q)

    def hessian(self, x: Array) -> Array | None:
        """Second derivatives at ``x (count, dim)`` as ``(count, dim, dim)``, where the cost has them, for tuning."""
        return None

    @property
    def mean_curvature(self) -> Array | None:
        """About the mean of the nodes' second derivatives, ``(dim, dim)``, with kinks smoothed away. A cost with kinks
        that tells it has no pilot runs of its own, which would step as slowly as the run: see ``piece``."""
        form, origin = self.quadratic, np.zeros((self.count, self.dim))
        second = self.hessian(origin) if form is None else form.Q
        if second is None:
            return None
        return np.asarray(second.mean(axis=0) * (1.0 if second.ndim == 3 else np.eye(self.dim)))

    def piece(self, x: Array) -> tuple[Array, npt.NDArray[np.bool_]] | None:
        """For tuning, the parabola that each node's cost is around ``x (count, dim)``: second derivatives
        ``(count, dim, dim)``, and which coordinates are free to move, others being held at a kink. None where kinks lie
        so close together that a piece says little."""
        form = self.quadratic
        second = self.hessian(x) if form is None else form.Q
        if second is None:
            return None
        dense = second if second.ndim == 3 else second[:, None, None] * np.eye(self.dim)
        return dense, np.ones(x.shape, dtype=np.bool_)

    @property
    @abstractmethod
    def irregular(self) -> str | None:
        """Why PDMM (``theta = 1``) is not guaranteed to converge, or None if every node's cost is strongly
        convex and differentiable."""

    def __add__(self, other: object) -> Cost:
        """``cost + indicator``, where the step stays exact; refused with the reason elsewhere."""
        from .constrained import constrain  # which knows the families, and they know this file

        return constrain(self, other) if isinstance(other, Cost) else NotImplemented

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"{type(self).__name__}(count={self.count}, shape={self.shape})"


def as_vector(value: npt.ArrayLike, name: str) -> tuple[Array, tuple[int, ...]]:
    """A number or a vector as ``(1, d)``, with the shape that the user meant, ``()`` or ``(d,)``."""
    array = as_floats(value, name)
    if array.ndim > 1:
        raise InvalidCost(f"{name} must be a number or a vector; got shape {array.shape}.")
    return array.reshape(1, -1), array.shape


class UnverifiedStep(InvalidCost):
    """A step of one node of a batch that did not reach its optimality condition; a run knows which node that is."""

    def __init__(self, cost: Cost, node: int, rho: float, g: Array, cure: str) -> None:
        self.cost, self.node = type(cost).__name__, node
        self.why = (
            "did not reach its optimality condition to rounding, "
            f"with rho = {rho:.3g} and ||g|| = {np.linalg.norm(g):.3g}. {cure}"
        )
        super().__init__(self.told(f"{node} of {cost.count}"))

    def told(self, name: str) -> str:
        """The sentence, with the node's name."""
        return f"{self.cost}: the step of node {name} {self.why}"


def as_floats(value: npt.ArrayLike, name: str) -> Array:
    """Real float64, a copy of its own, or a sentence that names the argument, and quotes nothing of it: it is data."""
    # Masked entries, which asarray would bring back (np.ma is loaded when used).
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray) and value.mask.any():
        raise InvalidCost(f"{name} must hold real numbers; it has masked entries. Remove or impute them first.")
    if (floats := _floats(value)) is None:  # out here: in an `except`, NumPy's own words would be its context
        raise InvalidCost(f"{name} must hold real numbers; {not_numbers(value)}.")
    return floats


def _floats(value: npt.ArrayLike) -> Array | None:
    """None for complex numbers, dates, text, and rows of different lengths."""
    try:
        raw = np.asarray(value)
        return np.array(raw, dtype=np.float64, order="C") if raw.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def nonnegative(value: float, name: str) -> Array:
    """A parameter that must be >= 0, as ``(1,)``."""
    array = as_floats(value, name)
    if array.shape != () or not (np.isfinite(array) and array >= 0):
        got = value if array.shape == () else kind_of(value)
        raise InvalidCost(f"{name} must be a finite number >= 0; got {got}.")
    return array.reshape(1)
