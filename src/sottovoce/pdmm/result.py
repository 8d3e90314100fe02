"""What a run came to."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .collapsed_arithmetic import Arithmetic


class Status(enum.Enum):
    """How a run ended. Nothing is called converged that did not converge.

    ``CONVERGED``: the residual is at most ``tol``. ``MAX_ITER``: the iterations are played, or the trace is over.
    ``DIVERGED``: numbers grow without bound.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), c=0.5, max_iter=2).status
    <Status.MAX_ITER: 'max_iter'>
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    DIVERGED = "diverged"


@dataclass(frozen=True, eq=False)
class State:
    """A run after ``iteration`` iterations, as ``iterate`` yields it.

    Parameters
    ----------
    iteration : int
        Iterations so far.
    activations : int
        How often a node has computed.
    messages : int
        Messages sent, arrived or not.
    x : array or list of arrays
        What each node computed when it last woke, 0 before: shaped as in ``Result``.
    z : array or list of arrays
        In the order of ``network.half_edges``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> state = next(sv.iterate(sv.averaging(sv.Network.ring(3), [1, 2, 6]), c=0.5))
    >>> state.iteration, state.x.tolist()
    (0, [0.0, 0.0, 0.0])
    """

    iteration: int
    activations: int
    messages: int
    x: Any
    z: Any


@dataclass(frozen=True, eq=False)
class Result:
    """What a run came to.

    Parameters
    ----------
    x : array or list of arrays
        The answer at every node: ``(n,)``, ``(n, d)``, or a list where nodes differ in dimension; a batch has a leading
        axis of draws.
    z : array or list of arrays
        The auxiliary variables, in the order of ``network.half_edges``. As ``z0`` of another run with the same ``c``
        they continue where this one ended.
    status : Status
        How the run ended.
    iterations, activations, messages : int
        How long it took: iterations, how often a node computed, messages sent.
    residual : float
        The KKT residual at the end; infinite where nobody looked.
    history : dict of arrays
        What the recorders kept, by their names, and under ``"iteration"`` when.
    wall_time : float
        Seconds.
    c, theta : float
        The step parameters that were used.
    seed : int or None
        Of schedule and pads.
    secret : bool or None
        Whether the pads are secret; None without a mask.
    arithmetic : {"collapsed", "plain"}
        Which was used.
    hidden : bool or None
        Whether the mask is large against the data; None without a mask.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), c=0.5)
    >>> result.status.value, result.iterations, [round(float(x), 6) for x in result.x]
    ('converged', 40, [3.0, 3.0, 3.0, 3.0])
    """

    x: Any
    z: Any
    status: Status
    iterations: int
    activations: int
    messages: int
    residual: float
    history: dict[str, npt.NDArray[Any]]
    wall_time: float
    c: float
    theta: float
    seed: int | None
    secret: bool | None = field(default=None)
    arithmetic: Arithmetic = "plain"
    hidden: bool | None = field(default=None)

    def summary(self) -> str:
        """A few lines for people."""
        pads = {
            None: "no mask: the run is not private",
            True: "pads from the operating system's generator",
            False: "pads from a seed: reproducible, not secret",
        }[self.secret]
        if self.hidden is False:
            pads += ", TOO SMALL to hide the data"
        return (
            f"{self.status.value} after {self.iterations} iterations "
            f"({self.activations} activations, {self.messages} messages), residual {self.residual:.2e}, "
            f"c = {self.c:.4g}, theta = {self.theta:g}, {self.wall_time:.3g} s; {pads}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""

        def plain(value: Any) -> Any:
            return [plain(v) for v in value] if isinstance(value, list) else np.asarray(value).tolist()

        return {
            "status": self.status.value,
            "iterations": self.iterations,
            "activations": self.activations,
            "messages": self.messages,
            "residual": self.residual if math.isfinite(self.residual) else None,
            "c": self.c,
            "theta": self.theta,
            "seed": self.seed,
            "secret": self.secret,
            "hidden": self.hidden,
            "arithmetic": self.arithmetic,
            "wall_time": self.wall_time,
            "x": plain(self.x),
            "history": {name: plain(values) for name, values in self.history.items()},
        }
