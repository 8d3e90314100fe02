"""A problem: a network and a cost for each node (paper, eq. 1), and the matrices of its iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..costs import Constrained, Cost, QuadraticForm
from ..costs.base import Array, StepFrom, UnverifiedStep
from ..costs.indicator import Indicator
from ..errors import InvalidCost
from ..files.html_table import html_table
from ..network import Network, names
from ..network.edge_constraints import penalty
from ..numerics.unquoted import kind_of
from .penalties import Penalty, by_half_edge, of_nodes

if TYPE_CHECKING:
    from scipy import sparse

    from .unit import Unit


class Floors(NamedTuple):
    """What a residual is measured against (``reference.kkt_residual``).

    Sizes of ``x`` and of gradients below which it is absolute; and how large gradients may be at ``x``, where that is
    known and subgradients do not tell: those of a set may have any size. There, and where costs are ``flat`` far away,
    ``rounding`` times ``x`` is what a step with the run's penalties leaves uncertain of a gradient.
    """

    x: float
    gradient: float
    steepest: float = np.inf
    curvature: float = 0.0
    flat: bool = False
    rounding: float = 0.0


class Problem:
    """``minimise sum_i f_i(x_i)`` subject to the network's edge constraints.

    Parameters
    ----------
    network : Network
        Who talks to whom; by default every edge says ``x_i = x_j``.
    costs : sequence or mapping of Cost, or Cost
        One per node, in the order of the nodes or by their names; or one batch for all, such as ``Averaging.many(s)``.

    Raises
    ------
    InvalidCost
        Where costs and network do not fit.

    Notes
    -----
    Nodes with equal families are stored together. Inside, ``x`` and ``z`` are stacked: ``x`` has ``N = sum n_i`` rows,
    ``z`` one row per entry of every half-edge, and a column per Monte Carlo draw. ``shape_x`` and ``shape_z`` give them
    the user's shape.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.Problem(sv.Network.ring(3), [sv.Averaging(1.0), sv.Averaging(2.0), sv.Box(-5, 5)])
    >>> problem.value([1.5, 1.5, 1.5])
    0.5
    >>> pair = sv.Network.from_named_edges([("Ada", "Bob")])
    >>> sv.Problem(pair, {"Bob": sv.Averaging(2.0), "Ada": sv.Averaging(1.0)}).value([1.0, 2.0])
    0.0
    """

    network: Network
    shape: tuple[int, ...] | None  # of one node's variable; None where nodes differ
    groups: list[tuple[npt.NDArray[np.intp], Cost]]  # nodes, and their costs as one batch
    variables: tuple[str, ...] | None = None  # what the entries of x are called, where frames have named them
    tilt: Array | float = 0.0  # what the linear terms have more than the user's, ``(N, 1)``; see ``collapse.Tilted``
    unit: Unit | None = None  # public: the linear terms are whole multiples of twice this (``averaging``)
    lost: Array | float = 0.0  # the part of it that is rounding
    lean: Array | float = 0.0  # what steps add to ``g``, ``(N, B)``: pads of edges without messages (``overlay``)

    def __init__(self, network: Network, costs: Cost | Sequence[Cost] | Mapping[Any, Cost]) -> None:
        self.network = network
        if isinstance(costs, Mapping):
            for node, cost in costs.items():
                if not isinstance(cost, Cost):
                    raise InvalidCost(f"costs[{node!r}] must be the Cost of one node, such as sv.Averaging(1.0).")
            costs = names.in_order(network, costs, "costs")
        costs = costs if isinstance(costs, Cost) else list(costs)
        self.groups = [(np.arange(network.n), costs)] if isinstance(costs, Cost) else _grouped(costs)
        count = sum(len(nodes) for nodes, _ in self.groups)
        if isinstance(costs, Cost) and len(costs) != network.n:
            raise InvalidCost(f"the cost is for {len(costs)} nodes, the network has {network.n}.")
        if count != network.n:
            raise InvalidCost(f"{count} costs for {network.n} nodes: give one per node, in the order of the nodes.")
        self.dims = np.empty(network.n, dtype=np.int64)
        for nodes, cost in self.groups:
            self.dims[nodes] = cost.dim
        self._check_dimensions()
        shapes = {cost.shape for _, cost in self.groups}
        same_rows = network.constraints is None or len(set(np.diff(network.constraints.rows))) == 1
        uniform = len(set(self.dims)) == 1 and same_rows
        self.shape = (shapes.pop() if len(shapes) == 1 else (int(self.dims[0]),)) if uniform else None

    def _check_dimensions(self) -> None:
        constraints = self.network.constraints
        if constraints is not None:
            for i in np.flatnonzero(self.dims != constraints.dims):
                raise InvalidCost(
                    f"node {self.network.name(i)}: its cost has dimension {self.dims[i]}, its blocks have "
                    f"{constraints.dims[i]} columns."
                )
        elif len(set(self.dims)) > 1:
            other = int(np.flatnonzero(self.dims != self.dims[0])[0])
            raise InvalidCost(
                f"consensus needs one dimension; node {self.network.name(0)} has {self.dims[0]}, node "
                f"{self.network.name(other)} has {self.dims[other]}. "
                "Use network.with_constraints for nodes of different dimension."
            )

    # The matrices of the iteration

    @property
    def consensus(self) -> bool:
        """Whether every edge says ``x_i = x_j``."""
        return self.network.constraints is None

    @property
    def dim(self) -> int:
        """The dimension of every node's variable, where they agree."""
        return int(self.dims[0])

    @cached_property
    def columns(self) -> npt.NDArray[np.int64]:
        """``x_i`` lies in rows ``columns[i] .. columns[i+1]`` of the stacked ``x``."""
        return np.concatenate([[0], np.cumsum(self.dims)])

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """``z`` of half-edge ``h`` lies in rows ``rows[h] .. rows[h+1]`` of the stacked ``z``."""
        if self.network.constraints is not None:
            return self.network.constraints.rows
        return np.arange(2 * self.network.m + 1) * self.dim

    @cached_property
    def C(self) -> sparse.csr_array[Any]:
        """The constraint matrix over the stacked ``z`` and ``x``."""
        from scipy import sparse

        C = self.network.C
        return C if not self.consensus or self.dim == 1 else sparse.kron(C, sparse.eye_array(self.dim), format="csr")

    @cached_property
    def P(self) -> npt.NDArray[np.integer[Any]]:
        """The permutation of the stacked ``z``: ``P z = z[P]``."""
        P = self.network.P
        return P if not self.consensus else (P[:, None] * self.dim + np.arange(self.dim)).ravel()

    @property
    def b(self) -> Array:
        """``b_ij`` over the stacked ``z``, as a column."""
        constraints = self.network.constraints
        return np.zeros((1, 1)) if constraints is None else constraints.b[:, None]

    # The costs

    def cost(self, i: int) -> Cost:
        """The cost of node ``i``."""
        for nodes, cost in self.groups:
            at = int(np.searchsorted(nodes, i))
            if at < len(nodes) and nodes[at] == i:
                return cost.take(slice(at, at + 1))
        raise InvalidCost(f"node {i} is not in 0 .. {self.network.n - 1}.")

    def along(self, c: Penalty) -> Array | float:
        """``c`` over the stacked ``z``: a number, or a column."""
        if isinstance(c, np.ndarray):
            return np.repeat(by_half_edge(c, self.network), np.diff(self.rows))[:, None]
        return c

    def penalty(self, c: Penalty, i: int) -> Array:
        """The quadratic penalty in node ``i``'s step, see ``constraints.penalty``."""
        network = self.network
        own = slice(network.indptr[i], network.indptr[i + 1])
        if network.constraints is None:
            if isinstance(c, np.ndarray):
                return np.array([sum(by_half_edge(c, network)[own].tolist())])  # as ``of_nodes`` does
            return c * network.degrees[i : i + 1].astype(np.float64)
        return penalty(by_half_edge(c, network)[own] if isinstance(c, np.ndarray) else c, network.constraints.A[own])

    def steps(self, c: Penalty) -> StepFrom:
        """All nodes' argmin steps at once on stacked arrays ``(N, B)``, from ``g`` and the last ``x``, prefactored for
        this ``c``."""
        parts = self.penalised(c)
        bound = [(nodes, self._positions(nodes, cost.dim), cost.bind_from(rho)) for nodes, cost, rho in parts]

        def step_all(g: Array, last: Array) -> Array:
            x, g = np.empty_like(g), g + self.lean if isinstance(self.lean, np.ndarray) else g
            for nodes, at, step in bound:
                try:
                    x[at] = np.moveaxis(step(np.moveaxis(g[at], -1, 0), np.moveaxis(last[at], -1, 0)), 0, -1)
                except UnverifiedStep as error:
                    raise InvalidCost(error.told(self.network.name(nodes[error.node]))) from None
            return x

        return step_all

    def _positions(self, nodes: npt.NDArray[np.intp], dim: int) -> Any:
        return self.columns[nodes][:, None] + np.arange(dim)

    def penalised(self, c: Penalty) -> list[tuple[npt.NDArray[np.intp], Cost, Array]]:
        """Nodes, their costs as one batch, and the penalties of their steps: all numbers, or all matrices."""
        if self.consensus:
            rho = of_nodes(c, self.network)
            return [(nodes, cost, rho[nodes]) for nodes, cost in self.groups]
        # General blocks: nodes whose penalty is a multiple of I, and those where it is a matrix, are apart.
        parts = []
        for nodes, cost in self.groups:
            penalties = [self.penalty(c, int(i)) for i in nodes]
            for ndim in (1, 3):
                at = np.array([k for k, rho in enumerate(penalties) if rho.ndim == ndim], dtype=np.intp)
                if len(at):
                    parts.append((nodes[at], cost.take(at), np.concatenate([penalties[k] for k in at])))
        return parts

    @cached_property
    def floors(self) -> Floors:
        """Those of the data, or 1."""
        x, gradient = (max(size) for size in zip(*(cost.sizes for _, cost in self.groups), strict=True))
        floors = Floors(min(1.0, x) if x > 0 else 1.0, min(1.0, gradient) if gradient > 0 else 1.0)
        smooth = [cost.sizes for _, cost in self.groups if not isinstance(cost, Indicator)]
        sets = any(isinstance(cost, Indicator | Constrained) for _, cost in self.groups)
        if sets and smooth and all(map(all, smooth)):
            return floors._replace(steepest=gradient, curvature=max(slope / size for size, slope in smooth))
        return floors._replace(flat=any(cost.bounded_slopes for _, cost in self.groups))

    @property
    def irregular(self) -> str | None:
        """Why convergence at ``theta = 1`` is not guaranteed, or None."""
        return next((cost.irregular for _, cost in self.groups if cost.irregular), None)

    @cached_property
    def quadratic(self) -> QuadraticForm | None:
        """The quadratic forms of all nodes in their order, where every cost has one and dimensions agree."""
        forms = [cost.quadratic for _, cost in self.groups]
        if self.shape is None or any(form is None for form in forms):
            return None
        if len(forms) == 1:
            return forms[0]
        d = self.dim
        dense = any(form.Q.ndim == 3 for form in forms if form)
        Q, q = np.empty((self.network.n, d, d) if dense else self.network.n), np.empty((self.network.n, d))
        for (nodes, _), form in zip(self.groups, forms, strict=True):
            assert form is not None
            Q[nodes] = form.Q[:, None, None] * np.eye(d) if dense and form.Q.ndim == 1 else form.Q
            q[nodes] = form.q
        return QuadraticForm(Q, q)

    @cached_property
    def q(self) -> Array | None:
        """The linear terms of all nodes, stacked ``(N,)``, where every cost is quadratic."""
        q = np.empty(self.columns[-1])
        for nodes, cost in self.groups:
            if cost.quadratic is None:
                return None
            q[self._positions(nodes, cost.dim)] = cost.quadratic.q
        return q

    def value(self, x: npt.ArrayLike | Sequence[npt.ArrayLike]) -> float:
        """``sum_i f_i(x_i)``, for ``x`` shaped like ``Result.x``."""
        stacked = np.concatenate([np.asarray(x_i, dtype=np.float64).reshape(-1) for x_i in x])  # type: ignore[union-attr]
        return float(sum(cost.value(stacked[self._positions(nodes, cost.dim)]).sum() for nodes, cost in self.groups))

    # The user's shapes

    def shape_x(self, stacked: Array, batch: int | None) -> Any:
        """The stacked ``(N, B)`` as ``(n,)``, ``(n, d)`` or a list of vectors; with a leading ``B`` for a batch."""
        return self._shaped(stacked, batch, self.columns)

    def shape_z(self, stacked: Array, batch: int | None) -> Any:
        """The stacked ``z`` in the order of ``network.half_edges``."""
        return self._shaped(stacked, batch, self.rows)

    def _shaped(self, stacked: Array, batch: int | None, offsets: npt.NDArray[np.int64]) -> Any:
        lead = () if batch is None else (batch,)
        if self.shape is None:
            parts = np.split(np.moveaxis(stacked, -1, 0), offsets[1:-1], axis=1)
            return [part.copy().reshape(lead + part.shape[1:]) for part in parts]
        size = int(offsets[1])
        inner = self.shape if size == max(1, *self.shape, 1) else (size,)
        return np.moveaxis(stacked, -1, 0).copy().reshape((*lead, len(offsets) - 1, *inner))

    def stack_z(self, z: Any, batch: int | None) -> Array:
        """The inverse of ``shape_z``, with the user's mistakes refused; by pairs of names as well."""
        lead, rows = (() if batch is None else (batch,)), int(self.rows[-1])
        by_name = isinstance(z, Mapping)
        z = names.by_half_edge(self.network, z, "z0") if by_name else z
        try:
            if by_name and self.shape is not None:
                z = np.stack(z, axis=len(lead))
            if self.shape is None and not isinstance(z, np.ndarray):
                parts = [np.asarray(part, dtype=np.float64).reshape((*lead, -1)) for part in z]
                array = np.concatenate(parts, axis=-1)
            else:
                array = np.asarray(z)
            allowed = [(*lead, rows)]
            if self.shape is not None:
                allowed.append((*lead, 2 * self.network.m, int(self.rows[1])))
            if array.dtype.kind not in "biuf" or array.shape not in allowed:
                raise ValueError
        except (TypeError, ValueError):
            shapes = f"({rows},)" if self.shape in (None, ()) else f"({2 * self.network.m}, {int(self.rows[1])})"
            each = "" if batch is None else f", with a leading axis for the {batch} draws"
            raise InvalidCost(
                f"z0 must hold {rows} real numbers in the order of network.half_edges, of shape {shapes}{each}; "
                f"got {kind_of(z)}."
            ) from None
        if not np.isfinite(array).all():
            raise InvalidCost("z0 must be finite.")
        return np.array(array.reshape(-1, rows).T, dtype=np.float64, order="C")

    def __repr__(self) -> str:
        families = ", ".join(sorted({type(cost).__name__ for _, cost in self.groups}))
        return f"Problem({self.network!r}, {families})"

    def _repr_html_(self) -> str:
        families: dict[str, int] = {}
        for nodes, cost in self.groups:
            families[type(cost).__name__] = families.get(type(cost).__name__, 0) + len(nodes)
        least, most = int(self.dims.min()), int(self.dims.max())
        facts = {
            "costs": ", ".join(f"{name} at {count} nodes" for name, count in sorted(families.items())),
            "dimension": f"{least}" if least == most else f"{least} to {most}",
            **({} if self.variables is None else {"variables": ", ".join(self.variables)}),
            **({} if self.unit is None else {"unit": f"{float(self.unit.size):g}"}),
            **self.network.facts(),
        }
        return html_table(facts.items(), caption="Problem")


def _grouped(costs: Sequence[Cost]) -> list[tuple[npt.NDArray[np.intp], Cost]]:
    members: dict[object, list[int]] = {}
    for i, cost in enumerate(costs):
        if not isinstance(cost, Cost) or len(cost) != 1:
            got = cost if isinstance(cost, Cost) else kind_of(cost)
            raise InvalidCost(f"costs[{i}] must be the Cost of one node, such as sv.Averaging(1.0); got {got}.")
        members.setdefault(cost.signature, []).append(i)
    return [
        (np.array(nodes, dtype=np.intp), type(costs[nodes[0]]).join([costs[i] for i in nodes]))
        for nodes in members.values()
    ]
