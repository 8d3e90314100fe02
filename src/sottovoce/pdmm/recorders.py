"""What to keep along the way. A recorder is a named function of the run; nothing is computed when none is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .reference import Run


class Recorder(Protocol):
    """Anything with a name that maps the run to a number or an array."""

    @property
    def name(self) -> str: ...

    def __call__(self, run: Run) -> Any: ...


@dataclass(frozen=True, eq=False)
class Error:
    """Mean squared error of ``x(k)`` against a reference, over nodes, entries and draws."""

    reference: npt.ArrayLike
    name: str = "error"

    def __call__(self, run: Run) -> float:
        x = run.x
        if not isinstance(x, list):
            return float(np.mean((x - np.asarray(self.reference)) ** 2))
        squares = [np.ravel((a - np.asarray(b)) ** 2) for a, b in zip(x, self.reference, strict=True)]  # type: ignore[arg-type]
        return float(np.mean(np.concatenate(squares)))


@dataclass(frozen=True)
class Residual:
    """The KKT residual."""

    name: str = "residual"

    def __call__(self, run: Run) -> float:
        return run.residual()


@dataclass(frozen=True)
class Variance:
    """Variance over the draws of a batch, averaged over the entries of ``z(k)`` (or of ``project(z)``)."""

    project: Callable[[Any], npt.NDArray[np.float64]] | None = None
    name: str = "variance"

    def __call__(self, run: Run) -> float:
        z = run.stacked_z().T if self.project is None else self.project(run.z)
        return float(np.var(z, axis=0, ddof=1).mean())


@dataclass(frozen=True)
class Messages:
    """Messages sent so far."""

    name: str = "messages"

    def __call__(self, run: Run) -> int:
        return run.messages
