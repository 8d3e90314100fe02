"""What to keep along the way. A recorder is a named function of the run; nothing is computed when none is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .reference import Run
from .transcript import Listener


class Recorder(ABC):
    """The base of recorders: a ``name``, and a function of the run.

    ``sv.solve(..., record=[...])`` calls it before the first iteration and then every ``record_every`` iterations, and
    keeps what it returns, a number or an array of one shape, in ``result.history[name]``. It looks and does not touch:
    ``run.x`` and ``run.z`` in the user's shapes, ``run.iteration``, ``run.activations``, ``run.messages``,
    ``run.residual()``, ``run.problem``. Names within one run differ, and none is ``"iteration"``.

    Examples
    --------
    How far the answers of any two parties are apart:

    >>> import numpy as np
    >>> import sottovoce as sv
    >>> class Spread(sv.recorders.Recorder):
    ...     name = "spread"
    ...     def __call__(self, run):
    ...         return float(np.ptp(run.x))
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, c=0.5, tol=0, max_iter=40, record=[Spread()], record_every=20)
    >>> result.history["iteration"].tolist(), bool(result.history["spread"][-1] < 1e-3)
    ([0, 20, 40], True)
    """

    name: str

    @abstractmethod
    def __call__(self, run: Run) -> Any:
        """What to keep of the run as it is now."""


@dataclass(frozen=True, eq=False)
class MeanSquaredError(Recorder):
    """Mean squared error of ``x(k)`` against a reference, over nodes, entries and draws.

    Parameters
    ----------
    reference : array_like
        What ``x`` is compared with: one answer for all nodes, or one a node. A list per node where dimensions differ.
    name : str, optional
        The key in ``result.history``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, c=0.5, record=[sv.MeanSquaredError(3.0)])
    >>> float(result.history["error"][0]), bool(result.history["error"][-1] < 1e-15)
    (9.0, True)
    """

    reference: npt.ArrayLike
    name: str = "error"

    def __call__(self, run: Run) -> float:
        x = run.x
        if not isinstance(x, list):
            return float(np.mean((x - np.asarray(self.reference)) ** 2))
        dims = set(run.problem.dims)  # of one size they may be, where edges have unequal numbers of rows
        for_all = len(dims) == 1 and np.shape(self.reference) in ((), (*dims,))
        given: Any = [self.reference] * len(x) if for_all else self.reference
        squares = [np.ravel((a - np.asarray(b)) ** 2) for a, b in zip(x, given, strict=True)]
        return float(np.mean(np.concatenate(squares)))


@dataclass(frozen=True)
class Residual(Recorder):
    """The KKT residual, which ``tol`` bounds. It costs about an iteration each time.

    Parameters
    ----------
    name : str, optional
        The key in ``result.history``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, c=0.5, record=[sv.Residual()])
    >>> bool(result.history["residual"][-1] == result.residual)
    True
    """

    name: str = "residual"

    def __call__(self, run: Run) -> float:
        return run.residual()


@dataclass(frozen=True)
class Variance(Recorder):
    """Variance over the draws of a batch, averaged over the entries of ``z(k)`` (or of ``project(z)``).

    Parameters
    ----------
    project : callable, optional
        A function of ``z``, whose leading axis is the draw.
    name : str, optional
        The key in ``result.history``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> masked = {"mask": sv.GaussianMask(9.0), "batch": 1000, "seed": 0}
    >>> result = sv.solve(problem, c=0.5, tol=0, max_iter=1, record=[sv.Variance()], **masked)
    >>> round(float(result.history["variance"][0]))
    9
    """

    project: Callable[[Any], npt.NDArray[np.float64]] | None = None
    name: str = "variance"

    def __call__(self, run: Run) -> float:
        z = run.stacked_z().T if self.project is None else self.project(run.z)
        return float(np.var(z, axis=0, ddof=1).mean())


@dataclass(frozen=True)
class Messages(Recorder):
    """Messages sent so far, arrived or not.

    Parameters
    ----------
    name : str, optional
        The key in ``result.history``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> sv.solve(problem, c=0.5, tol=0, max_iter=2, record=[sv.Messages()]).history["messages"].tolist()
    [0, 8, 16]
    """

    name: str = "messages"

    def __call__(self, run: Run) -> int:
        return run.messages


@dataclass(frozen=True)
class Transcript(Recorder):
    """Every message, as a table: when it was sent, by whom, to whom, what it said, and whether it arrived.

    It listens to every iteration, whatever ``record_every`` is, and leaves a ``MessageTable`` in the history. (What an
    auditor takes as seen of a run is another thing: ``sv.privacy.Transcript``.)

    Parameters
    ----------
    name : str, optional
        The key in ``result.history``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, c=0.5, tol=0, max_iter=2, record=[sv.Transcript()])
    >>> table = result.history["transcript"]
    >>> len(table), table.iteration[-1], table.sender[:3], table.receiver[:3]
    (16, np.int64(1), array([0, 0, 1]), array([1, 3, 0]))
    >>> table.to_frame().columns.tolist()
    ['iteration', 'sender', 'receiver', 'counter', 'value', 'arrived']
    """

    name: str = "transcript"

    def __call__(self, run: Run) -> Listener:
        """Begins to listen."""
        return Listener(run)


__all__ = ["MeanSquaredError", "Messages", "Recorder", "Residual", "Transcript", "Variance"]
